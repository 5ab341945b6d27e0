package discord

import (
	"testing"
	"time"

	"cairn/testkit/check"
)

// TestNewSessionsStayBelowTheDailyLimit has sessions that end immediately, each as soon as the connector may start it.
func TestNewSessionsStayBelowTheDailyLimit(t *testing.T) {
	shard := check.Must(New(Options{Token: token}))(t).shards.list()[0]
	now := time.Now()
	end := now.Add(24 * time.Hour)
	sessions := 0
	for ; now.Before(end); now = shard.nextIdentify {
		shard.noteIdentify(now)
		wait := shard.nextIdentify.Sub(now)
		check.That(t, wait > 5*time.Second && wait <= maxIdentifyPause, "a pause of %v", wait)
		sessions++
	}
	check.That(t, sessions <= 1000, "%d sessions a day", sessions)
	now = now.Add(time.Hour)
	shard.noteIdentify(now)
	check.Equal(t, "the pause after a session that lasted", shard.nextIdentify.Sub(now), 5500*time.Millisecond)
}
