// Sessions with gateways that take Discord's word literally.

package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"cairn/discord/discordtest"
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
			"/ws?shape=a", func(g *gate) string { return g.address("/again") },
			[]string{"IDENTIFY /ws?encoding=json&shape=a&v=9", "RESUME /again?encoding=json&v=9", "RESUME /again?encoding=json&v=9"},
		},
		"resumed where it began, if READY says nothing": {
			"/ws?shape=a", func(*gate) string { return "" },
			[]string{"IDENTIFY /ws?encoding=json&shape=a&v=9", "RESUME /ws?encoding=json&shape=a&v=9", "RESUME /ws?encoding=json&shape=a&v=9"},
		},
		"resumed where it began, if nobody is where READY says": {
			"/ws?shape=a", func(*gate) string { return "ws://127.0.0.1:1" },
			[]string{"IDENTIFY /ws?encoding=json&shape=a&v=9", "RESUME /ws?encoding=json&shape=a&v=9", "RESUME /ws?encoding=json&shape=a&v=9"},
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

func TestAGatewayThatSpeaksOutOfTurnHarmsNothing(t *testing.T) {
	t.Parallel()
	const hello = `{"op":10,"d":{"heartbeat_interval":500}}`
	heartbeats := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, q, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.Close() }()
		for _, say := range []string{`{"op":11}`, `{"op":1}`, `{"op":1}`, "no JSON", `{"op":"x"}`, hello, hello, `{"op":1}`, ready(""), hello, `{"op":1}`, `{"op":99}`} {
			_ = ws.WriteMessage(websocket.TextMessage, []byte(say))
		}
		for {
			_, data, err := ws.ReadMessage()
			if err != nil {
				close(heartbeats)
				return
			}
			if strings.Contains(string(data), `"op":1}`) {
				_ = ws.WriteMessage(websocket.TextMessage, []byte(`{"op":11}`))
			}
			heartbeats <- string(data)
		}
	}))
	defer server.Close()
	s := sessionWith(t, "ws"+strings.TrimPrefix(server.URL, "http"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.connect(ctx) }()
	first := <-heartbeats
	for range 5 {
		check.Contains(t, "after IDENTIFY it sent", <-heartbeats, `"op":1}`)
	}
	cancel()
	if e := <-ended; !strings.Contains(first, `"op":2}`) || !errors.Is(e, context.Canceled) || s.id == "" {
		t.Errorf("it began with %s and ended with %v", first, e)
	}
	for range heartbeats {
		continue
	}
}

// It runs alone: goroutines of other tests would be counted too.
func TestReconnectingLeavesNothingBehind(t *testing.T) {
	r := newRig(t, discordtest.Options{}, func(d *Discord) { d.pauses.connect = time.Millisecond }).start()
	r.registered() // that has a connection of its own
	ways := []func(){r.Reconnect, r.Cut, func() { r.Disconnect(discordtest.CloseUnknown) }}
	asked := 0
	lose := func(times int) {
		for range times {
			ways[asked%len(ways)]()
			asked++
			r.ask(r.square, fmt.Sprint("question ", asked))
			r.answers(r.square, asked)
		}
	}
	lose(len(ways)) // what is made once is there then
	goroutines, handles := runtime.NumGoroutine(), openFiles()
	lose(2 * len(ways))
	r.until("goroutines and open files are as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles() <= handles
	})
}

// openFiles counts files and sockets; 0 where the system does not tell.
func openFiles() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}
