// Every way in which the gateway is known to fail, and how the connector gets over it.

package discord

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/discord/discordtest"
	"cairn/internal/check"
)

// impatient makes what waits for the gateway wait less.
func impatient(d *Discord) { d.pauses.open = 1500 * time.Millisecond }

func TestABadBeginIsOvercome(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]discordtest.Handshake{
		"a socket that is refused":           {Refuse: 503},
		"a socket that says nothing":         {SilentHello: true},
		"an IDENTIFY without an answer":      {SilentReady: true},
		"op 7 as the answer to IDENTIFY":     {Op: 7},
		"op 9 as the answer to IDENTIFY":     {Op: 9},
		"a session that timed out, 4009":     {Close: discordtest.CloseSessionTimeout},
		"a sequence that is not known, 4007": {Close: discordtest.CloseInvalidSeq},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			silent := h.SilentHello || h.SilentReady
			r := newRig(t, discordtest.Options{}, func(d *Discord) {
				if silent {
					impatient(d)
				}
			})
			r.Handshakes(h, h)
			r.start()
			r.converse("there?", 1)
			if n := len(r.Connections()); n != 3 && h.Refuse == 0 && !silent { // a busy machine may be late, too
				t.Errorf("%d connections, want 3", n)
			}
			if n := strings.Count(r.log.String(), "level=WARN"); n != 1 {
				t.Errorf("%d warnings of one incident:\n%s", n, r.log)
			}
			r.until("it is told", func() bool { return strings.Contains(r.log.String(), "connection_recovered") })
		})
	}
}

func TestALostConnectionIsResumedWithoutLoss(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(r *rig){
		"a cut":               func(r *rig) { r.Cut() },
		"op 7":                func(r *rig) { r.Reconnect() },
		"op 9 that resumes":   func(r *rig) { r.Invalidate(true) },
		"a socket half open":  func(r *rig) { r.HalfOpen() },
		"a close without 4xx": func(r *rig) { r.Disconnect(1001) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := discordtest.Options{HeartbeatWithin: patience}
			if name == "a socket half open" {
				o.Heartbeat = 2 * time.Second
			}
			r := newRig(t, o).start()
			r.converse("one", 1)
			lose(r)
			r.ask(r.square, "two") // while nobody listens
			check.Equal(t, "it answered", r.answers(r.square, 2)[1], "echo: two")
			all := r.Connections()
			check.That(t, len(all) == 2 && all[1].Resume && !all[1].Identify, "it did not resume: %+v", all)
			check.That(t, all[0].ClientClose != 1000, "it gave the session up")
			if n := len(r.Requests("GET /channels/*/messages")); n > 1 { // the earlier ones, for the first question
				t.Errorf("it read the history %d times, though nothing was lost", n)
			}
		})
	}
}

func TestAConnectionWithoutAcknowledgementsIsResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{Heartbeat: 300 * time.Millisecond, HeartbeatWithin: patience}).start()
	r.StopAcks()
	resumed := func() bool { all := r.Connections(); return len(all) > 1 && all[1].Resume }
	for n := 0; n < 100 && !resumed(); n++ {
		r.Dispatch("TYPING_START", map[string]any{}) // it is not silent
		time.Sleep(50 * time.Millisecond)
	}
	if all := r.Connections(); !resumed() || all[1].Identify || all[0].ClientClose == 1000 {
		t.Errorf("it did not resume: %+v", all)
	}
	r.converse("still there?", 1)
}

func TestASessionThatIsGoneIsBegunAnewAndTheGapIsRead(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(r *rig){
		"4009":                    func(r *rig) { r.Disconnect(discordtest.CloseSessionTimeout) },
		"4007":                    func(r *rig) { r.Disconnect(discordtest.CloseInvalidSeq) },
		"op 9":                    func(r *rig) { r.Invalidate(false) },
		"a RESUME that gets op 9": func(r *rig) { r.Handshakes(discordtest.Handshake{Op: 9}); r.Cut() },
		"a RESUME without answer": func(r *rig) { r.Handshakes(discordtest.Handshake{SilentReady: true}); r.Forget(); r.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{}, impatient).start()
			direct := r.Direct(r.ann.ID).ID
			r.converse("one", 1)
			r.Say(direct, r.ann.ID, "hi")
			r.answers(direct, 1)
			r.Drop(3)
			r.Say(r.square, r.ann.ID, "missed, to nobody")
			r.ask(r.square, "missed")
			r.Say(direct, r.ann.ID, "missed too")
			lose(r)
			r.until("a new session", func() bool {
				all := r.Connections()
				return len(all) > 1 && all[len(all)-1].Identify && all[len(all)-1].Heartbeats > 0
			})
			check.Equal(t, "it answered", r.answers(direct, 2)[1], "echo: missed too")
			check.Equal(t, "it answered", r.answers(r.square, 2)[1], "echo: missed")
			check.Equal(t, "it heard", r.heard(r.place(r.square), 3)[1].Text, "missed, to nobody")
			for i, c := range r.Connections()[1:] {
				if (name == "4009" || name == "4007" || name == "op 9") && c.Resume {
					t.Errorf("connection %d tried to resume what is gone", i+1)
				}
			}
		})
	}
}

