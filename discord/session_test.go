// Sessions with gateways that fall silent.

package discord

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"cairn/internal/check"
	"cairn/internal/loopback"
	"cairn/internal/platform"
)

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
				s, begin := &session{timeout: patience, handle: func(string, json.RawMessage) error { return nil }}, time.Now()
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
