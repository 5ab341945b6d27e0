package discord

import (
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

func TestEventsThatDiscordLostAreNoticed(t *testing.T) {
	t.Run("while nothing else arrives", func(t *testing.T) {
		r := newRig(t, discordtest.Options{}, func(d *Discord) { d.LookAfter(200*time.Millisecond, 100*time.Millisecond) }).start()
		r.converse(r.square, "hello", 1)
		r.Drop(1)
		r.ask(r.square, "lost")
		r.answersLast(r.square, 2, "echo: lost")
		r.converse(r.square, "once more", 3)
	})
	t.Run("before a session is resumed", func(t *testing.T) {
		r := newRig(t, discordtest.Options{}, func(d *Discord) { d.LookAfter(time.Hour, 100*time.Millisecond) }).start()
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
	r := newRig(t, discordtest.Options{}, func(d *Discord) { d.LookAfter(200*time.Millisecond, 100*time.Millisecond) }).start()
	asked := 1
	r.converse(r.square, "hello", asked)
	r.Forget()
	for range 3 { // a message written right after the last event proves nothing
		time.Sleep(200 * time.Millisecond)
		asked++
		r.converse(r.square, "not heard", asked)
		if strings.Contains(r.Log.String(), "connection_deaf") {
			break
		}
	}
	r.connected(2)
	asked++
	r.converse(r.square, "hello again", asked)
	r.Forget()
	for range 2 {
		time.Sleep(200 * time.Millisecond)
		asked++
		r.converse(r.square, "not heard", asked)
	}
	check.Equal(t, "sessions that were replaced", strings.Count(r.Log.String(), "connection_deaf"), 1)
	check.Len(t, "connections", r.Connections(), 2)
}
