package discord

import (
	"testing"
	"time"

	"cairn/channel"
	"cairn/testkit/check"
)

// TestNewSessionsStayBelowTheDailyLimit has sessions of all shards that end immediately, each as soon as the connector may start it.
func TestNewSessionsStayBelowTheDailyLimit(t *testing.T) {
	for _, shards := range []int{1, 4, 16} {
		d := check.Must(New(Options{Token: token}))(t)
		d.shards.count.Store(int64(shards))
		shard := d.shards.add(channel.Shard{})
		now := time.Now()
		end := now.Add(24 * time.Hour)
		sessions := 0
		for ; now.Before(end); now = shard.nextIdentify {
			shard.noteIdentify(now)
			wait := shard.nextIdentify.Sub(now)
			check.That(t, wait > 5*time.Second && wait <= maxIdentifyPause*time.Duration(shards), "a pause of %v", wait)
			sessions++
		}
		check.That(t, sessions*shards <= 1200, "%d sessions a day of each of %d shards", sessions, shards) // the last of which wait, see awaitStart
		check.That(t, shards > 1 || sessions <= 1000, "%d sessions a day", sessions)
		now = now.Add(24 * time.Hour)
		shard.noteIdentify(now)
		check.Equal(t, "the pause after a session that lasted", shard.nextIdentify.Sub(now), 5500*time.Millisecond)
	}
}
