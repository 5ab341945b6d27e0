// Faults of the gateway on demand.
package discordtest

import (
	"encoding/json"

	"github.com/bwmarrin/discordgo"
)

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
		c.push(packet(h.Op, false))
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
	s.onEach(func(_ *world, c *connection) { c.push(packet(opReconnect, nil)) })
}

// Invalidate sends op 9. Unless resumable is true, the session is forgotten, and an IDENTIFY on the
// same connection starts another.
func (s *Server) Invalidate(resumable bool) {
	s.onEach(func(w *world, c *connection) {
		if c.session != nil && !resumable {
			delete(w.sessions, c.session.id)
			c.session = nil
		}
		c.push(packet(opInvalidSession, resumable))
	})
}

// Disconnect closes each connection with a code, after its queued frames. 4009 ends the session;
// after 4007, every RESUME of it is answered with 4007.
func (s *Server) Disconnect(code int) {
	s.onEach(func(w *world, c *connection) {
		switch {
		case c.session == nil:
		case code == CloseSessionTimeout:
			delete(w.sessions, c.session.id)
		case code == CloseInvalidSeq:
			c.session.broken = true
		}
		c.push(frame{close: code})
	})
}

// Cut ends each connection without a close frame, after its queued frames; the sessions can be
// resumed.
func (s *Server) Cut() {
	s.onEach(func(_ *world, c *connection) { c.push(frame{cut: true}) })
}

// HalfOpen makes each connection read but no longer send, not even acknowledgements of heartbeats.
func (s *Server) HalfOpen() {
	s.onEach(func(_ *world, c *connection) { c.silent = true })
}

// Forget forgets all sessions, as after a long absence: RESUME gets op 9. A connected client stays
// connected until it is cut, but gets no more events.
func (s *Server) Forget() { s.do(func(w *world) { clear(w.sessions) }) }

// Drop loses the next n events: they use sequence numbers, and only a RESUME from before them
// delivers them.
func (s *Server) Drop(n int) { s.do(func(w *world) { w.drop += n }) }

// Repeat dispatches the last n events again with new sequence numbers: Discord guarantees
// at-least-once delivery, not exactly-once.
func (s *Server) Repeat(n int) {
	s.do(func(w *world) {
		for _, session := range w.sessions {
			for _, raw := range session.sent[max(0, len(session.sent)-n):] {
				var p discordgo.Event
				if err := json.Unmarshal(raw, &p); err != nil {
					panic(err)
				}
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
		c.push(frame{close: CloseAuthFailed})
	}
}
