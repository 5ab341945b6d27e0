// Every way in which the gateway is known to fail, and the rules of the double's gateway.

package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"cairn/connector/platform"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/loopback"
)

// eager makes the connector connect again soon, however often it lost the connection.
func eager(d *Discord) {
	d.Link.Pause.First = 10 * time.Millisecond
	d.Link.Steady = time.Nanosecond
}

func TestABadBeginIsOvercome(t *testing.T) {
	r := newRig(t, discordtest.Options{}, eager)
	r.Handshakes(
		discordtest.Handshake{Refuse: 503},
		discordtest.Handshake{Op: 7}, discordtest.Handshake{Op: 7}, discordtest.Handshake{Op: 9},
		discordtest.Handshake{Close: 4009}, discordtest.Handshake{Close: 4007},
	)
	r.start()
	r.converse(r.square, "there?", 1)
	check.Equal(t, "connections, without the one that was refused", len(r.Connections()), 6)
	check.Equal(t, "warnings of one incident", strings.Count(r.Log.String(), "level=WARN"), 1)
	r.until("it is told", func() bool { return strings.Contains(r.Log.String(), "connection_recovered") })
}

func TestWhatALostConnectionMissedIsHeard(t *testing.T) {
	r := newRig(t, discordtest.Options{}, eager).start()
	direct := r.Direct(r.ann.ID).ID
	r.converse(r.square, "one", 1)
	r.Say(direct, r.ann.ID, "hi")
	r.answers(direct, 1)
	session := func(resume string) { // the double knows none of this name
		me := map[string]any{"id": r.Bot.ID, "username": "bot"}
		r.Dispatch("READY", map[string]any{"user": me, "session_id": "x", "resume_gateway_url": resume})
	}
	refused := discordtest.Handshake{Close: 4003}
	for i, c := range []struct {
		claim   string
		lose    func()
		resumes int  // how often, with the session
		begins  bool // a new one, whose gap is read
	}{
		{"a cut", r.Cut, 1, false},
		{"op 7", r.Reconnect, 1, false},
		{"op 9 that allows to resume", func() { r.Invalidate(true) }, 1, false},
		{"a close code of no meaning", func() { r.Disconnect(1001) }, 1, false},
		{"4009", func() { r.Disconnect(4009) }, 0, true},
		{"4007", func() { r.Disconnect(4007) }, 0, true},
		{"op 9", func() { r.Invalidate(false) }, 0, true},
		{"a RESUME that gets op 9", func() { r.Handshakes(discordtest.Handshake{Op: 9}); r.Cut() }, 1, true}, // it cannot know
		{"a RESUME that is refused again and again", func() { r.Handshakes(refused, refused, refused); r.Cut() }, 3, true},
		{"a READY that names no address to resume at", func() { session(""); r.Cut() }, 1, true},
		{"a READY that names one where nobody is", func() { session("ws://127.0.0.1:1"); r.Cut() }, 1, true},
	} {
		before := len(r.Connections())
		read := r.count("GET /channels/*/messages")
		r.Drop(3)
		r.Say(r.square, r.ann.ID, "missed, to nobody")
		r.ask(r.square, "missed: "+c.claim)
		r.Say(direct, r.ann.ID, "missed too: "+c.claim)
		c.lose()
		r.connected(before + 1)
		r.answersLast(direct, i+2, "echo: missed too: "+c.claim)
		r.answersLast(r.square, i+2, "echo: missed: "+c.claim)
		check.Equal(t, c.claim+": it heard", r.heard(r.place(r.square), 2*i+3)[2*i+1].Text, "missed, to nobody")
		all := r.Connections()
		resumed := 0
		identified := false
		for _, connection := range all[before:] {
			identified = identified || connection.Identify
			if connection.Resume {
				resumed++
			}
			check.That(t, connection.Path == "/resume" || c.begins, "%s: it resumed at %s", c.claim, connection.Path)
		}
		check.That(t, resumed == c.resumes && identified == c.begins && all[before-1].ClientClose != 1000, "%s: it went on with %+v", c.claim, all[before-1:])
		check.That(t, c.begins || r.count("GET /channels/*/messages") == read, "%s: it read the history, though nothing was lost", c.claim)
	}
}

func TestAnErrorThatOnlyAPersonCanFixEndsRun(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	for code, want := range map[int]string{4004: "DISCORD_TOKEN", 4010: "4010", 4011: "4011", 4012: "4012", 4013: "4013", 4014: "Message Content Intent"} {
		r.Handshakes(discordtest.Handshake{Close: code})
		err := r.newConnector().Run(r.ctx, nil)
		check.ErrorContains(t, fmt.Sprint(code), err, want)
		check.Lacks(t, "the error", err.Error(), token)
	}
	r.start()
	r.ResetToken() // while it runs
	check.ErrorContains(t, "the error", r.Ended(), "DISCORD_TOKEN")
	check.ErrorContains(t, "a 401 of REST", r.newConnector().Run(r.ctx, nil), "Reset Token") // before a session
}

