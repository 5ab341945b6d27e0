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
		id = m.Type + "/" + m.SubType + "/" + m.Channel + "/" + m.Timestamp
	}
	if !s.waiting.first(id, ack) {
		return
	}
	taken := s.lanes.add(m.Channel, func() {
		done := s.handle(ctx, m)
		for _, ack := range s.waiting.take(id) {
			if done {
				ack()
			}
		}
	})
	if !taken {
		s.waiting.take(id)
		s.owe(m) // not acknowledged: it comes again, or is read from the history
	}
}

// waiting holds the acknowledgements of events that are in a lane, by event id.
type waiting struct {
	mu   sync.Mutex // guards acks
	acks map[string][]func()
}

// first adds an acknowledgement and tells whether it is the first of its event.
func (w *waiting) first(id string, ack func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.acks == nil {
		w.acks = make(map[string][]func())
	}
	w.acks[id] = append(w.acks[id], ack)
	return len(w.acks[id]) == 1
}

// take returns the acknowledgements of an event, once.
func (w *waiting) take(id string) []func() {
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
	if json.Unmarshal(outer.Event, &m) == nil {
		return m, outer.ID, m.Channel != ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(outer.Event, &fields) != nil {
		return m, "", false
	}
	kept := make(map[string]json.RawMessage)
	for _, key := range []string{
		"type", "subtype", "channel", "user", "text", "ts", "thread_ts", "parent_user_id", "bot_id", "username", "deleted_ts", "event_ts",
	} {
		if raw, ok := fields[key]; ok {
			kept[key] = raw
		}
	}
	core, err := json.Marshal(kept)
	if err != nil {
		return m, "", false
	}
	m = slackgo.Message{}
	return m, outer.ID, json.Unmarshal(core, &m) == nil && m.Channel != ""
}

// handle does what an event tells, and returns whether that is done for good.
func (s *Slack) handle(ctx context.Context, m slackgo.Message) bool {
	var err error
	switch m.SubType {
	case slackgo.MsgSubTypeMessageChanged:
		err = s.changed(ctx, m)
	case slackgo.MsgSubTypeMessageDeleted:
		err = s.deleted(ctx, m)
	default:
		err = s.said(ctx, m)
	}
	switch {
	case err == nil:
		s.disk.over(s.log, "messages can be kept again")
		return true
	case errors.Is(err, channel.ErrRefused):
		return true
	case ctx.Err() == nil && !errors.Is(err, channel.ErrClosed):
		s.disk.begin(s.log, "a message could not be kept; it will be tried again", err)
		s.owe(m)
	}
	return false
}

// said delivers a message, or runs it if it is a command.
func (s *Slack) said(ctx context.Context, m slackgo.Message) error {
	place, in, heard := s.inbound(m.Channel, m)
	if !heard {
		return nil
	}
	if isCommand(in) {
		s.takeLine(ctx, place, in)
		return nil
	}
	_, err := s.hub.Deliver(ctx, place.String(), in)
	return err
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
	if now.Edited != nil {
		in.Time = timeOf(now.Edited.Timestamp)
	} else {
		in.Time = timeOf(m.Timestamp)
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
