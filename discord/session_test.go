// Sessions with gateways that take Discord's word literally, or fall silent.

package discord

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"cairn/internal/check"
	"cairn/internal/loopback"
	"cairn/internal/platform"
)

// gate is a gateway whose connections end soon after READY or RESUMED. It notes the opcode of each first packet
// and its address.
type gate struct {
	*httptest.Server
	calls  chan string
	resume string // address that READY tells
	refuse int    // the close code instead of RESUMED; 0: none
}

func newGate(t *testing.T) *gate {
	g := &gate{calls: make(chan string, 20)}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		ws, err := new(websocket.Upgrader).Upgrade(w, q, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.Close() }()
		_ = ws.WriteMessage(websocket.TextMessage, []byte(hello))
		var p packet
		if ws.ReadJSON(&p) != nil {
			return
		}
		g.calls <- map[int]string{2: "IDENTIFY", 6: "RESUME"}[p.Op] + " " + q.URL.RequestURI()
		say := map[int]string{2: ready(g.resume), 6: `{"op":0,"s":2,"t":"RESUMED","d":{}}`}[p.Op]
		if p.Op == 2 || g.refuse == 0 {
			_ = ws.WriteMessage(websocket.TextMessage, []byte(say))
			_, _, _ = ws.ReadMessage() // the first heartbeat
		}
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(cmp.Or(g.refuse, 4000), ""), time.Now().Add(time.Second))
		_, _, _ = ws.ReadMessage()
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *gate) address(path string) string { return "ws" + strings.TrimPrefix(g.URL, "http") + path }

func ready(resume string) string {
	return `{"op":0,"s":1,"t":"READY","d":{"v":9,"session_id":"s","user":{"id":"1"},"guilds":[],"resume_gateway_url":"` + resume + `"}}`
}

const hello = `{"op":10,"d":{"heartbeat_interval":45000}}`

func sessionWith(gateway string) *session {
	return &session{
		token: token, gateway: gateway, intents: discordgo.IntentGuilds, timeout: patience,
		handle: func(string, json.RawMessage) error { return nil },
	}
}

func TestTheGatewaysAddressesAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin, resume string // where it begins, and where READY says to resume it
		want          string // where it came
	}{
		"resumed where READY says":                              {"/ws", "/again", "/ws /again"},
		"resumed where it began, if READY says nothing":         {"/ws", "", "/ws /ws"},
		"resumed where it began, if nobody is where READY says": {"/ws", "ws://127.0.0.1:1", "/ws /ws"},
		"at a host alone":                                       {"", "", "/ /"},
	} {
		g := newGate(t)
		if g.resume = c.resume; strings.HasPrefix(c.resume, "/") {
			g.resume = g.address(c.resume)
		}
		s := sessionWith(g.address(c.begin))
		for range 3 {
			err := s.connect(t.Context())
			check.Require(t, closeCode(err) == 4000 || closeCode(err) == 0, "%s: %v", name, err)
		}
		begin, again, _ := strings.Cut(c.want, " ")
		const query = "?encoding=json&v=9"
		check.Equal(t, name, <-g.calls, "IDENTIFY "+begin+query)
		check.Equal(t, name, <-g.calls, "RESUME "+again+query)
	}
}

func TestASessionThatIsRefusedAgainAndAgainIsGivenUp(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.refuse = 4003
	s := sessionWith(g.address(""))
	err := s.connect(t.Context())
	check.Require(t, s.id != "", "%v", err)
	for range 10 {
		if s.connect(t.Context()); s.id == "" {
			break
		}
	}
	n := len(g.calls)
	check.That(t, s.id == "" && n >= 3, "after %d connections it is resumable: %v", n, s.id != "")
}

// TestASilentGatewayIsLeftSoThatTheSessionIsResumed runs over a pipe: a network would stop the test's own clock.
func TestASilentGatewayIsLeftSoThatTheSessionIsResumed(t *testing.T) {
	for claim, c := range map[string]struct {
		say   []string // what it says before it falls silent
		goOn  bool     // but events still come: it only acknowledges no heartbeats
		after time.Duration
	}{
		"which says nothing":               {nil, false, patience},
		"without an answer to IDENTIFY":    {[]string{hello}, false, patience},
		"half open":                        {[]string{hello, ready("")}, false, 67500 * time.Millisecond},
		"which acknowledges no heartbeats": {[]string{hello, ready("")}, true, 90 * time.Second},
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error, 1)
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
					for {
						if _, _, err := ws.ReadMessage(); err != nil {
							ended <- err
							return
						}
					}
				})
				s, begin := sessionWith(""), time.Now()
				err := s.run(t.Context(), platform.NewSocket(ws, s.timeout))
				s.noteEnd(err)
				check.That(t, err != nil && closeCode(err) == 0, "got %v", err)
				check.Equal(t, "it was left after", time.Since(begin), c.after)
				check.Equal(t, "it can be resumed", s.id != "", len(c.say) > 1)
				check.That(t, !websocket.IsCloseError(<-ended, websocket.CloseNormalClosure), "it gave the session up")
				time.Sleep(2 * time.Second) // the goroutines end
				synctest.Wait()
			})
		})
	}
}
