// Socket Mode: WebSockets and their faults, and envelopes: how an event is sent, acknowledged, or redelivered.

package slacktest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/websocket"

	"cairn/testkit/loopback"
)

// Socket is one open connection of the client.
type Socket struct {
	ID int // from 1, in order of connecting

	server *Server
	out    *loopback.Socket
	deaf   bool // see Deafen; guarded by server.mu
}

// openConnection returns a URL that can be used once (judgement: Slack calls it temporary, and clients request new ones).
func (s *Server) openConnection(args) answer {
	refuseIf(!s.socketMode, "forbidden_team") // judgement: no document names the error
	ticket := s.idLocked("ticket-")
	s.tickets[ticket] = true
	return answer{"url": "ws" + s.http.URL[len("http"):] + "/link/?ticket=" + ticket + "&app_id=" + AppID}
}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	valid := false
	s.do(func() {
		valid = s.tickets[ticket] && s.life.Err() == nil
		if valid {
			s.work.Add(1)
		}
		delete(s.tickets, ticket)
	})
	if !valid {
		http.Error(w, "invalid ticket", http.StatusForbidden)
		return
	}
	defer s.work.Done()
	k := &Socket{server: s}
	_ = loopback.Serve(w, r, s.opt.PingEvery, func(out *loopback.Socket) bool { // how it ends does not matter
		k.out = out
		return s.register(k)
	}, func(data []byte) {
		if !k.out.Frozen.Load() { // otherwise it is lost
			s.acknowledge(k, data)
		}
	})
	s.do(func() { s.sockets = slices.DeleteFunc(s.sockets, func(o *Socket) bool { return o == k }) })
}

func (s *Server) register(k *Socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return false
	}
	s.connected++
	k.ID = s.connected
	if len(s.sockets) >= maxSockets {
		s.complainLocked("more than %d sockets", maxSockets)
		k.sendDisconnect("too_many_websockets") // the reason is as seen in slackapi/bolt-js#2238; that it meets the newest one is a judgement
		k.out.End(websocket.CloseNormalClosure)
		return true
	}
	s.sockets = append(s.sockets, k)
	if s.noHello > 0 {
		s.noHello--
		return true
	}
	k.send(map[string]any{
		"type": "hello", "num_connections": len(s.sockets),
		"connection_info": map[string]string{"app_id": AppID}, "debug_info": map[string]string{"host": "applink"},
	})
	return true
}

func (k *Socket) send(v any) { k.out.Send(loopback.Encode(v)) }

func (k *Socket) sendDisconnect(reason string) {
	k.send(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]string{"host": "applink"}})
}

// maxSockets is how many an app may have (apis/events-api/using-socket-mode#connections).
const maxSockets = 10

// Sockets returns the open sockets, oldest first, including half-open ones.
func (s *Server) Sockets() []*Socket {
	return locked(s, func() []*Socket { return slices.Clone(s.sockets) })
}

