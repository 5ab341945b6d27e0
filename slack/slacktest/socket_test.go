// Socket Mode: what the app gets, on which socket, and what becomes of what it does not acknowledge.
package slacktest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"cairn/slack/slacktest"
)

// dial opens a socket without slack-go's loop around it.
func dial(t *testing.T, s *slacktest.Server) *websocket.Conn {
	t.Helper()
	_, url, err := client(t, s).StartSocketModeContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := conn.SetReadDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	if err := conn.ReadJSON(&e); err != nil {
		t.Fatal(err)
	}
	return e
}

func write(t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestSockets(t *testing.T) {
	t.Parallel()
	t.Run("an event goes to one of them, in turn, and the eleventh socket is sent away", func(t *testing.T) {
		s := start(t, calm())
		var conns []*websocket.Conn
		for i := range 10 {
			conns = append(conns, dial(t, s))
			if hello := read(t, conns[i]); hello.Type != "hello" || hello.NumConnections != i+1 {
				t.Fatalf("%+v", hello)
			}
		}
		if e := read(t, dial(t, s)); e.Type != "disconnect" || e.Reason != "too_many_websockets" {
			t.Errorf("%+v", e)
		}
		for range conns {
			s.Emit(map[string]any{"type": "app_home_opened"})
		}
		used := map[int]bool{}
		for _, d := range s.Deliveries() {
			used[d.Socket] = true
		}
		if len(used) != 10 || len(s.Sockets()) != 10 {
			t.Errorf("%d of %d sockets used", len(used), len(s.Sockets()))
		}
	})

	t.Run("a socket's URL works once", func(t *testing.T) {
		s := start(t, calm())
		_, url, err := client(t, s).StartSocketModeContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first, _, err := websocket.DefaultDialer.Dial(url, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		if _, response, err := websocket.DefaultDialer.Dial(url, nil); err == nil || response.StatusCode != 403 {
			t.Errorf("second time: %v", err)
		}
	})

	t.Run("the toggle disconnects and refuses", func(t *testing.T) {
		s := start(t, calm())
		conn := dial(t, s)
		read(t, conn)
		s.SocketModeOff()
		if e := read(t, conn); e.Reason != "link_disabled" {
			t.Errorf("%+v", e)
		}
		if _, _, err := client(t, s).StartSocketModeContext(t.Context()); err == nil {
			t.Error("opened")
		}
		s.SocketModeOn()
		read(t, dial(t, s))
	})

	t.Run("PINGs come, and none on a frozen socket", func(t *testing.T) {
		o := calm()
		o.PingEvery = 20 * time.Millisecond
		s := start(t, o)
		conn := dial(t, s)
		read(t, conn)
		pings := make(chan bool, 1000)
		conn.SetPingHandler(func(string) error { pings <- true; return nil })
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _, _ = conn.ReadMessage() // until the test closes it
		}()
		<-pings
		s.Sockets()[0].Freeze()
		for over, quiet := time.After(soon), false; !quiet; {
			select {
			case <-pings: // one that was on its way
			case <-time.After(10 * o.PingEvery):
				quiet = true
			case <-over:
				t.Fatal("PINGs still come")
			}
		}
		conn.Close()
		<-ended
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
		settled(t, s)
		if all := s.Deliveries(); len(all) != 1 || all[0].Acked.IsZero() {
			t.Errorf("%+v", all)
		}
		s.Repeat(id)
		if e := read(t, conn); e.Payload.EventID != id {
			t.Errorf("%+v", e)
		}
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
		settled(t, s)
		if n := len(s.Deliveries()); n != 4 {
			t.Errorf("%d deliveries", n)
		}
	})

	t.Run("an event that finds no socket is tried again, and then lost", func(t *testing.T) {
		s := start(t, hasty())
		s.Emit(map[string]any{"type": "app_home_opened"})
		settled(t, s)
		read(t, dial(t, s))
		if n := len(s.Deliveries()); n != 4 {
			t.Errorf("%d deliveries", n)
		}
		for _, d := range s.Deliveries() {
			if d.Socket != 0 {
				t.Errorf("%+v", d)
			}
		}
	})

	t.Run("a command is not repeated", func(t *testing.T) {
		s, conn := hello(t, hasty())
		ann := s.AddUser("ann")
		s.Command(s.DM(ann), ann, "/weather", "Oslo")
		if e := read(t, conn); e.Type != "slash_commands" {
			t.Errorf("%+v", e)
		}
		settled(t, s)
		if n := len(s.Deliveries()); n != 1 {
			t.Errorf("%d deliveries", n)
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
			if c := s.Complaints()[i]; !strings.Contains(c, word) {
				t.Errorf("%q does not say %q", c, word)
			}
		}
	})
}
