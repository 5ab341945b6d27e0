// A machine whose clock is wrong.

package discord

import (
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func TestWhatWasMissedIsAnsweredThoughTheClockIsWrong(t *testing.T) {
	for claim, ahead := range map[string]time.Duration{"this machine is fast": -2 * time.Hour, "this machine is slow": 2 * time.Hour} {
		t.Run(claim, func(t *testing.T) {
			r := newRig(t, discordtest.Options{Ahead: ahead})
			fresh := r.Channel(r.guild.ID, "fresh").ID
			r.start()
			r.converse(r.square, "before", 1)
			r.restart(func() {
				r.ask(r.square, "missed")
				r.ask(fresh, "missed where nothing was ever said")
			})
			r.answersLast(r.square, 2, "echo: missed")
			r.answersLast(fresh, 1, "echo: missed where nothing was ever said")
			check.Contains(t, "log", r.Log.String(), "clock_wrong")
			facts, _ := r.connector.Check(t.Context())
			check.Contains(t, "what doctor shows", strings.Join(facts, "\n"), "the clock of this machine is 2h0m")
		})
	}
}