func TestAnErrorThatOnlyAPersonCanFixEndsRun(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{4004: "DISCORD_TOKEN", 4010: "4010", 4011: "4011", 4012: "4012", 4013: "4013", 4014: "Message Content Intent", 401: "Reset Token"} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{})
			if code == 401 { // from REST
				r.ResetToken()
			} else {
				r.Handshakes(discordtest.Handshake{Close: code})
			}
			err := r.newConnector().Run(r.ctx, nil)
			check.ErrorContains(t, "Run", err, want)
			check.Lacks(t, "Run", err.Error(), token)
		})
	}
	t.Run("a token that is reset while it runs", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, discordtest.Options{})
		r.start()
		r.ResetToken()
		check.ErrorContains(t, "the error", <-r.ended, "DISCORD_TOKEN")
		r.leave = nil // it has ended
	})
}

func TestSessionsAreBegunNoMoreOftenThanDiscordTakes(t *testing.T) {
	t.Parallel()
	t.Run("each some seconds after the other", func(t *testing.T) {
		t.Parallel()
		const every = 1500 * time.Millisecond
		r := newRig(t, discordtest.Options{IdentifyEvery: every / 2}, func(d *Discord) { d.pauses.identify = every })
		r.start()
		for range 2 {
			r.Invalidate(false)
			n := len(r.Connections())
			r.until("a new session", func() bool { all := r.Connections(); return len(all) > n && all[len(all)-1].Heartbeats > 0 })
		}
		check.Equal(t, "connections", len(r.Connections()), 3)
	})
	t.Run("none when the day's are used up", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, discordtest.Options{IdentifyLimit: 1}).start()
		r.Invalidate(false)
		r.until("the wait to be told", func() bool { return strings.Contains(r.log.String(), "session_limit_reached") })
		check.Equal(t, "connections; another IDENTIFY would cost the token", len(r.Connections()), 1)
	})
}

func TestRunEndsWithItsContextInEveryState(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(r *rig){
		"connected":            func(*rig) {},
		"waiting for HELLO":    func(r *rig) { r.Handshakes(discordtest.Handshake{SilentHello: true}) },
		"waiting for READY":    func(r *rig) { r.Handshakes(discordtest.Handshake{SilentReady: true}) },
		"the gateway refusing": func(r *rig) { r.Fail(discordtest.Fault{Status: 503, Times: 1000}) },
		"half open":            func(*rig) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{})
			prepare(r)
			r.open()
			r.run()
			r.until("something to happen", func() bool { return len(r.Connections()) > 0 || len(r.Requests("")) > 1 })
			if name == "half open" {
				r.HalfOpen()
			}
			r.stop()
		})
	}
}

func TestAPanicInAHandlerEndsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.Dispatch("MESSAGE_CREATE", map[string]any{"id": []int{1}, "author": 7})
	r.Dispatch("INTERACTION_CREATE", map[string]any{"id": "1", "token": "x", "type": 99})
	r.Dispatch("TOMORROWS_EVENT", map[string]any{"x": 1})
	d := &Discord{log: r.connector.log} // knows nothing: whatever it touches panics
	check.Error(t, d.event("MESSAGE_CREATE", []byte(`{"id":"1"}`)), nil)
	r.converse("still there?", 1)
}

func TestAPlainerServerWillDo(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.Fail(discordtest.Fault{Route: "GET /gateway/bot", Status: 404, Times: 9}) // it knows GET /gateway
	r.start()
	r.Dispatch("READY", map[string]any{"user": map[string]any{"id": r.Bot.ID, "username": "bot"}, "session_id": "x", "guilds": nil})
	m := map[string]any{"id": idAt(time.Now()), "channel_id": r.square, "guild_id": r.guild.ID, "content": "<@" + r.Bot.ID + "> bare", "author": map[string]any{"id": r.ann.ID, "username": "ann"}}
	r.Dispatch("MESSAGE_CREATE", m)
	check.Equal(t, "it answered", r.answers(r.square, 1)[0], "echo: bare")
}
