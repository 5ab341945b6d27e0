// Envelopes: how an event is sent to a socket, acknowledged, or redelivered.
package slacktest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Types of envelopes (apis/events-api/using-socket-mode#events).
const (
	kindEvent       = "events_api"
	kindCommand     = "slash_commands"
	kindInteractive = "interactive"
)

// maxAck is the size of client messages from which Slack silently ignores them: 20 KB (observed by
// the authors of slack-go, socketmode.go, and of Slack's Node SDK).
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
	Acked      time.Time       // zero: not acknowledged
	Answer     json.RawMessage // payload of the acknowledgement

	acked chan struct{}
}

// deliverLocked sends an envelope. An event is sent again in new envelopes until it is acknowledged
// (apis/events-api#retries). A command or a click is not sent again: the person sees that it
// failed.
func (s *Server) deliverLocked(kind, eventID string, payload json.RawMessage) {
	d := s.attemptLocked(Delivery{Kind: kind, EventID: eventID, Payload: payload})
	s.goLocked(func() {
		for !s.acknowledged(d) {
			if kind != kindEvent || d.Attempt == len(s.opt.Redeliver) || !s.sleep(context.Background(), s.opt.Redeliver[d.Attempt]) {
				return
			}
			s.mu.Lock()
			d = s.attemptLocked(Delivery{Kind: kind, EventID: eventID, Payload: payload, Attempt: d.Attempt + 1})
			s.mu.Unlock()
		}
	})
}

// acknowledged waits for the acknowledgement. Without a socket it returns false immediately.
func (s *Server) acknowledged(d *Delivery) bool {
	if d.Socket == 0 {
		return false
	}
	timer := time.NewTimer(s.opt.AckWithin)
	defer timer.Stop()
	select {
	case <-d.acked:
		return true
	case <-s.done:
		return true
	case <-timer.C:
		return false
	}
}

// attemptLocked sends one envelope to one of the open sockets: Slack chooses any, the double takes
// turns (apis/events-api/using-socket-mode#connections).
func (s *Server) attemptLocked(d Delivery) *Delivery {
	d.EnvelopeID, d.Sent, d.acked = s.idLocked("envelope-"), time.Now(), make(chan struct{})
	s.deliveries = append(s.deliveries, &d)
	s.envelopes[d.EnvelopeID] = &d
	if len(s.sockets) == 0 {
		return &d
	}
	s.turn++
	k := s.sockets[s.turn%len(s.sockets)]
	d.Socket = k.ID
	envelope := map[string]any{
		"type": d.Kind, "envelope_id": d.EnvelopeID, "payload": d.Payload,
		"accepts_response_payload": d.Kind != kindEvent, // a response payload of events is not supported
	}
	if d.Kind == kindEvent {
		envelope["retry_attempt"], envelope["retry_reason"] = d.Attempt, ""
		if d.Attempt > 0 {
			envelope["retry_reason"] = "timeout"
		}
	}
	k.send(envelope)
	return &d
}

// Repeat sends an event again although it was acknowledged: Slack guarantees at-least-once
// delivery, not exactly-once. It panics if there was no such event.
func (s *Server) Repeat(eventID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.deliveries {
		if d.EventID == eventID {
			s.deliverLocked(d.Kind, d.EventID, d.Payload)
			return
		}
	}
	panic("slacktest: no event " + eventID)
}

// acknowledge handles a client message on a socket.
func (s *Server) acknowledge(data []byte) {
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
	case !d.Acked.IsZero():
		s.complainLocked("%s acknowledged twice", d.EnvelopeID)
	default:
		d.Acked, d.Answer = time.Now(), ack.Payload
		if late := d.Acked.Sub(d.Sent); late > s.opt.AckWithin {
			s.complainLocked("%s acknowledged after %v", d.EnvelopeID, late.Round(time.Millisecond))
		}
		close(d.acked)
		if len(ack.Payload) > 0 && string(ack.Payload) != "null" {
			s.complainLocked("%s acknowledged with a payload", d.EnvelopeID)
		}
	}
}

func (s *Server) complainLocked(format string, args ...any) {
	s.complaints = append(s.complaints, fmt.Sprintf(format, args...))
}
