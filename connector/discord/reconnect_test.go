package discord

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"cairn/connector/platform"
	"cairn/testkit/check"
)

// line is a gateway on a test's own clock: it is down for a while, and then each of its connections lasts a while.
type line struct {
	down  time.Duration // from the start
	lasts time.Duration // of each connection
	until time.Duration // when the test ends
}

// run keeps a connector with its real pauses connected, and returns when it was first connected and how long altogether.
func (l line) run(t *testing.T) (first, connected time.Duration) {
	t.Helper()
	d := check.Must(New(Options{Token: token}))(t)
	start := time.Now()
	err := d.Link.Keep(t.Context(), func(ctx context.Context) error {
		now := time.Since(start)
		switch {
		case now >= l.until:
			return platform.SetupError("the end")
		case now < l.down:
			return errors.New("connection refused")
		}
		if first == 0 {
			first = now
		}
		d.Link.Established()
		connected += l.lasts
		return errors.Join(errors.New("cut"), platform.Sleep(ctx, l.lasts))
	})
	check.Error(t, err, platform.SetupError("the end"))
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

// TestNewSessionsStayBelowTheDailyLimit has sessions that end immediately, each as soon as the connector may start it.
func TestNewSessionsStayBelowTheDailyLimit(t *testing.T) {
	d := check.Must(New(Options{Token: token}))(t)
	now := time.Now()
	end := now.Add(24 * time.Hour)
	sessions := 0
	for ; now.Before(end); now = d.sessions.nextIdentify {
		d.sessions.noteIdentify(now)
		wait := d.sessions.nextIdentify.Sub(now)
		check.That(t, wait > 5*time.Second && wait <= maxIdentifyPause, "a pause of %v", wait)
		sessions++
	}
	check.That(t, sessions <= 1000, "%d sessions a day", sessions)
	now = now.Add(time.Hour)
	d.sessions.noteIdentify(now)
	check.Equal(t, "the pause after a session that lasted", d.sessions.nextIdentify.Sub(now), 5500*time.Millisecond)
}
