// A WebSocket to a platform: one goroutine reads from it, and the connector's own loop handles the
// messages.

package platform

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	maxMessage   = 64 << 20         // bytes of one message
	writeTimeout = 10 * time.Second // of one message
	closeTimeout = time.Second      // for a close frame
	readAhead    = 64               // messages buffered while the loop is busy, so that PINGs are still answered
)

// Socket is one WebSocket.
type Socket struct {
	// Messages delivers the platform's messages in order. It is closed when nothing more can be
	// read.
	Messages <-chan []byte

	ws      *websocket.Conn
	started time.Time
	read    atomic.Int64 // time of the last read, in nanoseconds since started
	err     error        // why nothing more can be read; set before Messages is closed

	mu sync.Mutex // guards writes: the library allows one at a time
}

// Dial connects. If the server responds without upgrading to a WebSocket, status is the HTTP status
// of its response.
func Dial(ctx context.Context, address string, header http.Header, timeout time.Duration) (s *Socket, status int, err error) {
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: timeout}
	ws, resp, err := dialer.DialContext(ctx, address, header)
	if err != nil {
		if resp != nil {
			status = resp.StatusCode
		}
		return nil, status, err
	}
	messages := make(chan []byte, readAhead)
	s = &Socket{Messages: messages, ws: ws, started: time.Now()}
	ws.SetReadLimit(maxMessage)
	pong := ws.PingHandler()
	ws.SetPingHandler(func(data string) error {
		s.noteRead()
		return pong(data)
	})
	go func() {
		defer close(messages)
		for {
			_, data, err := ws.ReadMessage()
			if err != nil {
				s.err = err
				return
			}
			s.noteRead()
			messages <- data
		}
	}()
	return s, 0, nil
}

func (s *Socket) noteRead() { s.read.Store(int64(time.Since(s.started))) }

// LastRead returns when the last message or PING was read, or when the connection was made if
// nothing has been read yet.
func (s *Socket) LastRead() time.Time { return s.started.Add(time.Duration(s.read.Load())) }

// Err returns why Messages was closed. Call it only after that.
func (s *Socket) Err() error { return s.err }

// Write sends a message as JSON. It is safe for concurrent use. A failure closes the connection.
func (s *Socket) Write(message any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.ws.SetWriteDeadline(time.Now().Add(writeTimeout)) // never fails
	err := s.ws.WriteJSON(message)
	if err != nil {
		_ = s.ws.Close() // so that Messages is closed
	}
	return err
}

// Goodbye sends a close frame, which tells the platform that the connection ends for good.
func (s *Socket) Goodbye() {
	text := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = s.ws.WriteControl(websocket.CloseMessage, text, time.Now().Add(closeTimeout)) // fails on a dead connection
}

// Close closes the connection and discards the unread messages.
func (s *Socket) Close() {
	_ = s.ws.Close() // which ends the reading goroutine
	for range s.Messages {
	}
}
