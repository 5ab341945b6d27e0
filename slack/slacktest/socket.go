// Sockets: the WebSocket side of Socket Mode, and its faults.
package slacktest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/websocket"

	"cairn/internal/loopback"
)

// Socket is one open connection of the client.
type Socket struct {
	ID int // from 1, in order of connecting

	server *Server
	out    *loopback.Socket
	gone   chan struct{} // closed when reading has ended
}

// openConnection handles apps.connections.open: it returns a URL that can be used once (judgement:
// Slack calls it temporary, and clients request a new one each time).
func (s *Server) openConnection(args) answer {
	refuseIf(!s.socketMode, "forbidden_team") // judgement: no document names the error
	ticket := s.idLocked("ticket-")
	s.tickets[ticket] = true
	return answer{"url": "ws" + s.http.URL[len("http"):] + "/link/?ticket=" + ticket + "&app_id=" + AppID}
}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	if f := s.faultFor("socket"); !s.sleep(r.Context(), f.Delay) || f.spoils() {
		f.reply().Write(w)
		return
	}
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	valid := s.tickets[ticket] && !s.closed
	delete(s.tickets, ticket)
	if valid {
		s.work.Add(1)
	}
	s.mu.Unlock()
	if !valid {
		http.Error(w, "invalid ticket", http.StatusForbidden)
		return
	}
	defer s.work.Done()
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has responded
	}
	defer conn.Close()
	k := &Socket{server: s, out: loopback.NewSocket(conn), gone: make(chan struct{})}
	if s.register(k) {
		k.read()
		s.remove(k)
	}
}

// register adds a socket and sends hello.
func (s *Server) register(k *Socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.connected++
	k.ID = s.connected
	s.goLocked(k.write)
	s.sockets = append(s.sockets, k)
	k.send(map[string]any{
		"type": "hello", "num_connections": len(s.sockets),
		"connection_info": map[string]string{"app_id": AppID},
		"debug_info":      map[string]any{"host": fmt.Sprintf("applink-%d", k.ID), "approximate_connection_time": 18060},
	})
	return true
}

func (s *Server) remove(k *Socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets = slices.DeleteFunc(s.sockets, func(o *Socket) bool { return o == k })
	close(k.gone)
}

// read handles acknowledgements until the connection ends. A frozen socket discards them.
func (k *Socket) read() {
	for {
		_, data, err := k.out.ReadMessage()
		if err != nil {
			return
		}
		if !k.out.Frozen() {
			k.server.acknowledge(data)
		}
	}
}

// write writes the outbox and PINGs until the connection ends.
func (k *Socket) write() {
	var ping <-chan time.Time
	if every := k.server.opt.PingEvery; every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		ping = ticker.C
	}
	k.out.Write(ping, k.gone)
}

func (k *Socket) send(v any) { k.out.Send(loopback.Encode(v)) }

// Sockets returns the open sockets, oldest first, including half-open ones.
func (s *Server) Sockets() []*Socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sockets)
}

// Disconnect sends a disconnect envelope (apis/events-api/using-socket-mode#disconnect). With the
// reason "warning" the socket works for another Options.WarnFor; with "refresh_requested" or
// "link_disabled" it ends immediately.
func (k *Socket) Disconnect(reason string) {
	s := k.server
	k.send(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]string{"host": "applink"}})
	if reason != "warning" {
		k.out.End(websocket.CloseNormalClosure)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.goLocked(func() {
		if s.sleep(context.Background(), s.opt.WarnFor) {
			k.out.End(websocket.CloseNormalClosure)
		}
	})
}

// SocketModeOff turns off the toggle in the app's settings: every socket is disconnected with the
// reason link_disabled, and apps.connections.open is rejected.
func (s *Server) SocketModeOff() {
	s.mu.Lock()
	s.socketMode = false
	s.mu.Unlock()
	for _, k := range s.Sockets() {
		k.Disconnect("link_disabled")
	}
}

// SocketModeOn allows the app to connect again.
func (s *Server) SocketModeOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.socketMode = true
}

// Cut ends the connection without a close frame.
func (k *Socket) Cut() { _ = k.out.Close() } // it may already be closed

// Freeze makes the socket half-open: the connection stays open, but nothing is sent any more, not
// even a PING, and everything received is lost. Slack does not notice, and still sends events
// there.
func (k *Socket) Freeze() { k.out.Freeze() }

// SendRaw sends any text, such as an envelope of an unknown type, or invalid JSON.
func (k *Socket) SendRaw(text string) { k.out.Send([]byte(text)) }
