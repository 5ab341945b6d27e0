// The platform's clock, by which messages have their times. That of this machine may be wrong.

package platform

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// Clock knows how far the platform's clock is ahead of this machine's. The zero value knows of no difference.
type Clock struct {
	offset atomic.Int64 // a duration
}

// At returns what the platform's clock shows when this machine's shows host.
func (c *Clock) At(host time.Time) time.Time { return host.Add(c.Offset()) }

// Now returns what the platform's clock shows.
func (c *Clock) Now() time.Time { return c.At(time.Now()) }

// Offset returns how far the platform's clock is ahead.
func (c *Clock) Offset() time.Duration { return time.Duration(c.offset.Load()) }

// note reads the time of a response, which has no fractions of seconds and was read between sent and received. A difference that this
// explains does not count. What a cache returns is older.
func (c *Clock) note(header http.Header, sent, received time.Time) {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil || header.Get("Age") != "" {
		return
	}
	earliest := date.Sub(received)
	latest := date.Add(time.Second).Sub(sent)
	if earliest <= 0 && latest >= 0 {
		c.offset.Store(0)
		return
	}
	c.offset.Store(int64(earliest + (latest-earliest)/2))
}

// tolerance is how wrong this machine's clock may be without a warning.
const tolerance = time.Minute

// Warning says how wrong this machine's clock is; empty if it is right.
func (c *Clock) Warning() string {
	offset := c.Offset().Round(time.Second)
	direction := "behind"
	if offset < 0 {
		direction = "ahead of"
	}
	if offset.Abs() <= tolerance {
		return ""
	}
	return fmt.Sprintf("the clock of this machine is %s %s the platform's: set it, for example with timedatectl set-ntp true", offset.Abs(), direction)
}
