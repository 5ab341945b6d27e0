// A connection is one WebSocket of the gateway, which can fail on demand.

package discordtest

import (
	"errors"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"cairn/testkit/loopback"
)

// Gateway opcodes (Discord, Opcodes and Status Codes: Gateway Opcodes).
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

type connection struct {
	*loopback.Socket
	version   string
	handshake Handshake
	record    *Connection
	session   *session
	window    time.Time // start of the window for the limit of 120 packets per minute
	inWindow  int
}

func (w *world) gatewayURL() string { return "ws" + w.url[len("http"):] } // without a path, as Discord's

func (s *Server) serveGateway(rw http.ResponseWriter, r *http.Request) {
	var h Handshake
	s.do(func(w *world) {
		if len(w.handshakes) > 0 {
			h = w.handshakes[0]
			w.handshakes = w.handshakes[1:]
		}
	})
	if h.Refuse != 0 {
		http.Error(rw, http.StatusText(h.Refuse), h.Refuse)
		return
	}
	query := r.URL.Query()
	c := &connection{version: query.Get("v"), handshake: h, record: &Connection{Path: r.URL.Path}, window: time.Now()}
	err := loopback.Serve(rw, r, 0, func(k *loopback.Socket) bool {
		c.Socket = k
		return s.attach(c, query.Get("encoding"))
	}, func(data []byte) {
		s.do(func(w *world) {
			if code := w.received(c, data); code != 0 {
				c.End(code)
			}
		})
	})
	s.do(func(w *world) {
		if _, attached := w.open[c]; !attached {
			return
		}
		defer s.sockets.Done()
		w.ended(c, err)
		delete(w.open, c)
		if c.session != nil && c.session.conn == c {
			c.session.conn = nil
		}
	})
}

// attach registers a connection and sends HELLO (Discord, Gateway: Hello Event; Gateway URL Query String Params). A
// client without timely heartbeats is disconnected and may resume (Discord, Gateway: Heartbeat Interval).
func (s *Server) attach(c *connection, encoding string) (ok bool) {
	s.do(func(w *world) {
		ok = s.life.Err() == nil
		if !ok {
			return
		}
		s.sockets.Add(1)
		w.open[c] = struct{}{}
		w.connections = append(w.connections, c.record)
		_ = c.SetReadDeadline(time.Now().Add(s.options.HeartbeatWithin))
		switch {
		case c.version != "9" && c.version != "10":
			c.End(4012) // invalid API version
		case encoding != "json": // the double does not support etf
			c.End(4002)
		case !c.handshake.SilentHello:
			hello := map[string]any{"heartbeat_interval": w.options.Heartbeat.Milliseconds()}
			c.Send(packet(opHello, hello))
		}
	})
	return ok
}

// ended: closing with 1000 or 1001 ends the session, else it can be resumed (Discord, Gateway: Initiating a Disconnect).
func (w *world) ended(c *connection, err error) {
	var code *websocket.CloseError
	if !errors.As(err, &code) || c.Ending.Load() {
		return
	}
	c.record.ClientClose = code.Code
	gaveUp := code.Code == websocket.CloseNormalClosure || code.Code == websocket.CloseGoingAway
	if gaveUp && c.session != nil {
		delete(w.sessions, c.session.id)
	}
}

// Handshake is how one connection to the gateway fails at its start.
type Handshake struct {
	Refuse      int  // HTTP status instead of a WebSocket, such as 503
	SilentHello bool // the socket opens, but no HELLO is sent
	SilentReady bool // IDENTIFY and RESUME are not answered; heartbeats are
	Op          int  // 7 or 9: the response to IDENTIFY or RESUME
	Close       int  // close code in response to IDENTIFY or RESUME
}

// playHandshake applies the connection's Handshake, once, instead of READY or RESUMED.
func (c *connection) playHandshake() (done bool, code int) {
	h := c.handshake
	c.handshake = Handshake{}
	switch {
	case h.SilentReady:
	case h.Op == opReconnect, h.Op == opInvalidSession:
		c.Send(packet(h.Op, false))
	case h.Close != 0:
		return true, h.Close
	default:
		return false, 0
	}
	return true, 0
}

// Handshakes sets the faults of the next connections, one each; later connections succeed.
func (s *Server) Handshakes(h ...Handshake) {
	s.do(func(w *world) { w.handshakes = append(w.handshakes, h...) })
}

func (s *Server) onEach(f func(w *world, c *connection)) {
	s.do(func(w *world) {
		for c := range w.open {
			f(w, c)
		}
	})
}

// Reconnect sends op 7: the client should reconnect and resume.
func (s *Server) Reconnect() {
	s.onEach(func(_ *world, c *connection) { c.Send(packet(opReconnect, nil)) })
}

// Invalidate sends op 9. Unless resumable is true the session is forgotten, and IDENTIFY may start another.
func (s *Server) Invalidate(resumable bool) {
	s.onEach(func(w *world, c *connection) { w.invalidate(c, resumable) })
}

func (w *world) invalidate(c *connection, resumable bool) {
	if c.session != nil && !resumable {
		delete(w.sessions, c.session.id)
		c.session = nil
	}
	c.Send(packet(opInvalidSession, resumable))
}

// Disconnect closes each connection with a code. 4009 ends the session; after 4007 every RESUME of it gets 4007.
func (s *Server) Disconnect(code int) {
	s.onEach(func(w *world, c *connection) {
		switch {
		case c.session == nil:
		case code == 4009: // session timed out
			delete(w.sessions, c.session.id)
		case code == 4007: // invalid seq
			c.session.broken = true
		}
		c.End(code)
	})
}

// Cut ends each connection without a close frame, after its queued frames; the sessions can be resumed.
func (s *Server) Cut() { s.onEach(func(_ *world, c *connection) { c.Cut() }) }

// HalfOpen makes each connection read but no longer send, not even acknowledgements of heartbeats.
func (s *Server) HalfOpen() { s.onEach(func(_ *world, c *connection) { c.Frozen.Store(true) }) }

// Forget forgets all sessions: RESUME gets op 9. A connected client stays connected, but gets no more events.
func (s *Server) Forget() { s.do(func(w *world) { clear(w.sessions) }) }

// Drop loses the next n events: they use sequence numbers, and only a RESUME from before them delivers them.
func (s *Server) Drop(n int) { s.do(func(w *world) { w.drop += n }) }

// Repeat dispatches the last n events again, as new ones: Discord guarantees at-least-once delivery, not exactly-once.
func (s *Server) Repeat(n int) {
	s.do(func(w *world) {
		for _, session := range w.sessions {
			for _, p := range session.sent[max(0, len(session.sent)-n):] {
				w.send(session, event{name: p.Type, data: p.RawData})
			}
		}
	})
}

// Dispatch sends an event of any type to every session.
func (s *Server) Dispatch(name string, data any) {
	s.do(func(w *world) { w.dispatch(event{name: name, data: data}) })
}

// ResetToken invalidates the token: every session ends with 4004, and REST responds 401.
func (s *Server) ResetToken() { s.do(func(w *world) { w.resetToken() }) }

func (w *world) resetToken() {
	w.tokenReset = true
	clear(w.sessions)
	for c := range w.open {
		c.End(4004)
	}
}
