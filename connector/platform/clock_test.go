// This machine's clock beside the platform's.

package platform

import (
	"net/http"
	"testing"
	"time"

	"cairn/testkit/check"
)

func TestTheClockOfThePlatform(t *testing.T) {
	now := time.Date(2026, 11, 29, 3, 0, 0, 700_000_000, time.UTC)
	answered := func(date time.Time, took time.Duration, age string) *Clock {
		c := &Clock{}
		header := http.Header{"Date": {date.Format(http.TimeFormat)}}
		if age != "" {
			header.Set("Age", age)
		}
		c.note(header, now, now.Add(took))
		return c
	}
	check.Equal(t, "a clock that is right", answered(now, time.Millisecond, "").Offset(), 0)
	check.Equal(t, "a slow answer", answered(now.Add(4*time.Second), 5*time.Second, "").Offset(), 0)
	check.Equal(t, "an answer of a cache", answered(now.Add(-time.Hour), 0, "3600").Offset(), 0)
	fast := answered(now.Add(-time.Hour), 0, "")
	check.That(t, (fast.Offset()+time.Hour).Abs() <= time.Second, "an hour ahead: %s", fast.Offset())
	check.Contains(t, "the warning", fast.Warning(), "ahead of the platform's")
	check.Contains(t, "the warning", answered(now.Add(time.Hour), 0, "").Warning(), "behind the platform's")
	check.Equal(t, "a warning of half a minute", answered(now.Add(30*time.Second), 0, "").Warning(), "")
	fast.note(http.Header{"Date": {"yesterday"}}, now, now)
	check.That(t, fast.Offset() != 0, "what is no date counts")
	fast.note(http.Header{"Date": {now.Format(http.TimeFormat)}}, now, now)
	check.Equal(t, "after it was set right", fast.Offset(), 0)
}
