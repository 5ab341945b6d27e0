// Sessions with gateways that take Discord's word literally.

package discord

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"cairn/internal/check"
)

// gate is a gateway that says what a test wants, and notes the address and the opcode
// of each first packet.
type gate struct {
	*httptest.Server
	mu    sync.Mutex // guards calls
	calls []string
}

// newGate answers each first packet with what answer returns, or, if that is empty,
// with a close code; then the connection ends.
func newGate(t *testing.T, answer func(g *gate, op int) (say string, code int)) *gate {
	g := new(gate)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, q, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.Close() }()
		_ = ws.WriteMessage(websocket.TextMessage, []byte(`{"op":10,"d":{"heartbeat_interval":45000}}`))
		var p struct {
			Op int `json:"op"`
		}
		if ws.ReadJSON(&p) != nil {
			return
		}
		g.mu.Lock()
		g.calls = append(g.calls, map[int]string{2: "IDENTIFY", 6: "RESUME"}[p.Op]+" "+q.URL.RequestURI())
		g.mu.Unlock()
		say, code := answer(g, p.Op)
		if say != "" {
			_ = ws.WriteMessage(websocket.TextMessage, []byte(say))
		}
		if say != "" {
			_, _, _ = ws.ReadMessage() // the first heartbeat
		}
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
		_, _, _ = ws.ReadMessage()
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *gate) address(path string) string { return "ws" + strings.TrimPrefix(g.URL, "http") + path }

func (g *gate) came() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.calls)
}

func ready(resume string) string {
	return `{"op":0,"s":1,"t":"READY","d":{"v":9,"session_id":"s","user":{"id":"1"},"guilds":[],"resume_gateway_url":"` + resume + `"}}`
}

const resumed = `{"op":0,"s":2,"t":"RESUMED","d":{}}`

func sessionWith(t *testing.T, gateway string) *session {
	t.Helper()
	return &session{
		token: token, gateway: gateway, intents: discordgo.IntentGuilds, timeout: 5 * time.Second,
		handle: func(string, json.RawMessage) error { return nil },
	}
}

func TestTheGatewaysAddressesAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin  string
		resume func(g *gate) string
		want   []string
	}{
		"resumed where READY says": {
			"/ws", func(g *gate) string { return g.address("/again") },
			[]string{"IDENTIFY /ws?encoding=json&v=9", "RESUME /again?encoding=json&v=9", "RESUME /again?encoding=json&v=9"},
		},
		"resumed where it began, if READY says nothing": {
			"/ws", func(*gate) string { return "" },
			[]string{"IDENTIFY /ws?encoding=json&v=9", "RESUME /ws?encoding=json&v=9", "RESUME /ws?encoding=json&v=9"},
		},
		"resumed where it began, if nobody is where READY says": {
			"/ws", func(*gate) string { return "ws://127.0.0.1:1" },
			[]string{"IDENTIFY /ws?encoding=json&v=9", "RESUME /ws?encoding=json&v=9", "RESUME /ws?encoding=json&v=9"},
		},
		"at a host alone": {
			"", func(*gate) string { return "" },
			[]string{"IDENTIFY /?encoding=json&v=9", "RESUME /?encoding=json&v=9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, func(g *gate, op int) (string, int) {
				if op == 2 {
					return ready(c.resume(g)), 4000
				}
				return resumed, 4000
			})
			s := sessionWith(t, g.address(c.begin))
			for range 5 {
				if len(g.came()) == len(c.want) {
					break
				}
				if err := s.connect(t.Context()); closeCode(err) != 4000 && closeCode(err) != 0 {
					t.Fatal(err)
				}
			}
			check.EqualAll(t, "it came with", g.came(), c.want)
		})
	}
}

func TestASessionThatIsRefusedAgainAndAgainIsGivenUp(t *testing.T) {
	t.Parallel()
	g := newGate(t, func(g *gate, op int) (string, int) {
		if op == 2 {
			return ready(""), 4000
		}
		return "", 4003
	})
	s := sessionWith(t, g.address(""))
	if e := s.connect(t.Context()); s.id == "" {
		t.Fatal(e)
	}
	for range 10 {
		if s.connect(t.Context()); s.id == "" {
			break
		}
	}
	if n := len(g.came()); s.id != "" || n < 3 {
		t.Errorf("after %d connections it is resumable: %v", n, s.id != "")
	}
}
