// The gateway's own rules: who may identify, what is replayed, what is hidden.
package discordtest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"cairn/discord/discordtest"
	"cairn/internal/check"
)

// raw is a gateway connection without a library.
type raw struct {
	*websocket.Conn
	t *testing.T
}

type packet struct {
	Op   int             `json:"op"`
	Seq  int             `json:"s"`
	Type string          `json:"t"`
	Data json.RawMessage `json:"d"`
}

func (v *town) dial(query string) raw {
	v.t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(v.URL, "http")+"/gateway-socket/?"+query, nil)
	check.NoError(v.t, err)
	v.t.Cleanup(func() { _ = ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(patience)) // a guard
	return raw{ws, v.t}
}

func (r raw) say(op int, data string) {
	r.t.Helper()
	check.NoError(r.t, r.WriteJSON(map[string]any{"op": op, "d": json.RawMessage(data)}))
}

func (r raw) hear(op int) (p packet) {
	r.t.Helper()
	if err := r.ReadJSON(&p); err != nil || p.Op != op {
		r.t.Fatalf("got op %d (%v), want %d", p.Op, err, op)
	}
	return p
}

func (r raw) closedWith() int {
	r.t.Helper()
	for {
		_, _, err := r.ReadMessage()
		var code *websocket.CloseError
		switch {
		case errors.As(err, &code):
			return code.Code
		case err != nil:
			r.t.Fatalf("no close code: %v", err)
		}
	}
}

const sound = `{"token":"Bot token","intents":33281,"properties":{"os":"x"}}` // guilds, messages, content

func TestTheGatewayClosesWithTheCodeThatIsDeserved(t *testing.T) {
	v := newTown(t, discordtest.Options{Forbidden: discordgo.IntentGuildMembers})
	type said struct {
		op   int
		data string
	}
	for _, c := range []struct {
		claim, query string
		say          []said
		code         int
	}{
		{"API version 8 is 4012", "v=8&encoding=json", nil, 4012},
		{"an unknown op is 4001", "", []said{{99, `null`}}, 4001},
		{"broken data is 4002", "", []said{{2, `"x"`}}, 4002},
		{"a packet above 4096 bytes is 4002", "", []said{{1, `"` + strings.Repeat("x", 4096) + `"`}}, 4002},
		{"a wrong token is 4004", "", []said{{2, strings.Replace(sound, "Bot token", "Bot other", 1)}}, 4004},
		{"a second IDENTIFY is 4005", "", []said{{2, sound}, {2, sound}}, 4005},
		{"a shard beyond the count is 4010", "", []said{{2, strings.Replace(sound, "{", `{"shard":[1,1],`, 1)}}, 4010},
		{"an intent that does not exist is 4013", "", []said{{2, strings.Replace(sound, "33281", "1073741824", 1)}}, 4013},
		{"a privileged intent that is switched off is 4014", "", []said{{2, strings.Replace(sound, "33281", "3", 1)}}, 4014},
	} {
		t.Run(c.claim, func(t *testing.T) {
			query := c.query
			if query == "" {
				query = "v=10&encoding=json"
			}
			r := v.dial(query)
			r.t = t
			for _, s := range c.say {
				r.say(s.op, s.data)
			}
			check.Equal(t, "closed with", r.closedWith(), c.code)
		})
	}
	t.Run("more than 120 packets a minute are 4008", func(t *testing.T) {
		r := v.dial("v=9&encoding=json")
		r.t = t
		for range 121 {
			r.say(1, "null")
		}
		check.Equal(t, "closed with", r.closedWith(), 4008)
	})
}

func TestIdentifiesAreLimited(t *testing.T) {
	t.Parallel()
	t.Run("a second within the interval gets op 9", func(t *testing.T) {
		v := newTown(t, discordtest.Options{IdentifyEvery: time.Hour})
		first, second := v.dial("v=9&encoding=json"), v.dial("v=9&encoding=json")
		first.hear(10)
		first.say(2, sound)
		first.hear(0)
		second.hear(10)
		second.say(2, sound)
		second.hear(9)
	})
	t.Run("one too many resets the token", func(t *testing.T) {
		v := newTown(t, discordtest.Options{IdentifyLimit: 1})
		first, second := v.dial("v=9&encoding=json"), v.dial("v=9&encoding=json")
		first.say(2, sound)
		v.wait("the first", func() bool { // which of the two is known first is not said
			all := v.Connections()
			return all[0].Identify || len(all) > 1 && all[1].Identify
		})
		second.say(2, sound)
		if a, b := first.closedWith(), second.closedWith(); a != 4004 || b != 4004 {
			t.Errorf("closed with %d and %d, want 4004 for both", a, b)
		}
		v.refused(v.ask("GET", "/users/@me", ""), 401, 0)
	})
}

func TestAClientWithoutHeartbeatsIsDisconnected(t *testing.T) {
	v := newTown(t, discordtest.Options{Heartbeat: 20 * time.Millisecond})
	r := v.dial("v=9&encoding=json")
	r.hear(10)
	if _, _, err := r.ReadMessage(); err == nil {
		t.Error("the connection lived on")
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	// begin identifies, and returns the session's id and its last sequence number.
	begin := func(v *town) (raw, string, int) {
		r := v.dial("v=9&encoding=json")
		r.hear(10)
		r.say(2, sound)
		var ready struct {
			Session string `json:"session_id"`
		}
		check.NoError(v.t, json.Unmarshal(r.hear(0).Data, &ready))
		return r, ready.Session, r.hear(0).Seq // GUILD_CREATE
	}
	again := func(v *town, session string, seq int) raw {
		r := v.dial("v=9&encoding=json")
		r.hear(10)
		body, _ := json.Marshal(map[string]any{"token": "token", "session_id": session, "seq": seq})
		r.say(6, string(body))
		return r
	}
	t.Run("of a sequence number not reached is 4007", func(t *testing.T) {
		v := newTown(t, discordtest.Options{})
		r, session, seq := begin(v)
		_ = r.Close()
		check.Equal(t, "closed with", again(v, session, seq+1).closedWith(), 4007)
	})
	t.Run("after close code 1000 gets op 9", func(t *testing.T) {
		v := newTown(t, discordtest.Options{})
		r, session, seq := begin(v)
		_ = r.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
		v.wait("the close", func() bool { return v.Connections()[0].ClientClose == 1000 })
		again(v, session, seq).hear(9)
	})
}
