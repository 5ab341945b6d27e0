package channel_test

import (
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/internal/check"
)

// A server of tools may still be connecting when a turn starts.
func TestTurnWaitsForTools(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, r *rig, b *channeltest.Box, connect func()){
		"a turn waits, also one that is resumed, and holds up nobody else": func(t *testing.T, r *rig, b *channeltest.Box, connect func()) {
			r.opts.Agent = func(conversation string) channel.Agent {
				a := r.agent
				if conversation != place {
					a.ToolServers = nil
				}
				return a
			}
			r.restart()
			r.say("please add", true)
			synctest.Wait()
			check.EqualAll(t, "before the tools connect", r.transcript(), []string{"user: please add"})
			began := time.Now()
			r.tell(place+"2", "hello", addressed)
			check.That(t, time.Since(began) < time.Second, "a conversation without tools waits")
			check.EqualAll(t, "sent", r.connector.texts(), []string{"Hello."})
			r.restart() // the wait does not hold up the end of the program
			synctest.Wait()
			connect()
			r.waitForReplies()
			check.Len(t, "calls", b.Called(), 1)
			check.Contains(t, "last piece sent", r.lastText(), "five")
		},
		"it goes on without tools that do not connect": func(t *testing.T, r *rig, b *channeltest.Box, connect func()) {
			check.Equal(t, "answer", r.ask("please add"), "Hello.")
			connect()
			r.ask("please add")
			check.Len(t, "calls of the next turn", b.Called(), 1)
		},
		"/stop ends the wait": func(t *testing.T, r *rig, _ *channeltest.Box, _ func()) {
			r.say("please add", true)
			synctest.Wait()
			began := time.Now()
			r.wantAnswer("/stop", "Stopped")
			r.waitForReplies()
			check.That(t, time.Since(began) < time.Second, "it ends after %v", time.Since(began))
			check.EqualAll(t, "transcript", r.transcript(), []string{"user: please add"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, b := withTools(t, channel.ApproveNever)
				b.Connecting = make(chan struct{})
				test(t, r, b, func() { b.Connect(func() { r.hub.Renew(channel.Rules{}) }) }) // as the program does
				r.stop()
			})
		})
	}
}
