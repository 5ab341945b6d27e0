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

func TestASocketReadsAndWrites(t *testing.T) {
	address := serving(t, func(ws *websocket.Conn) {
		var text string
		if ws.ReadJSON(&text) == nil {
			_ = ws.WriteJSON(text + " back")
		}
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4004, ""), time.Now().Add(time.Second))
	})
	s, _, err := Dial(t.Context(), address, nil, 10*time.Second)
	check.NoError(t, err)
	defer s.Close()
	check.NoError(t, s.Write("hello"))
	check.Equal(t, "the message", string(<-s.Messages), "\"hello back\"\n")
	_, open := <-s.Messages
	var closed *websocket.CloseError
	if !errors.As(s.Err(), &closed) || closed.Code != 4004 || open {
		t.Errorf("it ended with %v", s.Err())
	}
}

func TestASocketThatIsClosedDropsWhatWasNotTaken(t *testing.T) {
	ended := make(chan error, 1)
	address := serving(t, func(ws *websocket.Conn) {
		_ = ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
		for range 5 {
			_ = ws.WriteJSON("news")
		}
		_, _, err := ws.ReadMessage()
		ended <- err
	})
	before := time.Now()
	s, _, err := Dial(t.Context(), address, nil, 10*time.Second)
	check.NoError(t, err)
	<-s.Messages
	if !s.LastRead().After(before) {
		t.Errorf("it last read at %v", s.LastRead())
	}
	s.Goodbye()
	s.Close()
	s.Close()
	if err := s.Write("late"); err == nil {
		t.Error("a closed socket writes")
	}
	if err := <-ended; !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("the server saw %v", err)
	}
}

func TestASocketThatCannotWriteEnds(t *testing.T) {
	done := make(chan struct{})
	address := serving(t, func(*websocket.Conn) { <-done }) // it keeps the connection
	defer close(done)
	s, _, err := Dial(t.Context(), address, nil, 10*time.Second)
	check.NoError(t, err)
	defer s.Close()
	check.NoError(t, s.ws.NetConn().(*net.TCPConn).CloseWrite())
	if err := s.Write("hello"); err == nil {
		t.Fatal("it wrote")
	}
	select {
	case <-s.Messages:
	case <-time.After(10 * time.Second):
		t.Error("it still waits for messages")
	}
}

func TestASocketThatIsRefused(t *testing.T) {
	address := serving(t, nil)
	if _, status, err := Dial(t.Context(), address+"/refused", nil, time.Second); err == nil || status != http.StatusForbidden {
		t.Errorf("got HTTP %d, %v", status, err)
	}
	if _, status, err := Dial(t.Context(), "ws://127.0.0.1:1", nil, time.Second); err == nil || status != 0 {
		t.Errorf("where nobody is: HTTP %d, %v", status, err)
	}
}

func TestASocketOnWhichNothingComesEnds(t *testing.T) {
	read := func(ws *websocket.Conn) { _, _, _ = ws.ReadMessage() } // which answers PINGs
	t.Run("before it is told what to expect", func(t *testing.T) {
		s, _, err := Dial(t.Context(), serving(t, read), nil, 100*time.Millisecond)
		check.NoError(t, err)
		defer s.Close()
		s.Ping()
		<-s.Messages
		check.Error(t, s.Err(), ErrSilent)
	})
	t.Run("and after, unless PINGs are answered", func(t *testing.T) {
		s, _, err := Dial(t.Context(), serving(t, read), nil, 10*time.Second)
		check.NoError(t, err)
		defer s.Close()
		start := time.Now()
		s.Expect(time.Second)
		time.Sleep(500 * time.Millisecond)
		s.Ping()
		<-s.Messages
		check.Error(t, s.Err(), ErrSilent)
		check.Equal(t, "the answer counts", time.Since(start) >= 1500*time.Millisecond, true)
	})
}

func TestASocketWhoseMessagesAreNotTakenLives(t *testing.T) {
	const all = readAhead + 10
	address := serving(t, func(ws *websocket.Conn) {
		for range all {
			_ = ws.WriteJSON(strings.Repeat("news", 2000)) // more than a buffer
		}
		_, _, _ = ws.ReadMessage()
	})
	s, _, err := Dial(t.Context(), address, nil, 10*time.Second)
	check.NoError(t, err)
	defer s.Close()
	s.Expect(time.Second)
	time.Sleep(1500 * time.Millisecond) // as while a disk is slow
	for i := range all {
		if _, open := <-s.Messages; !open {
			t.Fatalf("it ended after %d messages: %v", i, s.Err())
		}
	}
}
