// A WebSocket to a platform: one goroutine reads from it, and the connector's own loop handles the
// messages.

package platform

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	maxMessage   = 64 << 20         // bytes of one message
	writeTimeout = 10 * time.Second // of one message
	closeTimeout = time.Second      // for a close frame
	grace        = time.Second      // beyond the time in which something must be received
	readAhead    = 64               // messages buffered while the loop is busy, so that PINGs are still answered
)

// ErrSilent is why a socket ends on which nothing was received in time.
var ErrSilent = errors.New("the server sent nothing in time")

// Socket is one WebSocket.
type Socket struct {
	// Messages delivers the platform's messages in order. It is closed when nothing more can be
	// read.
	Messages <-chan []byte

	ws  *websocket.Conn
	err error // why nothing more can be read; set before Messages is closed

	writing sync.Mutex // the library allows one write at a time

	mu        sync.Mutex    // guards everything below
	silence   time.Duration // see Expect; 0: not called yet
	read      time.Time     // when something was last received
	watch     *time.Timer   // calls suspect
	suspected bool          // nothing was received in time, and the grace is running
	silent    bool          // nor in the grace
}

// Dial connects. The socket ends with ErrSilent after timeout, unless Expect is called before. If
// the server responds without upgrading to a WebSocket, status is the HTTP status of its response.
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
	s = &Socket{Messages: messages, ws: ws, read: time.Now()}
	s.mu.Lock() // suspect may run before watch is set
	s.watch = time.AfterFunc(timeout, s.suspect)
	s.mu.Unlock()
	ws.SetReadLimit(maxMessage)
	pong := ws.PingHandler()
	ws.SetPingHandler(func(data string) error {
		s.noteRead()
		return pong(data)
	})
	ws.SetPongHandler(func(string) error {
		s.noteRead()
		return nil
	})
	go func() {
		defer close(messages)
		for {
			_, data, err := ws.ReadMessage()
			if err != nil {
				s.noteEnd(err)
				return
			}
			s.unwatch() // the time in which no one takes the message does not count
			messages <- data
			s.noteRead()
		}
	}()
	return s, 0, nil
}

func (s *Socket) noteEnd(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch.Stop()
	if s.err = err; s.silent {
		s.err = ErrSilent
	}
}

// Expect has the socket end with ErrSilent once nothing, not even a PING or PONG, was received for
// silence.
func (s *Socket) Expect(silence time.Duration) {
	s.mu.Lock()
	s.silence = silence
	s.mu.Unlock()
	s.noteRead()
}

func (s *Socket) noteRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = time.Now()
	if s.silence > 0 {
		s.suspected = false
		s.watch.Reset(s.silence)
	}
}

func (s *Socket) unwatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silence > 0 {
		s.watch.Stop()
	}
}

// suspect closes a socket on which nothing was received in time, nor in the grace after it: this
// process may only have been late to read.
func (s *Socket) suspect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.suspected {
		s.suspected = true
		s.watch.Reset(grace)
		return
	}
	s.silent = true
	_ = s.ws.Close() // which ends the reading goroutine
}

// LastRead returns when something was last received, or when the connection was made if nothing was
// yet.
func (s *Socket) LastRead() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

// Ping asks the server for a PONG.
func (s *Socket) Ping() {
	_ = s.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout)) // a dead connection ends by its silence
}

// Err returns why Messages was closed. Call it only after that.
func (s *Socket) Err() error { return s.err }

// Write sends a message as JSON. It is safe for concurrent use. A failure closes the connection.
func (s *Socket) Write(message any) error {
	s.writing.Lock()
	defer s.writing.Unlock()
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
