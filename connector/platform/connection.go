// Connections, one after another, until an error that only a person can fix; one goroutine reads, another handles the messages.

package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"cairn/internal/network"
	"cairn/internal/observe"
)

// SetupError is an error that only a person can fix; its text says how.
type SetupError string

func (e SetupError) Error() string { return string(e) }

// Link keeps a connector connected: one connection after another.
type Link struct {
	Log    *slog.Logger                   // until SetLog
	Covers func(conversation string) bool // whether the events of a conversation come over this link; nil: those of all do
	Reason func(err error) string         // an error with another reason than the last is a new incident; nil: none is
	Pause  Backoff                        // before the next connection
	Steady time.Duration                  // a connection that lasts this long works: the next one follows without a pause

	Patience time.Duration // how long each step of a connection may take, see Await; 0: 10 seconds
	Hint     string        // what to check when the platform does not answer

	mu  sync.Mutex              // guards end
	end context.CancelCauseFunc // of the latest connection; nil: there was none

	failing   observe.Incident       // no connection lasts
	reason    atomic.Pointer[string] // of the latest incident; nil: it has none
	connected atomic.Bool
	since     atomic.Pointer[time.Time] // when the latest connection was established; nil: none was yet
	steady    *time.Timer               // ends the incident; nil: the latest connection is not established
	silence   silence
	recheck   recheck
	renamed   atomic.Pointer[slog.Logger] // see SetLog; nil: Log
}

// newLink returns a link that is back soon after an outage: people wait. Discord limits new sessions and Slack limits requests, which
// the connectors obey apart from this; Discord has no daily limit for resumed sessions.
func newLink(log *slog.Logger) Link {
	return Link{Log: log, Pause: Backoff{First: time.Second, Max: maxPause}, Steady: 5 * time.Second, recheck: newRecheck()}
}

// SetLog has the link log to another logger from now on.
func (l *Link) SetLog(log *slog.Logger) { l.renamed.Store(log) }

// CurrentLog returns where the link logs.
func (l *Link) CurrentLog() *slog.Logger { return cmp.Or(l.renamed.Load(), l.Log) }

// covers reports whether the events of a conversation come over this link.
func (l *Link) covers(conversation string) bool { return l.Covers == nil || l.Covers(conversation) }

const maxPause = 8 * time.Second // between two connections

// silentPlatform is the reason of an incident in which the platform accepts connections and does not answer.
const silentPlatform = "silent"

// begin records a failure with a reason: another one than the last is a new incident. It returns the level at which to log it.
func (l *Link) begin(reason string) slog.Level {
	last := l.reason.Swap(&reason)
	if last == nil || *last != reason {
		l.failing.End()
	}
	return l.failing.Begin()
}

// Connected reports whether the latest connection is established.
func (l *Link) Connected() bool { return l.connected.Load() }

// Established reports that the latest connection is established. Only connect may call it, see Keep.
func (l *Link) Established() {
	if l.steady == nil {
		l.steady = time.AfterFunc(l.Steady, func() {
			if l.failing.End() {
				l.CurrentLog().Info("connection_recovered")
			}
		})
	}
	now := time.Now()
	l.since.Store(&now)
	l.connected.Store(true)
	l.answered()
}

// Connection returns a context for one connection. It ends with ctx, when done is called, and when End is.
func (l *Link) Connection(ctx context.Context) (connection context.Context, done func()) {
	connection, end := context.WithCancelCause(ctx)
	l.mu.Lock()
	l.end = end
	l.mu.Unlock()
	return connection, func() { end(nil) }
}

// End ends the latest connection, so that another one follows. why is the cause of its context.
func (l *Link) End(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		l.end(why)
	}
}

// Keep calls connect, which returns when a connection has ended, again and again until ctx ends. It returns only a SetupError.
func (l *Link) Keep(ctx context.Context, connect func(ctx context.Context) error) error {
	for ctx.Err() == nil {
		err := connect(ctx)
		established := l.steady != nil
		steady := established && !l.steady.Stop()
		l.steady = nil
		l.connected.Store(false)
		silent := l.attemptEnded()
		if setup, ok := errors.AsType[SetupError](err); ok {
			return setup
		}
		l.CurrentLog().Debug("connection_lost", "error", err)
		switch {
		case ctx.Err() != nil:
			return nil
		case steady:
			l.Pause.Reset()
			continue
		case !established || l.Pause.next > 0: // a single lost connection is normal
			l.CurrentLog().Log(ctx, l.failed(silent, err), "connection_failed", "error", err)
		}
		_ = Sleep(ctx, l.Pause.Next()) // its error ends the loop
	}
	return nil
}

