// Snowflakes, Discord's ids: milliseconds since 2015 in the upper 42 bits, so that they
// order by time (Reference: Snowflakes).

package discord

import (
	"strconv"
	"time"
)

const epoch = 1420070400000 // ms

// number is 0 for what is no snowflake.
func number(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// newer reports whether a was made after b. What is no snowflake is older than all.
func newer(a, b string) bool { return number(a) > number(b) }

// timeOf returns when an id was made.
func timeOf(id string) time.Time { return time.UnixMilli(int64(number(id)>>22) + epoch).UTC() }

// idAt returns the first id of a time.
func idAt(t time.Time) string {
	return strconv.FormatInt(max(t.UnixMilli()-epoch, 0)<<22, 10)
}

// before returns the id that stands right before another.
func before(id string) string { return strconv.FormatUint(max(number(id), 1)-1, 10) }