func TestSessionsAreBegunNoMoreOftenThanDiscordTakes(t *testing.T) {
	t.Parallel()
	t.Run("each some seconds after the other", func(t *testing.T) {
		r := newRig(t, discordtest.Options{IdentifyEvery: time.Second / 2}, func(d *Discord) { d.pauses.identify = platform.Backoff{First: time.Second, Max: time.Second} }).start()
		r.Invalidate(false)
		r.connected(2)
		check.Equal(t, "connections", len(r.Connections()), 2)
	})
	t.Run("none when the day's are used up", func(t *testing.T) {
		r := newRig(t, discordtest.Options{IdentifyLimit: 1}).start()
		r.Invalidate(false)
		r.until("the wait to be told", func() bool { return strings.Contains(r.Log.String(), "session_limit_reached") })
		check.Equal(t, "connections; another IDENTIFY would cost the token", len(r.Connections()), 1)
	})
}

func TestRunEndsWithItsContextInEveryState(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(r *rig){
		"connected, but half open": func(r *rig) { r.start().HalfOpen() },
		"waiting for HELLO":        func(r *rig) { r.Handshakes(discordtest.Handshake{SilentHello: true}) },
		"waiting for READY":        func(r *rig) { r.Handshakes(discordtest.Handshake{SilentReady: true}) },
		"the gateway refusing":     func(r *rig) { r.Fail(discordtest.Fault{Status: 503, Times: 1000}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, discordtest.Options{})
			prepare(r)
			if r.connector == nil {
				r.open()
				r.Run()
			}
			r.until("something to happen", func() bool { return len(r.Connections()) > 0 || r.count("") > 1 })
			r.stop()
		})
	}
}

// A server may say less than Discord, or something that nobody expects.
func TestAPlainerServerWillDo(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Fail(discordtest.Fault{Of: "GET /gateway/bot", Status: 404, Times: 9}) // it knows GET /gateway
	r.start()
	r.Dispatch("READY", map[string]any{"user": map[string]any{"id": r.Bot.ID, "username": "bot"}, "session_id": "x", "guilds": nil})
	r.Dispatch("MESSAGE_CREATE", map[string]any{
		"id": idAt(time.Now()), "channel_id": r.square, "guild_id": r.guild.ID, "content": "<@" + r.Bot.ID + "> bare", "author": map[string]any{"id": r.ann.ID, "username": "ann"},
	})
	r.answersLast(r.square, 1, "echo: bare")
	r.Dispatch("MESSAGE_CREATE", map[string]any{"id": []int{1}, "author": 7})
	r.Dispatch("INTERACTION_CREATE", map[string]any{"id": "1", "token": "x", "type": 99})
	r.Dispatch("TOMORROWS_EVENT", map[string]any{"x": 1})
	e := &events{base: r.connector.Base} // knows nothing: whatever it touches panics
	check.Error(t, e.handle("MESSAGE_CREATE", []byte(`{"id":"1"}`)), nil)
	r.converse(r.square, "still there?", 2)
}

func (v *double) gateway() string { return "ws" + strings.TrimPrefix(v.URL, "http") }

// closes returns the code with which the gateway closes a connection on which this is said.
func (v *double) closes(query string, packets ...string) int {
	v.t.Helper()
	s := check.Must(platform.Dial(v.t.Context(), v.gateway()+"?"+query, nil, patience))(v.t)
	defer s.Close()
	for _, p := range packets {
		check.NoError(v.t, s.Write(json.RawMessage(p)))
	}
	return closeCode(s.Serve(v.t.Context(), nil, nil, func([]byte) error { return nil }))
}

const sound = `{"op":2,"d":{"token":"Bot token","intents":33281,"properties":{"os":"x"}}}` // guilds, messages, content

func TestTheGatewayClosesWithTheCodeThatIsDeserved(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{Forbidden: discordgo.IntentGuildMembers})
	for claim, say := range map[string][]string{
		"4001: an unknown op":                            {`{"op":99}`},
		"4002: broken data":                              {`{"op":2,"d":"x"}`},
		"4002: a packet above 4096 bytes":                {`{"op":1,"d":"` + strings.Repeat("x", 4096) + `"}`},
		"4004: a wrong token":                            {strings.Replace(sound, "Bot token", "Bot other", 1)},
		"4005: a second IDENTIFY":                        {sound, sound},
		"4008: more than 120 packets a minute":           slices.Repeat([]string{`{"op":1}`}, 121),
		"4010: a shard beyond the count":                 {strings.Replace(sound, `"token"`, `"shard":[1,1],"token"`, 1)},
		"4013: an intent that does not exist":            {strings.Replace(sound, "33281", "1073741824", 1)},
		"4014: a privileged intent that is switched off": {strings.Replace(sound, "33281", "3", 1)},
	} {
		check.HasPrefix(t, "what deserves a code", claim, fmt.Sprint(v.closes("v=10&encoding=json", say...)))
	}
	check.Equal(t, "API version 8", v.closes("v=8&encoding=json"), 4012)
	v = &double{Server: discordtest.New(discordtest.Options{Heartbeat: 20 * time.Millisecond}), t: t}
	defer v.Close()
	check.Equal(t, "a client without heartbeats", v.closes("v=9&encoding=json"), 1006) // which is none
}

