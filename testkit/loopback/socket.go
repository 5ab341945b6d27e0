package loopback

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// Socket is the server's side of a WebSocket: a queue of frames that one goroutine writes.
type Socket struct {
	*websocket.Conn
	Frozen atomic.Bool // half-open: nothing is sent any more
	Ending atomic.Bool // a frame that ends the connection is queued or sent

	wake  chan struct{} // capacity 1: the queue has grown
	mu    sync.Mutex    // guards queue
	queue []frame
}

// frame is one queued action on a socket.
type frame struct {
	data  []byte
	close int  // close code to send before the end
	cut   bool // end without a close frame
}

// Serve makes a WebSocket of a request. It calls opened before it reads and sends anything, unless that returns false
// calls received with each text, and sends a PING at each interval (0 or less: none). It returns why reading has ended.
func Serve(w http.ResponseWriter, r *http.Request, interval time.Duration, opened func(*Socket) bool, received func(data []byte)) error {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return err // Upgrade has responded
	}
	defer conn.Close()
	s := newSocket(conn)
	if !opened(s) {
		return nil
	}
	gone := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { s.write(interval, gone) })
	defer writer.Wait()
	defer close(gone)
	for {
		_, data, err := s.ReadMessage()
		if err != nil {
			return err
		}
		received(data)
	}
}

func newSocket(conn *websocket.Conn) *Socket {
	s := &Socket{Conn: conn, wake: make(chan struct{}, 1)}
	conn.SetPingHandler(func(data string) error {
		s.control(websocket.PongMessage, []byte(data))
		return nil
	})
	conn.SetCloseHandler(func(code int, _ string) error {
		s.control(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""))
		return nil
	})
	return s
}

// Send queues a text.
func (s *Socket) Send(data []byte) { s.push(frame{data: data}) }

// End closes the connection with a code, after what is queued.
func (s *Socket) End(code int) { s.push(frame{close: code}) }

// Cut ends the connection without a close frame, after what is queued and can be sent.
func (s *Socket) Cut() { s.push(frame{cut: true}) }

// push queues a frame; nothing follows a frame that ends the connection.
func (s *Socket) push(f frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Ending.Load() {
		if f.cut { // even if the client has not answered a close yet
			_ = s.Close()
		}
		return
	}
	if f.cut && s.Frozen.Swap(false) {
		s.queue = nil
	}
	s.Ending.Store(f.cut || f.close != 0)
	s.queue = append(s.queue, f)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Socket) next() (f frame, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	some = len(s.queue) > 0 && !s.Frozen.Load()
	if some {
		f = s.queue[0]
		s.queue = s.queue[1:]
	}
	return f, some
}

// write writes the queue, and PINGs, until the connection ends, of which the reader learns too, or gone is closed.
func (s *Socket) write(interval time.Duration, gone <-chan struct{}) {
	var ping <-chan time.Time
	if interval > 0 {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		ping = ticker.C
	}
	for {
		switch f, some := s.next(); {
		case !some:
			select {
			case <-s.wake:
			case <-ping:
				s.control(websocket.PingMessage, []byte("ping"))
			case <-gone:
				return
			}
		case f.cut:
			_ = s.Close()
			return
		case f.close != 0:
			s.sendClose(f.close)
			return
		case s.WriteMessage(websocket.TextMessage, f.data) != nil:
			return
		}
	}
}

// control writes a control frame, unless the socket is half-open. The client may have disconnected.
func (s *Socket) control(kind int, data []byte) {
	if !s.Frozen.Load() {
		_ = s.WriteControl(kind, data, time.Now().Add(time.Second))
	}
}

// sendClose closes the sending side: after a full close with unread input TCP would reset, and the client lose the code.
func (s *Socket) sendClose(code int) {
	s.control(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""))
	if tcp, ok := s.UnderlyingConn().(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	_ = s.SetReadDeadline(time.Now().Add(5 * time.Second))
}

// Pipe returns the client's side of a WebSocket over a pipe: a network would stop the clock of testing/synctest.
func Pipe(do func(ws *websocket.Conn)) *websocket.Conn {
	client, server := net.Pipe()
	go func() {
		request, err := http.ReadRequest(bufio.NewReader(server))
		if err != nil {
			return // the client fails too
		}
		if ws, err := new(websocket.Upgrader).Upgrade(hijacked{conn: server}, request, nil); err == nil {
			defer ws.Close()
			do(ws)
		}
	}()
	dialer := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return client, nil }}
	ws, _, err := dialer.Dial("ws://pipe", nil)
	if err != nil {
		panic(fmt.Sprintf("dial over a pipe: %v", err))
	}
	return ws
}

// hijacked has what an Upgrader needs of a request's connection.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}
