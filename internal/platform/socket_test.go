package platform

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"cairn/internal/check"
)

// serving is the address of a server that does this with each WebSocket.
func serving(t *testing.T, do func(ws *websocket.Conn)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		ws, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			return // it has answered
		}
		defer func() { _ = ws.Close() }()
		do(ws)
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

// dialed is a socket to such a server.
func dialed(t *testing.T, silence time.Duration, do func(ws *websocket.Conn)) *Socket {
	t.Helper()
	s, _, err := Dial(t.Context(), serving(t, do), nil, silence)
	check.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestASocketReadsAndWrites(t *testing.T) {
	s := dialed(t, 10*time.Second, func(ws *websocket.Conn) {
		var text string
		if ws.ReadJSON(&text) == nil {
			_ = ws.WriteJSON(text + " back")
		}
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4004, ""), time.Now().Add(time.Second))
	})
	check.NoError(t, s.Write("hello"))
	check.Equal(t, "the message", string(<-s.Messages), "\"hello back\"\n")
	_, open := <-s.Messages
	var closed *websocket.CloseError
	check.That(t, errors.As(s.Err(), &closed) && closed.Code == 4004 && !open, "it ended with %v", s.Err())
}

func TestASocketThatIsClosedDropsWhatWasNotTaken(t *testing.T) {
	ended, before := make(chan error, 1), time.Now()
	s := dialed(t, 10*time.Second, func(ws *websocket.Conn) {
		_ = ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
		for range 5 {
			_ = ws.WriteJSON("news")
		}
		_, _, err := ws.ReadMessage()
		ended <- err
	})
	<-s.Messages
	check.That(t, s.LastRead().After(before), "it last read at %v", s.LastRead())
	s.Goodbye()
	s.Close()
	s.Close()
	check.That(t, s.Write("late") != nil, "a closed socket writes")
	err := <-ended
	check.That(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "the server saw %v", err)
}

func TestASocketThatCannotWriteEnds(t *testing.T) {
	done := make(chan struct{})
	s := dialed(t, 10*time.Second, func(*websocket.Conn) { <-done }) // it keeps the connection
	defer close(done)
	check.NoError(t, s.ws.NetConn().(*net.TCPConn).CloseWrite())
	check.That(t, s.Write("hello") != nil, "it wrote")
	select {
	case <-s.Messages:
	case <-time.After(10 * time.Second):
		t.Error("it still waits for messages")
	}
}

func TestASocketThatIsRefused(t *testing.T) {
	address := serving(t, nil)
	for url, want := range map[string]int{address + "/refused": http.StatusForbidden, "ws://127.0.0.1:1": 0} {
		_, status, err := Dial(t.Context(), url, nil, time.Second)
		check.That(t, err != nil && status == want, "%s: got HTTP %d, %v", url, status, err)
	}
}

func TestASocketOnWhichNothingComesEnds(t *testing.T) {
	read := func(ws *websocket.Conn) { _, _, _ = ws.ReadMessage() } // which answers PINGs
	t.Run("before it is told what to expect", func(t *testing.T) {
		s := dialed(t, 100*time.Millisecond, read)
		s.Ping()
		<-s.Messages
		check.Error(t, s.Err(), ErrSilent)
	})
	t.Run("and after, unless PINGs are answered", func(t *testing.T) {
		t.Parallel()
		s, start := dialed(t, 10*time.Second, read), time.Now()
		s.Expect(time.Second)
		time.Sleep(500 * time.Millisecond)
		s.Ping()
		<-s.Messages
		check.Error(t, s.Err(), ErrSilent)
		check.That(t, time.Since(start) >= 1500*time.Millisecond, "the answer does not count: it ended after %v", time.Since(start))
	})
}

func TestASocketWhoseMessagesAreNotTakenLives(t *testing.T) {
	t.Parallel()
	const all = readAhead + 10
	s := dialed(t, 10*time.Second, func(ws *websocket.Conn) {
		for range all {
			_ = ws.WriteJSON(strings.Repeat("news", 2000)) // more than a buffer
		}
		_, _, _ = ws.ReadMessage()
	})
	s.Expect(time.Second)
	time.Sleep(1500 * time.Millisecond) // as while a disk is slow
	for i := range all {
		_, open := <-s.Messages
		check.Require(t, open, "it ended after %d messages: %v", i, s.Err())
	}
}
