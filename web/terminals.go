// The connector of terminals: the one of this process, if it has one, and those that reach the bot over HTTP.

package web

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"cairn/channel"
	"cairn/channel/report"
	"cairn/connector/platform"
	"cairn/connector/terminal"
)

// Local is the terminal of this process.
type Local interface {
	channel.Connector
	channel.Observer
	channel.Attended
	// Talks reports whether a conversation is one of its own: it shows nothing of others.
	Talks(conversation string) bool
	// Follows reports whether it shows also what other terminals cause in a conversation.
	Follows(conversation string) bool
}

// Terminals is the connector of all terminals. What happens in their conversations is published as events; the terminal of this process
// is shown what it caused, and what it follows. It is safe for concurrent use.
type Terminals struct {
	events *Events
	local  Local // nil: this process has no terminal

	earlier *Attachment // what the terminal has shown before this process became the bot; nil: nothing

	posted platform.Cache // messages that came over HTTP, by messageKey
	asked  platform.Cache // those of the terminal of this process

	mu       sync.Mutex      // guards everything below
	here     map[string]bool // conversations in which the terminal of this process has said something
	remote   map[string]bool // those in which others have
	failures []failedPiece   // what was said instead of answers, oldest first: it is not in the transcript
}

// failedPiece is a notice, or the report of a failure.
type failedPiece struct {
	row  int64
	text string
}

const keptFailures = 256

var (
	_ channel.Connector = (*Terminals)(nil)
	_ channel.Observer  = (*Terminals)(nil)
	_ channel.Attended  = (*Terminals)(nil)
)

// NewTerminals returns the connector. local is the terminal of this process, and earlier what it knows from bots before; both may be nil.
func NewTerminals(events *Events, local Local, earlier *Attachment) *Terminals {
	return &Terminals{events: events, local: local, earlier: earlier, here: make(map[string]bool), remote: make(map[string]bool)}
}

func (t *Terminals) Name() string { return terminal.Name }

// Split returns the reply in one piece: a terminal has no length limit.
func (t *Terminals) Split(text string) []string { return []string{text} }

func messageKey(conversation, id string) string { return conversation + "\x00" + id }

// Asks notes that the terminal of this process says a message in a conversation.
func (t *Terminals) Asks(conversation, id string) {
	t.asked.Set(messageKey(conversation, id), "")
	t.Said(conversation)
}

// Said notes that the terminal of this process says something in a conversation.
func (t *Terminals) Said(conversation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.here[conversation] = true
}

// arrives notes that a message comes over HTTP.
func (t *Terminals) arrives(conversation, id string) {
	t.posted.Set(messageKey(conversation, id), "")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remote[conversation] = true
}

// shown returns the terminal of this process if it shows what happens in a conversation because of these messages; without messages,
// what the bot does there by itself. Otherwise it returns nil.
func (t *Terminals) shown(conversation string, because ...string) Local {
	if t.local == nil || !t.local.Talks(conversation) {
		return nil
	}
	is := t.local.Follows(conversation)
	switch {
	case is:
	case len(because) > 0:
		is = slices.ContainsFunc(because, func(id string) bool { return t.isOurs(messageKey(conversation, id)) })
	case t.earlier.wasGuest():
		is = t.said(conversation) || t.earlier.shows(conversation)
	default:
		is = t.said(conversation) || !t.others(conversation)
	}
	if is {
		return t.local
	}
	return nil
}

func (t *Terminals) said(conversation string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.here[conversation]
}

// others reports whether other terminals have said something in a conversation.
func (t *Terminals) others(conversation string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remote[conversation]
}

// isOurs reports whether a message is of the terminal of this process. What was left before is, too, unless another process ran the bot
// since this terminal began: then others may wait for that.
func (t *Terminals) isOurs(key string) bool {
	if _, asked := t.asked.Find(key); asked {
		return true
	}
	if t.earlier.wasGuest() {
		return t.earlier.asked(key)
	}
	_, came := t.posted.Find(key)
	return !came
}

func (t *Terminals) Attended(conversation string) bool {
	local := t.shown(conversation)
	return local != nil && local.Attended(conversation) || t.events.attended(conversation)
}

