// Events: each goes to the lane of its channel, and is acknowledged when it is kept.

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
)

// takeEvent hands an event to the lane of its channel. ack is called when it is on
// disk, or is nothing to keep. One that comes again while it waits is not taken twice.
func (s *Slack) takeEvent(ctx context.Context, payload json.RawMessage, ack func()) {
	m, id, ok := readEvent(payload)
	if !ok || m.Type != slackgo.TYPE_MESSAGE && m.Type != "app_mention" {
		ack()
		return
	}
	if id == "" { // a compatible server may leave it out
		id = string(payload)
	}
	if !s.pendingAcks.add(id, ack) {
		return
	}
	if !s.queue.Offer(m.Channel, &event{ctx: ctx, id: id, Message: m, members: membersOf(payload)}) {
		s.pendingAcks.take(id)
		s.retryLater(m) // not acknowledged: it comes again, or is read from the history
	}
}

// waiting holds the acknowledgements of events that are in a lane, by event id.
type pendingAcks struct {
	mu   sync.Mutex // guards acks
	acks map[string][]func()
}

// first adds an acknowledgement and tells whether it is the first of its event.
func (w *pendingAcks) add(id string, ack func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.acks == nil {
		w.acks = make(map[string][]func())
	}
	w.acks[id] = append(w.acks[id], ack)
	return len(w.acks[id]) == 1
}

// take returns the acknowledgements of an event, once.
func (w *pendingAcks) take(id string) []func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	acks := w.acks[id]
	delete(w.acks, id)
	return acks
}

// readEvent reads the message of an event, and the event's id. What of it is not
// understood, and is not needed, is left out.
func readEvent(payload json.RawMessage) (m slackgo.Message, id string, ok bool) {
	var outer struct {
		ID    string          `json:"event_id"`
		Event json.RawMessage `json:"event"`
	}
	if json.Unmarshal(payload, &outer) != nil {
		return m, "", false
	}
	_, m, ok = readable(outer.Event)
	return m, outer.ID, ok && m.Channel != ""
}

// event is what Slack told about a message.
type event struct {
	ctx context.Context // of the door
	id  string
	slackgo.Message

	members members // of its channel

	read  bool // what follows is known
	place channel.Place
	said  channel.Inbound
	heard bool
}

// handle does what events of one lane tell, in order.
func (s *Slack) handle(batch []*event) {
	for len(batch) > 0 {
		n, err := s.handleFirst(batch)
		for _, e := range batch[:n] {
			done := s.handled(e, err)
			for _, ack := range s.pendingAcks.take(e.id) {
				if done {
					ack()
				}
			}
		}
		batch = batch[n:]
	}
}

// some does what the first event tells, and how many it did: messages of one
// conversation that follow each other go to the disk together, or a burst would be
// acknowledged too late.
func (s *Slack) handleFirst(batch []*event) (n int, err error) {
	first := batch[0]
	switch first.SubType {
	case slackgo.MsgSubTypeMessageChanged:
		return 1, s.changed(first.ctx, first.Message)
	case slackgo.MsgSubTypeMessageDeleted:
		return 1, s.deleted(first.ctx, first.Message)
	}
	var said []channel.Inbound
	for _, e := range batch {
		if e.SubType == slackgo.MsgSubTypeMessageChanged || e.SubType == slackgo.MsgSubTypeMessageDeleted {
			break
		}
		if !e.read {
			e.place, e.said, e.heard = s.inbound(e.Channel, e.Message)
			e.said.Audience, e.said.Label = e.members.audience(e.place), s.label(e.place, e.said.Author)
			e.read = true
		}
		if e.heard && (e.place != first.place || isCommand(e.said)) {
			break
		}
		if e.heard {
			said = append(said, e.said)
		} else if n == 0 {
			return 1, nil
		}
		n++
	}
	if n == 0 {
		s.takeLine(first.ctx, first.place, first.said)
		return 1, nil
	}
	return n, s.hub.DeliverAll(first.ctx, first.place.String(), said)
}

// kept tells whether what an event told is done for good.
func (s *Slack) handled(e *event, err error) bool {
	switch {
	case err == nil:
		s.storeIncident.End()
		return true
	case errors.Is(err, channel.ErrRefused):
		return true
	case e.ctx.Err() == nil && !errors.Is(err, channel.ErrClosed):
		s.storeIncident.Begin(err)
		s.retryLater(e.Message)
		s.hub.Undelivered(e.ctx, e.place.String(), e.said, err)
	}
	return false
}

// changed tells of an edit. A change in which nobody changed the text, as when a
// link gets a preview, is none; and the bot edits its own messages.
func (s *Slack) changed(ctx context.Context, m slackgo.Message) error {
	now, before := m.SubMessage, m.PreviousMessage
	if now == nil || now.Timestamp == "" {
		return nil
	}
	if now.SubType == "tombstone" {
		return s.hub.Delete(ctx, s.placeOf(m.Channel, *now).String(), now.Timestamp)
	}
	if before != nil && before.Text == now.Text || before == nil && now.Edited == nil {
		return nil
	}
	place, in, heard := s.inbound(m.Channel, slackgo.Message{Msg: *now})
	if !heard {
		return nil
	}
	in.Time = timeOf(m.Timestamp)
	if now.Edited != nil { // in whole seconds, in which somebody may edit twice
		if told := timeOf(now.Edited.Timestamp); m.Timestamp == "" || told.After(in.Time) {
			in.Time = told
		}
	}
	// An edit is not asked for again, so the names are looked up here; nearly all are
	// known from the message as it was.
	brief, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	in.Text = s.named(brief, in.Text)
	return s.hub.Edit(ctx, place.String(), in)
}

// deleted tells of a deletion.
func (s *Slack) deleted(ctx context.Context, m slackgo.Message) error {
	gone := slackgo.Msg{Timestamp: m.DeletedTimestamp}
	if m.PreviousMessage != nil {
		gone = *m.PreviousMessage
		gone.Timestamp = m.DeletedTimestamp
	}
	if gone.Timestamp == "" {
		return nil
	}
	return s.hub.Delete(ctx, s.placeOf(m.Channel, gone).String(), gone.Timestamp)
}