// session is one that ends where handle fails.
func (v *double) session(handle func(name string) error) *session {
	return &session{
		await: func(string) {}, ready: func() {},
		token: "token", gateway: v.gateway(), intents: discordgo.IntentGuilds, timeout: patience,
		handle: func(name string, _ json.RawMessage) error { return handle(name) },
	}
}

func TestIdentifiesAreLimited(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{IdentifyEvery: time.Hour, IdentifyLimit: 2})
	ready := make(chan string, 2)
	ended := make(chan error, 1)
	go func() { ended <- v.session(func(name string) error { ready <- name; return nil }).connect(t.Context()) }()
	<-ready
	late := v.session(func(string) error { return nil })
	check.Error(t, late.connect(t.Context()), errInvalid)                      // a second one within the interval
	check.Equal(t, "one too many", closeCode(late.connect(t.Context())), 4004) // which resets the token
	check.Equal(t, "the first ended with", closeCode(<-ended), 4004)
	v.refused(v.ask("GET", "/users/@me", ""), 401, 0)
}

func TestResume(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{})
	enough := errors.New("enough")
	cut := v.session(func(name string) error { return map[string]error{"GUILD_CREATE": enough}[name] })
	check.Error(t, cut.connect(t.Context()), enough)
	cut.sequence += 100
	check.Equal(t, "a sequence number not reached is closed with", closeCode(cut.connect(t.Context())), 4007)

	ctx, cancel := context.WithCancel(t.Context())
	left := v.session(func(string) error { cancel(); return nil })
	check.Error(t, left.connect(ctx), context.Canceled) // with a close frame
	all := v.Connections()
	gone := func() bool { return v.Connections()[len(all)-1].ClientClose == 1000 }
	check.Require(t, check.Soon(gone), "the close did not come")
	check.Error(t, left.connect(t.Context()), errInvalid)
}

const (
	hello = `{"op":10,"d":{"heartbeat_interval":45000}}`
	ready = `{"op":0,"s":1,"t":"READY","d":{"session_id":"s"}}`
)

// TestASilentGatewayIsLeftSoThatTheSessionIsResumed runs over a pipe: a network would stop the test's own clock.
func TestASilentGatewayIsLeftSoThatTheSessionIsResumed(t *testing.T) {
	for claim, c := range map[string]struct {
		say   []string // what it says before it falls silent
		goOn  bool     // but events still come: it only acknowledges no heartbeats
		after time.Duration
	}{
		"which says nothing":               {nil, false, patience},
		"without an answer to IDENTIFY":    {[]string{hello}, false, patience},
		"half open":                        {[]string{hello, ready}, false, 67500 * time.Millisecond},
		"which acknowledges no heartbeats": {[]string{hello, ready}, true, 90 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var ended error
			ws := loopback.Pipe(func(ws *websocket.Conn) {
				for _, text := range c.say {
					_ = ws.WriteMessage(websocket.TextMessage, []byte(text))
				}
				if c.goOn {
					go func() {
						for ws.WriteMessage(websocket.TextMessage, []byte(`{"op":0,"s":3,"t":"TYPING_START","d":{}}`)) == nil {
							time.Sleep(time.Second)
						}
					}()
				}
				for ended == nil {
					_, _, ended = ws.ReadMessage()
				}
			})
			s := &session{timeout: patience, handle: func(string, json.RawMessage) error { return nil }, await: func(string) {}, ready: func() {}}
			begin := time.Now()
			err := s.run(t.Context(), platform.NewSocket(ws, s.timeout))
			s.noteEnd(err)
			check.That(t, err != nil && closeCode(err) == 0, "%s: got %v", claim, err)
			check.Equal(t, claim+": it was left after", time.Since(begin), c.after)
			check.Equal(t, claim+": it can be resumed", s.id != "", len(c.say) > 1)
			time.Sleep(2 * time.Second) // the goroutines end
			synctest.Wait()
			check.That(t, ended != nil && !websocket.IsCloseError(ended, websocket.CloseNormalClosure), "%s: it gave the session up", claim)
		})
	}
}
