package platform

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
)

// attempt is how a connection goes in a test.
type attempt struct {
	lasts time.Duration // 0: it is not established
	err   error
}

func TestLinkKeepsConnectedAndLogsIncidentsOnce(t *testing.T) {
	lost := errors.New("lost")
	long, short := time.Hour, time.Millisecond
	for claim, c := range map[string]struct {
		attempts         []attempt
		failed, restored int
		pauses           time.Duration // at most
	}{
		"connections that work need no warning and no pause":    {[]attempt{{long, lost}, {long, lost}, {long, lost}}, 0, 0, 0},
		"nor does one that is lost soon":                        {[]attempt{{short, lost}, {long, lost}}, 0, 0, time.Second},
		"several that are lost soon are an incident":            {[]attempt{{short, lost}, {short, lost}, {short, lost}, {long, lost}}, 1, 1, 7 * time.Second},
		"so is one that is refused, until another proves right": {[]attempt{{0, lost}, {0, lost}, {short, lost}, {long, lost}}, 1, 1, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log check.Buffer
			l := Link{
				Incident: Incident{Log: slog.New(slog.NewTextHandler(&log, nil)), Failed: "connection_failed", Recovered: "connection_recovered"},
				Pause:    Backoff{First: time.Second, Most: time.Minute}, Steady: time.Minute,
			}
			var connected time.Duration
			start, left := time.Now(), append(c.attempts, attempt{0, SetupError("wrong token")})
			err := l.Keep(t.Context(), func(ctx context.Context) error {
				now := left[0]
				left = left[1:]
				if now.lasts > 0 {
					l.Established()
				}
				check.Equal(t, claim+": connected", l.Connected(), now.lasts > 0)
				connected += now.lasts
				_ = Sleep(ctx, now.lasts)
				return now.err
			})
			check.Error(t, err, SetupError("wrong token"))
			check.Equal(t, claim+": warnings", strings.Count(log.String(), "connection_failed"), c.failed)
			check.Equal(t, claim+": recoveries", strings.Count(log.String(), "connection_recovered"), c.restored)
			paused := time.Since(start) - connected
			check.That(t, paused <= c.pauses, "%s: it paused for %v", claim, paused)
		})
	}
}
