// The rules of the double's gateway: who may identify, what is replayed, what is hidden.

package discord

import (
	"encoding/json"
	"errors"
	"strconv"
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

func (v *double) dial(query string) raw {
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
	err := r.ReadJSON(&p)
	check.Require(r.t, err == nil && p.Op == op, "got op %d (%v), want %d", p.Op, err, op)
	return p
}

func (r raw) closedWith() int {
	r.t.Helper()
	for {
		if _, _, err := r.ReadMessage(); err != nil {
			var code *websocket.CloseError
			check.Require(r.t, errors.As(err, &code), "no close code: %v", err)
			return code.Code
		}
	}
}

const sound = `{"token":"Bot token","intents":33281,"properties":{"os":"x"}}` // guilds, messages, content

func TestTheGatewayClosesWithTheCodeThatIsDeserved(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{Forbidden: discordgo.IntentGuildMembers})
	type said struct {
		op   int
		data string
	}
	many := make([]said, 121)
	for i := range many {
		many[i] = said{1, "null"}
	}
	for claim, c := range map[string]struct {
		say  []said
		code int
	}{
		"an unknown op is 4001":                            {[]said{{99, `null`}}, 4001},
		"broken data is 4002":                              {[]said{{2, `"x"`}}, 4002},
		"a packet above 4096 bytes is 4002":                {[]said{{1, `"` + strings.Repeat("x", 4096) + `"`}}, 4002},
		"a wrong token is 4004":                            {[]said{{2, strings.Replace(sound, "Bot token", "Bot other", 1)}}, 4004},
		"a second IDENTIFY is 4005":                        {[]said{{2, sound}, {2, sound}}, 4005},
		"more than 120 packets a minute are 4008":          {many, 4008},
		"a shard beyond the count is 4010":                 {[]said{{2, strings.Replace(sound, "{", `{"shard":[1,1],`, 1)}}, 4010},
		"an intent that does not exist is 4013":            {[]said{{2, strings.Replace(sound, "33281", "1073741824", 1)}}, 4013},
		"a privileged intent that is switched off is 4014": {[]said{{2, strings.Replace(sound, "33281", "3", 1)}}, 4014},
	} {
		r := v.dial("v=10&encoding=json")
		for _, s := range c.say {
			r.say(s.op, s.data)
		}
		check.Equal(t, claim, r.closedWith(), c.code)
	}
	check.Equal(t, "API version 8", v.dial("v=8&encoding=json").closedWith(), 4012)
}

func TestIdentifiesAreLimited(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{IdentifyEvery: time.Hour, IdentifyLimit: 2})
	first, second, third := v.dial("v=9&encoding=json"), v.dial("v=9&encoding=json"), v.dial("v=9&encoding=json")
	for _, r := range []raw{first, second, third} {
		r.hear(10)
	}
	first.say(2, sound)
	first.hear(0)
	second.say(2, sound)
	second.hear(9) // a second one within the interval
	third.say(2, sound)
	for _, r := range []raw{first, second, third} { // one too many resets the token
		check.Equal(t, "closed with", r.closedWith(), 4004)
	}
	v.refused(v.ask("GET", "/users/@me", ""), 401, 0)
}

func TestResume(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{})
	// begin identifies, and returns how to resume after a sequence number, plus more.
	begin := func() (r raw, resume func(more int) raw) {
		r = v.dial("v=9&encoding=json")
		r.hear(10)
		r.say(2, sound)
		session := read[struct {
			ID string `json:"session_id"`
		}](r.hear(0).Data).ID
		seq := int(r.hear(0).Sequence) // GUILD_CREATE
		return r, func(more int) raw {
			r := v.dial("v=9&encoding=json")
			r.hear(10)
			r.say(6, `{"token":"token","session_id":"`+session+`","seq":`+strconv.Itoa(seq+more)+`}`)
			return r
		}
	}
	r, resume := begin()
	_ = r.Close()
	check.Equal(t, "a sequence number not reached is closed with", resume(1).closedWith(), 4007)
	r, resume = begin()
	connections := len(v.Connections())
	_ = r.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
	check.NoError(t, v.Wait(t.Context(), func() bool { return v.Connections()[connections-1].ClientClose == 1000 }))
	resume(0).hear(9)

	r = newDouble(t, discordtest.Options{Heartbeat: 20 * time.Millisecond}).dial("v=9&encoding=json")
	r.hear(10)
	_, _, err := r.ReadMessage()
	check.That(t, err != nil, "a client without heartbeats lived on")
}
