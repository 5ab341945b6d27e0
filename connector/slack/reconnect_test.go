package slack

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"cairn/connector/platform"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestAnOutageCostsLittleMoreThanItsLength(t *testing.T) {
	s := check.Must(New(Options{BotToken: slacktest.BotToken, AppToken: slacktest.AppToken}))(t)
	synctest.Test(t, func(t *testing.T) {
		for _, outage := range []time.Duration{45 * time.Second, 3 * time.Hour} {
			start := time.Now()
			err := s.Link.Keep(t.Context(), func(context.Context) error {
				if time.Since(start) < outage {
					return errors.New("connection refused")
				}
				return platform.SetupError("it is back")
			})
			check.Error(t, err, platform.SetupError("it is back"))
			check.That(t, time.Since(start) <= outage+maxPause, "it was back after %v", time.Since(start))
		}
	})
}
