// Snowflakes, Discord's ids: milliseconds since 2015 in the upper 42 bits, so that they
// order by time (Reference: Snowflakes).

package discord

import (
	"strconv"
	"time"
)

const epoch = 1420070400000 // ms

// number parses a snowflake; 0 if it is none.
func number(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// newer reports whether a was created after b. An invalid snowflake is older than all.
func newer(a, b string) bool { return number(a) > number(b) }

// timeOf returns the creation time of an id.
func timeOf(id string) time.Time { return time.UnixMilli(int64(number(id)>>22) + epoch).UTC() }

// idAt returns the first id of a time.
func idAt(t time.Time) string {
	return strconv.FormatInt(max(t.UnixMilli()-epoch, 0)<<22, 10)
}

// before returns the id just before another.
func before(id string) string { return strconv.FormatUint(max(number(id), 1)-1, 10) }
