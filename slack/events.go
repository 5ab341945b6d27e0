// Events: each is queued by channel and acknowledged when it is stored; what cannot be stored is read from history later.

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

// takeEvent queues an event. ack is called when it is on disk, or there is nothing to store. An event
// that is repeated while it is queued is not queued twice.
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
		s.retryLater(m) // not acknowledged: Slack repeats it, or it is read from history
	}
}

// pendingAcks holds the acknowledgements of events that are in a queue, by event id.
type pendingAcks struct {
	mu   sync.Mutex // guards acks
	acks map[string][]func()
}

// add adds an acknowledgement and reports whether it is the first of its event.
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

// readEvent reads the message of an event, and the event's id. It ignores fields in an unknown form.
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

// event is a queued event about a message.
type event struct {
	ctx context.Context // of the connector
	id  string
	slackgo.Message

	members members // of its channel

	read     bool // what follows is known
	place    channel.Place
	said     channel.Inbound
	relevant bool
}

// handle handles events of one channel, in order.
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

// handleFirst handles the first event and returns how many it handled: consecutive messages of one
// conversation are stored together, or a burst would be acknowledged too late.
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
			e.place, e.said, e.relevant = s.inbound(e.Channel, e.Message)
			e.said.Audience, e.said.Label = e.members.audience(e.place), s.label(e.place, e.said.Author)
			if _, gone := s.deletions.Find(e.Channel + "/" + e.Timestamp); gone {
				e.relevant = false
			}
			e.read = true
		}
		if e.relevant && (e.place != first.place || platform.IsCommand(e.said)) {
			break
		}
		if e.relevant {
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

// handled reports whether an event is done and may be acknowledged.
func (s *Slack) handled(e *event, err error) bool {
	switch {
	case err == nil:
		if e.relevant && !platform.IsCommand(e.said) { // a message was stored
			s.storeIncident.End()
		}
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

// changed stores an edit. It ignores changes that leave the text alone, such as link previews, and
// the bot's own edits.
func (s *Slack) changed(ctx context.Context, m slackgo.Message) error {
	now, before := m.SubMessage, m.PreviousMessage
	if now == nil || now.Timestamp == "" {
		return nil
	}
	if now.SubType == "tombstone" {
		return s.delete(ctx, m.Channel, *now)
	}
	if before != nil && before.Text == now.Text || before == nil && now.Edited == nil {
		return nil
	}
	place, in, relevant := s.inbound(m.Channel, slackgo.Message{Msg: *now})
	if !relevant {
		return nil
	}
	in.Time = timeOf(m.Timestamp)
	if now.Edited != nil { // in whole seconds, in which somebody may edit twice
		if edited := timeOf(now.Edited.Timestamp); m.Timestamp == "" || edited.After(in.Time) {
			in.Time = edited
		}
	}
	// An edit is not asked for again, so the names are looked up here; nearly all are
	// known from the message as it was.
	brief, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	in.Text = s.named(brief, in.Text)
	return s.hub.Edit(ctx, place.String(), in)
}

// deleted stores a deletion.
func (s *Slack) deleted(ctx context.Context, m slackgo.Message) error {
	gone := slackgo.Msg{Timestamp: m.DeletedTimestamp}
	if m.PreviousMessage != nil {
		gone = *m.PreviousMessage
		gone.Timestamp = m.DeletedTimestamp
	}
	if gone.Timestamp == "" {
		return nil
	}
	return s.delete(ctx, m.Channel, gone)
}

// delete stores a deletion, and remembers it: Slack promises no order, and repeats a message that was
// not acknowledged after minutes.
func (s *Slack) delete(ctx context.Context, channelID string, m slackgo.Msg) error {
	s.deletions.Set(channelID+"/"+m.Timestamp, "")
	return s.hub.Delete(ctx, s.placeOf(channelID, m).String(), m.Timestamp)
}

// retryLater reads the conversation of a message that could not be stored from history, as soon as
// that is possible, in case Slack stops repeating it.
func (s *Slack) retryLater(m slackgo.Message) {
	if m.SubType == slackgo.MsgSubTypeMessageChanged || m.SubType == slackgo.MsgSubTypeMessageDeleted {
		return
	}
	name, after := s.placeOf(m.Channel, m.Msg).String(), overlapped(m.Timestamp, "")
	if _, waits := s.unstored.LoadOrStore(name, true); waits {
		return
	}
	s.tasks.Start(func(ctx context.Context) {
		pause := platform.Backoff{First: s.times.retry, Most: s.times.retry}
		for platform.Sleep(ctx, pause.Next()) == nil {
			s.unstored.Delete(name) // a message that fails from now on needs another reading
			if s.hub.CatchUp(ctx, name, after) == nil {
				return
			}
			s.unstored.Store(name, true)
		}
	})
}
