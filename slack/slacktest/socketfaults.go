// What a test does to a socket: disconnect it, cut it, freeze it.
package slacktest

import (
	"errors"
	"net"
	"slices"
)

// Sockets returns the open sockets, oldest first. A half-open one counts as open.
func (s *Server) Sockets() []*Socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sockets)
}

// Disconnect sends a disconnect envelope (apis/events-api/using-socket-mode#disconnect) with the
// reason "warning", after which the socket works on for Options.WarnFor, "refresh_requested" or
// "link_disabled", after which it ends at once.
func (k *Socket) Disconnect(reason string) {
	s := k.server
	s.mu.Lock()
	defer s.mu.Unlock()
	k.disconnectLocked(reason)
	if reason != "warning" {
		k.doLocked(k.close)
		return
	}
	s.goLocked(func() {
		if s.sleep(s.opt.WarnFor) {
			s.mu.Lock()
			defer s.mu.Unlock()
			k.doLocked(k.close)
		}
	})
}

func (k *Socket) disconnectLocked(reason string) {
	k.sendLocked(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]string{"host": "applink"}})
}

// SocketModeOff is what the toggle in the app's settings does: every socket is disconnected with
// the reason link_disabled, and apps.connections.open is refused.
func (s *Server) SocketModeOff() {
	s.mu.Lock()
	s.socketMode = false
	s.mu.Unlock()
	for _, k := range s.Sockets() {
		k.Disconnect("link_disabled")
	}
}

// SocketModeOn lets the app connect again.
func (s *Server) SocketModeOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.socketMode = true
}

// Cut ends the connection without a word: no close frame.
func (k *Socket) Cut() { _ = k.conn.NetConn().Close() } // it may be closed already

// CutMidFrame ends the connection in the middle of a message.
func (k *Socket) CutMidFrame() {
	k.server.mu.Lock()
	defer k.server.mu.Unlock()
	k.doLocked(func() error {
		// A text frame that announces 4 096 bytes (RFC 6455, section 5.2) and has 17.
		start := append([]byte{0x81, 126, 0x10, 0x00}, `{"type":"events_a`...)
		_, err := k.conn.NetConn().Write(start)
		return errors.Join(err, net.ErrClosed)
	})
}

// Freeze makes the socket half-open: the connection stays, but nothing comes out of it any more,
// no PING either, and what goes in is lost. Slack does not know, and still sends events there.
func (k *Socket) Freeze() {
	k.server.mu.Lock()
	defer k.server.mu.Unlock()
	k.frozen = true
}

// SendRaw writes any text: an envelope of an unknown type, or what is not JSON.
func (k *Socket) SendRaw(text string) {
	k.server.mu.Lock()
	defer k.server.mu.Unlock()
	k.sendRawLocked([]byte(text))
}