type acceptedEvent struct {
	Conversation string `json:"conversation"`
	ID           string `json:"id"`
	Seq          int64  `json:"seq" jsonschema:"its place; 0: it waits for one"`
}

func (t *Terminals) Accepted(conversation, id string, seq int64) {
	t.events.publish(kindAccepted, conversation, acceptedEvent{conversation, id, seq})
	if local := t.shown(conversation, id); local != nil {
		local.Accepted(conversation, id, seq)
	}
}

type spentEvent struct {
	Conversation string `json:"conversation"`
	For          string `json:"for" jsonschema:"turn or summary"`
	Model        string `json:"model"`
	report.Expense
}

func (t *Terminals) Used(conversation, kind, model string, e report.Expense) {
	t.events.publish(kindSpent, conversation, spentEvent{conversation, kind, model, e})
	if local := t.shown(conversation); local != nil {
		local.Used(conversation, kind, model, e)
	}
}

// Compaction, Remembered and Task inform only the terminal of this process: these events are published for all conversations.
func (t *Terminals) Compaction(conversation string, event channel.Event) {
	if local := t.shown(conversation); local != nil {
		local.Compaction(conversation, event)
	}
}

func (t *Terminals) Remembered(conversation string, id int64, kind, content string) {
	if local := t.shown(conversation); local != nil {
		local.Remembered(conversation, id, kind, content)
	}
}

func (t *Terminals) Task(conversation string, task channel.Task) {
	if local := t.shown(conversation); local != nil {
		local.Task(conversation, task)
	}
}

func (t *Terminals) Reply(conversation string, to []string) channel.Writer {
	w := &terminalWriter{terminals: t, conversation: conversation, to: to, often: rate.Sometimes{Interval: showInterval}}
	if local := t.shown(conversation, to...); local != nil {
		w.local = local.Reply(conversation, to)
	}
	return w
}

// terminalWriter shows a reply to the terminal of this process, and publishes it.
type terminalWriter struct {
	terminals    *Terminals
	local        channel.Writer // nil: it is not shown here
	conversation string
	to           []string
	often        rate.Sometimes // limits partial text
}

func (w *terminalWriter) publish(r replyEvent, keep bool) {
	r.Conversation = w.conversation
	r.To = w.to
	r.Time = time.Now().UTC()
	w.terminals.events.send(kindReply, w.conversation, r, keep)
}

func (w *terminalWriter) Show(text string) {
	if w.local != nil {
		w.local.Show(text)
	}
	if w.terminals.events.watched() {
		w.often.Do(func() { w.publish(replyEvent{State: "writing", Text: text}, false) })
	}
}

func (w *terminalWriter) Cancel() {
	if w.local != nil {
		w.local.Cancel()
	}
	w.publish(replyEvent{State: "canceled"}, false)
}

// Send shows a piece here and then publishes it, so that what could not be written here is tried again. A terminal that misses the event
// reads what was sent from the store.
func (w *terminalWriter) Send(ctx context.Context, p channel.Piece) (id string, err error) {
	id = p.Reply
	if w.local != nil && w.terminals.isNew(w.conversation, p) {
		id, err = w.local.Send(ctx, p)
	}
	if err == nil {
		if p.Failure {
			w.terminals.failed(p)
		}
		w.publish(sentEvent(p), true)
	}
	return id, err
}

// isNew reports whether the terminal of this process has not shown a piece as that of a bot before.
func (t *Terminals) isNew(conversation string, p channel.Piece) bool {
	return t.earlier == nil || !t.earlier.has(conversation, p.Row)
}

// sentEvent returns the event of a piece that was sent.
func sentEvent(p channel.Piece) replyEvent {
	return replyEvent{
		State: "sent", Text: p.Text, Failure: p.Failure, Buttons: channel.Buttons(p),
		Reply: p.Reply, Row: p.Row, Part: p.Part, Parts: p.Parts,
	}
}

func (t *Terminals) failed(p channel.Piece) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures[max(len(t.failures)-keptFailures+1, 0):], failedPiece{p.Row, p.Text})
}

// failureAt returns what was said in a row of the outbox instead of an answer; "" if an earlier process said it.
func (t *Terminals) failureAt(row int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.failures {
		if f.row == row {
			return f.text
		}
	}
	return ""
}
