package platform

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"cairn/testkit/check"
)

// line is a platform on a test's clock: it is down for a while, and then each of its connections lasts a while.
type line struct {
	down  time.Duration // from the start
	lasts time.Duration // of each connection
	until time.Duration // when the test ends
}

// run keeps a link with its real pauses connected, and returns when it was first connected and how long altogether.
func (l line) run(t *testing.T) (first, connected time.Duration) {
	t.Helper()
	link := newLink(slog.New(slog.DiscardHandler))
	start := time.Now()
	err := link.Keep(t.Context(), func(ctx context.Context) error {
		now := time.Since(start)
		switch {
		case now >= l.until:
			return SetupError("the end")
		case now < l.down:
			return errors.New("connection refused")
		}
		if first == 0 {
			first = now
		}
		link.Established()
		connected += l.lasts
		return errors.Join(errors.New("cut"), Sleep(ctx, l.lasts))
	})
	check.Error(t, err, SetupError("the end"))
	return first, connected
}

func TestAnOutageCostsLittleMoreThanItsLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 { // the pauses are random
			first, _ := line{down: 45 * time.Second, lasts: time.Minute, until: 2 * time.Minute}.run(t)
			check.That(t, first <= 45*time.Second+maxPause, "it was back after %v", first)
		}
		first, _ := line{down: 3 * time.Hour, lasts: time.Minute, until: 4 * time.Hour}.run(t)
		check.That(t, first <= 3*time.Hour+maxPause, "it was back after %v", first)
		_, connected := line{lasts: 20 * time.Second, until: 246 * time.Second}.run(t)
		check.That(t, connected >= 240*time.Second, "on a line that drops every 20 s it was connected for %v of 246 s", connected)
	})
}
