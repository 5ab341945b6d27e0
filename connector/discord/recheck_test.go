package discord

import (
	"testing"
	"time"

	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func TestEventsThatDiscordLostAreNoticed(t *testing.T) {
	t.Run("while nothing else arrives", func(t *testing.T) {
		r := newRig(t, discordtest.Options{}, func(d *Discord) { d.RecheckAfter(200*time.Millisecond, 100*time.Millisecond) }).start()
		r.converse(r.square, "hello", 1)
		r.Drop(1)
		r.ask(r.square, "lost")
		r.answersLast(r.square, 2, "echo: lost")
		r.converse(r.square, "once more", 3)
	})
	t.Run("before a session is resumed", func(t *testing.T) {
		r := newRig(t, discordtest.Options{}, func(d *Discord) { d.RecheckAfter(time.Hour, 100*time.Millisecond) }).start()
		r.converse(r.square, "hello", 1)
		r.Drop(1)
		r.ask(r.square, "lost")
		r.converse(r.Channel(r.guild.ID, "quiet").ID, "not lost", 1) // so that Discord does not repeat what it lost
		r.Cut()
		r.answersLast(r.square, 2, "echo: lost")
		r.connected(2)
	})
}

// A connection may acknowledge each heartbeat and deliver nothing.
func TestADeafSessionIsReplacedOnce(t *testing.T) {
	r := newRig(t, discordtest.Options{}, func(d *Discord) { d.RecheckAfter(time.Hour, channeltest.RecheckDelay) }).start()
	r.ReplacesDeafConnectionOnce(channeltest.DeafConnection{
		Say:      func(int) { r.ask(r.square, "hello") },
		Answered: func(n int) { r.answersLast(r.square, n, "echo: hello") },
		Deafen:   r.Forget,
		Recheck:  func() { r.connector.Link.Recheck() },
		Replaced: func() { r.connected(2) },
	})
	check.Len(t, "connections", r.Connections(), 2)
}
