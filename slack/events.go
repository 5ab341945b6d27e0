// Events are queued by channel and acknowledged when they are stored. Messages that cannot be
// stored are read from history later.

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

// queueEvent queues an event. ack is called when the event is on disk, or there is nothing to
// store. An event that is repeated while it is queued is not queued twice.
func (s *Slack) queueEvent(ctx context.Context, payload json.RawMessage, ack func()) {
	m, id, ok := readEvent(payload)
	if !ok || m.Type != slackgo.TYPE_MESSAGE && m.Type != "app_mention" {
		ack()
		return
	}
	if !isChange(m) && timeOf(m.Timestamp).IsZero() {
		s.refuseEvent(m)
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
		s.backfillLater(m) // without an acknowledgement: Slack repeats it, or it is read from history
	}
}

// pendingAcks contains the acknowledgements of queued events, by event id.
type pendingAcks struct {
	mu   sync.Mutex // guards acks
	acks map[string][]func()
}

// add adds an acknowledgement and reports whether it is the first for its event.
func (p *pendingAcks) add(id string, ack func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.acks == nil {
		p.acks = make(map[string][]func())
	}
	p.acks[id] = append(p.acks[id], ack)
	return len(p.acks[id]) == 1
}

// take removes and returns the acknowledgements of an event.
func (p *pendingAcks) take(id string) []func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	acks := p.acks[id]
	delete(p.acks, id)
	return acks
}

// readEvent decodes the message of an event and the event's id. It ignores fields in an unknown
// form.
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

// isChange reports whether an event is about an edit or a deletion.
func isChange(m slackgo.Message) bool {
	return m.SubType == slackgo.MsgSubTypeMessageChanged || m.SubType == slackgo.MsgSubTypeMessageDeleted
}

// refuseEvent logs an event that is dropped because it does not say when it happened.
func (s *Slack) refuseEvent(m slackgo.Message) {
	s.log.Warn("event_refused", "problem", "invalid ts", "channel", m.Channel, "ts", m.Timestamp)
}

// event is a queued event about a message.
type event struct {
	ctx context.Context // of the connector
	id  string
	slackgo.Message

	members members // of its channel

	read     bool // the fields below are set
	place    channel.Place
	inbound  channel.Inbound
	relevant bool
}

// handle handles queued events of one channel in order, and acknowledges them.
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

// handleFirst handles the first event, and with it the messages of the same conversation that
// follow: a burst would be acknowledged too late if each was stored alone. n is the number of
// events handled.
func (s *Slack) handleFirst(batch []*event) (n int, err error) {
	first := batch[0]
	switch first.SubType {
	case slackgo.MsgSubTypeMessageChanged:
		return 1, s.onMessageChanged(first.ctx, first.Message)
	case slackgo.MsgSubTypeMessageDeleted:
		return 1, s.onMessageDeleted(first.ctx, first.Message)
	}
	var messages []channel.Inbound
	for _, e := range batch {
		if isChange(e.Message) {
			break
		}
		if !e.read {
			e.place, e.inbound, e.relevant = s.inbound(e.Channel, e.Message)
			e.inbound.Audience, e.inbound.Label = e.members.audience(e.place), s.label(e.place, e.inbound.Author)
			if _, gone := s.deletions.Find(e.Channel + "/" + e.Timestamp); gone {
				e.relevant = false
			}
			if text, edited := s.edits.Find(e.Channel + "/" + e.Timestamp); edited {
				e.inbound.Text = text
			}
			e.read = true
		}
		if e.relevant && (e.place != first.place || platform.IsCommand(e.inbound)) {
			break
		}
		if e.relevant {
			messages = append(messages, e.inbound)
		} else if n == 0 {
			return 1, nil
		}
		n++
	}
	if n == 0 {
		s.queueTextCommand(first.ctx, first.place, first.inbound)
		return 1, nil
	}
	return n, s.hub.DeliverAll(first.ctx, first.place.String(), messages)
}

