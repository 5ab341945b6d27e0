// Envelopes: how an event reaches a socket, is acknowledged there, or comes again.
package slacktest

import (
	"encoding/json"
	"fmt"
	"time"
)

// The kinds of envelope (apis/events-api/using-socket-mode#events).
const (
	kindEvent       = "events_api"
	kindCommand     = "slash_commands"
	kindInteractive = "interactive"
)

// maxAck is the size from which Slack silently ignores what a client writes: 20 KB (seen by the
// authors of slack-go, socketmode.go, and of Slack's Node SDK).
const maxAck = 20 * 1024

// Delivery is one envelope that was sent, or that found no socket.
type Delivery struct {
	Kind       string // events_api, slash_commands or interactive
	EnvelopeID string
	EventID    string // events only; the same in every repetition
	Attempt    int    // from 0
	Socket     int    // 0 where no socket was open
	Payload    json.RawMessage
	Sent       time.Time
	Acked      time.Time       // zero: not acknowledged
	Answer     json.RawMessage // the payload of the acknowledgement

	acked chan struct{}
}

// deliverLocked sends an envelope and, if it is an event, sends it again in another envelope as
// long as nobody acknowledges it (apis/events-api#retries). A command or a click is not repeated:
// the person sees that it failed.
func (s *Server) deliverLocked(kind, eventID string, payload json.RawMessage) {
	d := s.attemptLocked(Delivery{Kind: kind, EventID: eventID, Payload: payload})
	s.goLocked(func() {
		for !s.acknowledged(d) {
			if kind != kindEvent || d.Attempt == len(s.opt.Redeliver) || !s.sleep(s.opt.Redeliver[d.Attempt]) {
				return
			}
			s.mu.Lock()
			d = s.attemptLocked(Delivery{Kind: kind, EventID: eventID, Payload: payload, Attempt: d.Attempt + 1})
			s.mu.Unlock()
		}
	})
}

// acknowledged waits for the acknowledgement. Without a socket there is none to wait for.
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

// attemptLocked hands one envelope to one of the open sockets: any of them, here in turn
// (apis/events-api/using-socket-mode#connections).
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
		"accepts_response_payload": d.Kind != kindEvent, // which is not supported here
	}
	if d.Kind == kindEvent {
		envelope["retry_attempt"], envelope["retry_reason"] = d.Attempt, ""
		if d.Attempt > 0 {
			envelope["retry_reason"] = "timeout"
		}
	}
	k.sendLocked(envelope)
	return &d
}

// Repeat sends an event once more though it was acknowledged: Slack promises no less than one
// delivery, not just one. It panics if there was no such event.
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

// acknowledge takes what a client wrote on a socket.
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