// Disconnect: with the reason "warning" the socket works for Options.WarnFor (apis/events-api/using-socket-mode#disconnect).
func (k *Socket) Disconnect(reason string) {
	s := k.server
	k.sendDisconnect(reason)
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

// NoHello opens the next n sockets and sends no hello, as a server or proxy does that accepts a connection and is stuck. Slack
// promises one on each socket (apis/events-api/using-socket-mode).
func (s *Server) NoHello(n int) { s.do(func() { s.noHello = n }) }

// SocketMode turns the toggle in the app's settings on or off: then apps.connections.open is rejected.
func (s *Server) SocketMode(on bool) { s.do(func() { s.socketMode = on }) }

// Cut ends the connection without a close frame.
func (k *Socket) Cut() { _ = k.out.Close() } // it may already be closed

// Freeze makes the socket half-open: nothing is sent, and what comes is lost. Slack does not notice, and still sends events there.
func (k *Socket) Freeze() { k.out.Frozen.Store(true) }

// Deafen makes the socket deliver nothing, though it answers PINGs: what Slack sends there is lost on the way. Slack takes it for
// acknowledged (judgement: no document describes it).
func (k *Socket) Deafen() { k.server.do(func() { k.deaf = true }) }

// SendRaw sends any text, such as an envelope of an unknown type, or invalid JSON.
func (k *Socket) SendRaw(text string) { k.out.Send([]byte(text)) }

// Types of envelopes (apis/events-api/using-socket-mode#events).
const (
	kindEvent       = "events_api"
	kindCommand     = "slash_commands"
	kindInteractive = "interactive"
)

// maxAck: from 20 KB on Slack ignores client messages (observed by the authors of slack-go and of Slack's Node SDK).
const maxAck = 20 * 1024

// Delivery is one envelope that was sent, or for which no socket was open.
type Delivery struct {
	Kind       string // events_api, slash_commands or interactive
	EnvelopeID string
	EventID    string // only of events; the same in every redelivery
	Attempt    int    // from 0
	Socket     int    // 0: no socket was open
	Payload    json.RawMessage
	Sent       time.Time
	Acked      time.Time // zero: not acknowledged

	answered func(response json.RawMessage) // called with the payload of the acknowledgement; nil: it may have none
	avoid    int                            // the socket of the attempt before; 0: there was none
	acked    chan struct{}
}

// deliverLocked: an event is sent again until it is acknowledged (apis/events-api#retries), a command or a click is not.
func (s *Server) deliverLocked(kind, eventID string, payload json.RawMessage, answered ...func(response json.RawMessage)) {
	first := Delivery{Kind: kind, EventID: eventID, Payload: payload}
	if len(answered) > 0 {
		first.answered = answered[0]
	}
	d := s.attemptLocked(first)
	s.goLocked(func() {
		for !s.acknowledged(d) {
			if kind != kindEvent || d.Attempt == len(s.opt.Redeliver) || !s.sleep(context.Background(), s.opt.Redeliver[d.Attempt]) {
				return
			}
			s.do(func() {
				d = s.attemptLocked(Delivery{Kind: kind, EventID: eventID, Payload: payload, Attempt: d.Attempt + 1, avoid: d.Socket})
			})
		}
	})
}

// acknowledged waits for the acknowledgement. Without a socket it returns false immediately.
func (s *Server) acknowledged(d *Delivery) bool {
	return d.Socket != 0 && !loopback.Sleep(s.life, d.acked, s.opt.AckWithin)
}

// attemptLocked: Slack chooses any open socket (apis/events-api/using-socket-mode#connections). The double takes turns, and sends again
// over another socket, if there is one (judgement: no document says where a retry goes; "any of the active connections", says a maintainer
// in slackapi/bolt-python#1071).
func (s *Server) attemptLocked(d Delivery) *Delivery {
	d.EnvelopeID = s.idLocked("envelope-")
	d.Sent = time.Now()
	d.acked = make(chan struct{})
	s.deliveries = append(s.deliveries, &d)
	s.envelopes[d.EnvelopeID] = &d
	if len(s.sockets) == 0 {
		return &d
	}
	s.turn++
	k := s.sockets[s.turn%len(s.sockets)]
	if k.ID == d.avoid {
		s.turn++
		k = s.sockets[s.turn%len(s.sockets)]
	}
	d.Socket = k.ID
	if k.deaf {
		close(d.acked)
		return &d
	}
	k.send(map[string]any{
		"type": d.Kind, "envelope_id": d.EnvelopeID, "payload": d.Payload, "retry_attempt": d.Attempt,
		"accepts_response_payload": d.Kind != kindEvent, // a response payload of events is not supported
	})
	return &d
}

// Repeat sends an acknowledged event again: Slack guarantees at-least-once delivery, not exactly-once.
func (s *Server) Repeat(eventID string) {
	s.do(func() {
		i := slices.IndexFunc(s.deliveries, func(d *Delivery) bool { return d.EventID == eventID })
		s.deliverLocked(kindEvent, eventID, s.deliveries[i].Payload)
	})
}

func (s *Server) acknowledge(k *Socket, data []byte) {
	var ack struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	err := json.Unmarshal(data, &ack)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch d := s.envelopes[ack.EnvelopeID]; {
	case len(data) > maxAck:
		s.complainLocked("acknowledgement of %d bytes ignored: the limit is %d", len(data), maxAck)
	case err != nil:
		s.complainLocked("not an acknowledgement: %v", err)
	case d == nil:
		s.complainLocked("acknowledgement of the unknown envelope %q", ack.EnvelopeID)
	case d.Socket != k.ID:
		s.complainLocked("%s acknowledged over another socket", d.EnvelopeID)
	case !d.Acked.IsZero():
		s.complainLocked("%s acknowledged twice", d.EnvelopeID)
	default:
		d.Acked = time.Now()
		if late := d.Acked.Sub(d.Sent); late > s.opt.AckWithin {
			s.complainLocked("%s acknowledged after %v", d.EnvelopeID, late.Round(time.Millisecond))
		}
		close(d.acked)
		if d.answered != nil {
			d.answered(ack.Payload)
		} else if len(ack.Payload) > 0 && string(ack.Payload) != "null" {
			s.complainLocked("%s acknowledged with a payload", d.EnvelopeID)
		}
	}
}

func (s *Server) complainLocked(format string, args ...any) {
	s.complaints = append(s.complaints, fmt.Sprintf(format, args...))
}