// handled reports whether an event may be acknowledged, given the error of handling it. A message
// that could not be stored is backfilled later.
func (s *Slack) handled(e *event, err error) bool {
	switch {
	case err == nil:
		if e.relevant && !platform.IsCommand(e.inbound) { // a message was stored
			s.storeIncident.End()
		}
		return true
	case errors.Is(err, channel.ErrRefused):
		return true
	case e.ctx.Err() == nil && !errors.Is(err, channel.ErrClosed):
		s.storeIncident.Begin(err)
		s.backfillLater(e.Message)
		s.hub.Undelivered(e.ctx, e.place.String(), e.inbound, err)
	}
	return false
}

// onMessageChanged stores an edit, and caches it for a message that arrives later. It ignores the
// bot's own edits and changes that affect neither text nor files, such as link previews.
func (s *Slack) onMessageChanged(ctx context.Context, m slackgo.Message) error {
	now, before := m.SubMessage, m.PreviousMessage
	if now == nil || now.Timestamp == "" {
		return nil
	}
	if now.SubType == "tombstone" {
		return s.delete(ctx, m.Channel, *now)
	}
	if before != nil && before.Text == now.Text && sameFiles(before.Files, now.Files) || before == nil && now.Edited == nil {
		return nil
	}
	place, in, relevant := s.inbound(m.Channel, slackgo.Message{Msg: *now})
	if !relevant {
		return nil
	}
	in.Time = timeOf(m.Timestamp)
	if now.Edited != nil { // in whole seconds, but someone may edit twice within one
		if edited := timeOf(now.Edited.Timestamp); edited.After(in.Time) {
			in.Time = edited
		}
	}
	if in.Time.IsZero() {
		s.refuseEvent(m)
		return nil
	}
	// Complete is not called for edits, so the names are looked up here; nearly all are cached
	// since the original message.
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	in.Text = s.resolveNames(limited, in.Text)
	s.edits.Set(m.Channel+"/"+in.ID, in.Text)
	return s.hub.Edit(ctx, place.String(), in)
}

// sameFiles reports whether two versions of a message have the same files; a deleted one gets another mode.
func sameFiles(a, b []slackgo.File) bool {
	return slices.EqualFunc(a, b, func(a, b slackgo.File) bool { return a.ID == b.ID && a.Mode == b.Mode })
}

// onMessageDeleted stores a deletion.
func (s *Slack) onMessageDeleted(ctx context.Context, m slackgo.Message) error {
	deleted := slackgo.Msg{Timestamp: m.DeletedTimestamp}
	if m.PreviousMessage != nil {
		deleted = *m.PreviousMessage
		deleted.Timestamp = m.DeletedTimestamp
	}
	if deleted.Timestamp == "" {
		return nil
	}
	return s.delete(ctx, m.Channel, deleted)
}

// delete stores a deletion and caches it, so that a late event does not bring the message back:
// Slack does not guarantee the order, and repeats an unacknowledged message after minutes.
func (s *Slack) delete(ctx context.Context, channelID string, m slackgo.Msg) error {
	s.deletions.Set(channelID+"/"+m.Timestamp, "")
	return s.hub.Delete(ctx, s.placeOf(channelID, m).String(), m.Timestamp)
}

// backfillLater backfills the conversation of a message that could not be stored, as soon as that
// is possible, in case Slack stops repeating the message.
func (s *Slack) backfillLater(m slackgo.Message) {
	if isChange(m) {
		return
	}
	name, after := s.placeOf(m.Channel, m.Msg).String(), withOverlap(m.Timestamp, "")
	if _, queued := s.unstored.LoadOrStore(name, true); queued {
		return
	}
	s.tasks.Start(func(ctx context.Context) {
		pause := platform.Backoff{First: s.times.retry, Most: s.times.retry}
		for platform.Sleep(ctx, pause.Next()) == nil {
			s.unstored.Delete(name) // a message that fails from now on needs another backfill
			if s.hub.CatchUp(ctx, name, after) == nil {
				return
			}
			s.unstored.Store(name, true)
		}
	})
}
