// A machine whose clock is wrong.

package discord

import (
	"strings"
	"testing"
	"time"

	"cairn/testkit/channeltest"
	"cairn/testkit/discordtest"
)

func TestWhatWasMissedIsAnsweredThoughTheClockIsWrong(t *testing.T) {
	channeltest.WrongClock(t, func(t *testing.T, ahead time.Duration) (log, facts string) {
		r := newRig(t, discordtest.Options{Ahead: ahead})
		fresh := r.Channel(r.guild.ID, "fresh").ID
		r.start()
		r.converse(r.square, "before", 1)
		r.restart(func() {
			r.ask(r.square, "missed")
			r.ask(fresh, "missed in a new place")
		})
		r.answersLast(r.square, 2, "echo: missed")
		r.answersLast(fresh, 1, "echo: missed in a new place")
		found, _ := r.connector.Check(t.Context())
		return r.Log.String(), strings.Join(found, "\n")
	})
}