// failed records that no connection could be established or that it did not last. It returns the level at which to log it.
func (l *Link) failed(silent bool, err error) slog.Level {
	if silent || l.Reason == nil { // what was silent is in the log
		return l.failing.Begin()
	}
	return l.begin(l.Reason(err))
}

const (
	maxMessage   = 64 << 20         // bytes of one message
	writeTimeout = 10 * time.Second // of one message
	closeTimeout = time.Second      // for a close frame
	readAhead    = 64               // messages buffered while the loop is busy, so that PINGs are still answered
)

// ErrSilent is why a socket ends on which nothing was received in time.
var ErrSilent = errors.New("the server sent nothing in time")

// Socket is one WebSocket.
type Socket struct {
	ws       *websocket.Conn
	messages chan []byte               // the platform's, in order; closed when nothing more can be read
	err      error                     // why nothing more can be read; set before messages is closed
	writing  sync.Mutex                // the library allows one write at a time
	silence  atomic.Int64              // a duration, see Expect; 0: not called yet
	read     atomic.Pointer[time.Time] // when something was last received
}

// Dial connects. The socket ends with ErrSilent after timeout, unless Expect is called.
func Dial(ctx context.Context, address string, header http.Header, timeout time.Duration) (*Socket, error) {
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: timeout}
	ws, resp, err := dialer.DialContext(ctx, address, header)
	switch {
	case err == nil:
		return NewSocket(ws, timeout), nil
	case resp != nil:
		return nil, fmt.Errorf("the server answered HTTP %d", resp.StatusCode)
	}
	target, wrong := url.Parse(address)
	if wrong != nil {
		return nil, err
	}
	target.Scheme = strings.Replace(target.Scheme, "ws", "http", 1) // by which the library chooses the proxy
	return nil, network.OfProxy(target, err)
}

// NewSocket reads from a connection that is open already, as Dial does.
func NewSocket(ws *websocket.Conn, timeout time.Duration) *Socket {
	s := &Socket{ws: ws, messages: make(chan []byte, readAhead)}
	s.noteRead()
	_ = ws.SetReadDeadline(time.Now().Add(timeout)) // never fails on an open connection, neither do the calls below
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
		defer close(s.messages)
		for {
			_, data, err := ws.ReadMessage()
			if err != nil {
				if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
					err = ErrSilent
				}
				s.err = err
				return
			}
			s.messages <- data
			s.noteRead() // the time in which no one took the message does not count
		}
	}()
	return s
}

// Expect has the socket end with ErrSilent once nothing, not even a PING or PONG, was received for silence.
func (s *Socket) Expect(silence time.Duration) {
	s.silence.Store(int64(silence))
	s.noteRead()
}

func (s *Socket) noteRead() {
	now := time.Now()
	s.read.Store(&now)
	if silence := time.Duration(s.silence.Load()); silence > 0 {
		_ = s.ws.SetReadDeadline(now.Add(silence))
	}
}

// LastRead returns when something was last received, or when the connection was established if nothing was yet.
func (s *Socket) LastRead() time.Time { return *s.read.Load() }

// Ping asks the server for a PONG. It returns no error: a dead connection ends by its silence.
func (s *Socket) Ping() error {
	_ = s.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout))
	return nil
}

// Serve calls receive with each message and tick at each of ticks until one of them fails, ctx ends, or the socket does.
func (s *Socket) Serve(ctx context.Context, ticks <-chan time.Time, tick func() error, receive func(message []byte) error) (err error) {
	for err == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticks:
			err = tick()
		case message, ok := <-s.messages:
			if !ok {
				return fmt.Errorf("the connection was lost: %w", s.err)
			}
			err = receive(message)
		}
	}
	return err
}

// Write sends a message as JSON. It is safe for concurrent use. A failure closes the connection.
func (s *Socket) Write(message any) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.ws.SetWriteDeadline(time.Now().Add(writeTimeout)) // never fails
	err := s.ws.WriteJSON(message)
	if err != nil {
		_ = s.ws.Close() // so that messages is closed
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
	for range s.messages {
	}
}
