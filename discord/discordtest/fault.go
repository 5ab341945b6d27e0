// Faults of the gateway that a test asks for.
package discordtest

import "encoding/json"

// Handshake is how one connection to the gateway goes wrong at its beginning.
type Handshake struct {
	Refuse      int  // the HTTP status instead of a WebSocket, 503 for instance
	SilentHello bool // the socket opens and nothing is said
	SilentReady bool // IDENTIFY and RESUME are not answered; heartbeats are
	Op          int  // 7 or 9: the answer to IDENTIFY or RESUME
	Close       int  // the close code that answers IDENTIFY or RESUME
}

// disturbed plays the connection's Handshake, once, in place of READY or
// RESUMED.
func (c *connection) disturbed() (done bool, code int) {
	h := c.handshake
	c.handshake = Handshake{}
	switch {
	case h.SilentReady:
	case h.Op == opReconnect, h.Op == opInvalidSession:
		c.push(frame{data: encode(packet{Op: h.Op, Data: encode(false)})})
	case h.Close != 0:
		return true, h.Close
	default:
		return false, 0
	}
	return true, 0
}

// Handshakes are taken by the next connections, one each; those that follow are
// sound again.
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

func (s *Server) sendEach(p packet) {
	s.onEach(func(_ *world, c *connection) { c.push(frame{data: encode(p)}) })
}

// Reconnect sends op 7: the client shall reconnect and resume.
func (s *Server) Reconnect() { s.sendEach(packet{Op: opReconnect}) }

// Invalidate sends op 9. Unless the session is resumable it is forgotten, and
// an IDENTIFY on the same connection begins another.
func (s *Server) Invalidate(resumable bool) {
	s.onEach(func(w *world, c *connection) {
		if c.session != nil && !resumable {
			delete(w.sessions, c.session.id)
			c.session = nil
		}
		c.push(frame{data: encode(packet{Op: opInvalidSession, Data: encode(resumable)})})
	})
}

// Disconnect closes each connection with a code, after what is queued for it.
// 4009 ends the session; after 4007 each RESUME of it is answered with 4007.
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

// Cut ends each connection without a word, after what is queued for it; the
// sessions can be resumed.
func (s *Server) Cut() {
	s.onEach(func(_ *world, c *connection) { c.push(frame{cut: true}) })
}

// HalfOpen makes each connection read on but send nothing any more, not even a
// heartbeat's acknowledgement.
func (s *Server) HalfOpen() {
	s.onEach(func(_ *world, c *connection) { c.silent = true })
}

// Forget forgets all sessions, as after a long absence: RESUME gets op 9. A client that
// is connected stays so until it is cut, and hears of nothing any more.
func (s *Server) Forget() { s.do(func(w *world) { clear(w.sessions) }) }

// Drop makes the next n events vanish: they take their sequence numbers, and
// only a RESUME from before them brings them back.
func (s *Server) Drop(n int) { s.do(func(w *world) { w.drop += n }) }

// Repeat dispatches the last n events once more, under new sequence numbers:
// Discord promises each event at least once, not exactly once.
func (s *Server) Repeat(n int) {
	s.do(func(w *world) {
		for _, session := range w.sessions {
			for _, raw := range session.sent[max(0, len(session.sent)-n):] {
				var p packet
				if err := json.Unmarshal(raw, &p); err != nil {
					panic(err)
				}
				w.tell(session, event{name: p.Type, data: p.Data})
			}
		}
	})
}

// Dispatch sends any event to every session, of a known type or not.
func (s *Server) Dispatch(name string, data any) {
	s.do(func(w *world) { w.dispatch(event{name: name, data: data}) })
}

// ResetToken makes the token worthless: every session ends with 4004, and REST
// answers 401.
func (s *Server) ResetToken() { s.do(func(w *world) { w.resetToken() }) }

func (w *world) resetToken() {
	w.tokenReset = true
	clear(w.sessions)
	for c := range w.open {
		c.push(frame{close: CloseAuthFailed})
	}
}
