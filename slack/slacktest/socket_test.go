// Socket Mode: what the app gets, on which socket, and what becomes of what it does not acknowledge.
package slacktest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

// dial opens a socket without slack-go's loop around it.
func dial(t *testing.T, s *slacktest.Server) *websocket.Conn {
	t.Helper()
	_, url, err := client(t, s).StartSocketModeContext(t.Context())
	check.NoError(t, err)
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
	check.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

type envelope struct {
	Type           string
	Reason         string
	NumConnections int    `json:"num_connections"`
	ID             string `json:"envelope_id"`
	Payload        struct {
		EventID string `json:"event_id"`
		Event   struct{ Type, Subtype, TS, Channel, Text string }
	}
}

func read(t *testing.T, conn *websocket.Conn) envelope {
	t.Helper()
	var e envelope
	check.NoError(t, conn.SetReadDeadline(time.Now().Add(soon)))
	check.NoError(t, conn.ReadJSON(&e))
	return e
}

func write(t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	check.NoError(t, conn.WriteMessage(websocket.TextMessage, []byte(text)))
}

func TestSockets(t *testing.T) {
	t.Parallel()
	t.Run("an event goes to one of them, in turn", func(t *testing.T) {
		s := start(t, calm())
		for i := range 3 {
			if hello := read(t, dial(t, s)); hello.Type != "hello" || hello.NumConnections != i+1 {
				t.Fatalf("%+v", hello)
			}
		}
		used := map[int]bool{}
		for range 3 {
			s.Emit(map[string]any{"type": "app_home_opened"})
		}
		for _, d := range s.Deliveries() {
			used[d.Socket] = true
		}
		check.Equal(t, "sockets that were used", len(used), 3)
	})
}

func TestAcknowledgements(t *testing.T) {
	t.Parallel()
	hello := func(t *testing.T, o slacktest.Options) (*slacktest.Server, *websocket.Conn) {
		s := start(t, o)
		conn := dial(t, s)
		read(t, conn)
		return s, conn
	}

	t.Run("an acknowledged event does not come again, unless it is repeated", func(t *testing.T) {
		s, conn := hello(t, calm())
		id := s.Emit(map[string]any{"type": "app_home_opened"})
		write(t, conn, fmt.Sprintf(`{"envelope_id":%q}`, read(t, conn).ID))
		eventually(t, s, "it is acknowledged", func() bool { return !s.Deliveries()[0].Acked.IsZero() })
		s.Repeat(id)
		check.Equal(t, "the event", read(t, conn).Payload.EventID, id)
	})

	t.Run("what nobody acknowledges comes four times in all", func(t *testing.T) {
		s, conn := hello(t, hasty())
		s.Emit(map[string]any{"type": "app_home_opened"})
		first := read(t, conn)
		for range 3 {
			if e := read(t, conn); e.ID == first.ID || e.Payload.EventID != first.Payload.EventID {
				t.Errorf("%+v", e)
			}
		}
	})

	t.Run("an event that finds no socket is tried again, and then lost", func(t *testing.T) {
		s := start(t, hasty())
		s.Emit(map[string]any{"type": "app_home_opened"})
		eventually(t, s, "the last try", func() bool { return len(s.Deliveries()) == 4 })
		for _, d := range s.Deliveries() {
			check.Equal(t, "socket", d.Socket, 0)
		}
	})

	t.Run("late, double, unknown, oversized and broken ones are complained of", func(t *testing.T) {
		o := calm()
		o.AckWithin, o.Redeliver = time.Nanosecond, []time.Duration{}
		s, conn := hello(t, o)
		s.Emit(map[string]any{"type": "app_home_opened"})
		id := read(t, conn).ID
		ack := fmt.Sprintf(`{"envelope_id":%q}`, id)
		for _, text := range []string{ack, ack, `{"envelope_id":"nobody's"}`, `{"envelope_id":"big","payload":{"text":"` + strings.Repeat("x", 20*1024) + `"}}`, `{`} {
			write(t, conn, text)
		}
		eventually(t, s, "five complaints", func() bool { return len(s.Complaints()) == 5 })
		for i, word := range []string{"after", "twice", "unknown", "bytes", "not an"} {
			check.Contains(t, "the complaint", s.Complaints()[i], word)
		}
	})
}
