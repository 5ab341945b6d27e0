// What a terminal knows of its conversations, and shows of the events there.

package web

import (
	"context"
	"maps"
	"slices"
	"sync"

	"cairn/channel"
	"cairn/connector/platform"
)

// Attachment is what a terminal knows of its conversations, whichever process runs the bot. It is safe for concurrent use.
type Attachment struct {
	local   Local
	attends string // where somebody answers questions: see Events.attended

	mine platform.Cache // messages of this terminal, by messageKey

	mu         sync.Mutex                // guards everything below
	guest      bool                      // another process has run the bot
	last       string                    // id of the newest event
	rows       map[string]int64          // of the newest piece that was handled, by conversation; only those in which this terminal talks
	unaccepted map[string]postedMessage  // of which no place is known yet, by messageKey
	spoken     map[string]spoken         // by conversation
	writers    map[string]channel.Writer // of the replies that are being written, by conversation
}

// postedMessage is a message that was passed on.
type postedMessage struct {
	conversation string
	message      channel.Inbound
}

// spoken is what the bot last said of a conversation.
type spoken struct{ language, silent string }

// NewAttachment returns what a terminal knows at its start. It answers questions in the conversation attends; "terminal:": in all.
func NewAttachment(local Local, attends string) *Attachment {
	return &Attachment{
		local: local, attends: attends, rows: make(map[string]int64), unaccepted: make(map[string]postedMessage),
		spoken: make(map[string]spoken), writers: make(map[string]channel.Writer),
	}
}

// shows reports whether the terminal shows what happens in a conversation: because of these messages or, without messages, by itself.
func (f *Attachment) shows(conversation string, because ...string) bool {
	f.mu.Lock()
	_, talks := f.rows[conversation]
	f.mu.Unlock()
	if !talks {
		return false
	}
	isMine := func(id string) bool { return f.asked(messageKey(conversation, id)) }
	return len(because) == 0 || f.local.Follows(conversation) || slices.ContainsFunc(because, isMine)
}

// wasGuest reports whether another process has run the bot; f may be nil.
func (f *Attachment) wasGuest() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.guest
}

// asked reports whether a message, by messageKey, is of this terminal.
func (f *Attachment) asked(key string) bool {
	_, mine := f.mine.Find(key)
	return mine
}

func (f *Attachment) accepted(e acceptedEvent) {
	if e.Seq > 0 {
		f.mu.Lock()
		delete(f.unaccepted, messageKey(e.Conversation, e.ID))
		f.mu.Unlock()
	}
	if f.shows(e.Conversation, e.ID) {
		f.local.Accepted(e.Conversation, e.ID, e.Seq)
	}
}

// reply shows an event of a reply.
func (a *Attached) reply(e replyEvent) {
	if !a.shows(e.Conversation, e.To...) {
		if e.State == "sent" {
			a.handled(e)
		}
		return
	}
	switch e.State {
	case "writing":
		a.writer(e).Show(e.Text)
	case "canceled":
		if w := a.takeWriter(e.Conversation); w != nil {
			w.Cancel()
		}
	case "sent":
		if e.Text == "" { // it was missed, and events do not keep it
			a.catchUp(e.Conversation)
			return
		}
		a.send(e)
	}
}

// writer returns the writer of the reply that is being written in a conversation.
func (f *Attachment) writer(e replyEvent) channel.Writer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.writers[e.Conversation] == nil {
		f.writers[e.Conversation] = f.local.Reply(e.Conversation, e.To)
	}
	return f.writers[e.Conversation]
}

func (f *Attachment) takeWriter(conversation string) channel.Writer {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.writers[conversation]
	delete(f.writers, conversation)
	return w
}

func (f *Attachment) cancelWriters() {
	f.mu.Lock()
	all := f.writers
	f.writers = make(map[string]channel.Writer)
	f.mu.Unlock()
	for _, w := range all {
		w.Cancel()
	}
}

// TakeOver is called when this process becomes the bot, before it answers. It shows what the bot before it has sent, by requests to the
// new one, and passes on the messages of which that one may not have known.
func (f *Attachment) TakeOver(ctx context.Context, client Client, deliver func(conversation string, m channel.Inbound)) {
	a := &Attached{Attachment: f, client: client, ctx: ctx}
	again, talks := f.missing()
	for _, conversation := range talks {
		a.catchUp(conversation)
	}
	for _, m := range again {
		deliver(m.conversation, m.message)
	}
}

// missing returns the messages that were not accepted, and the conversations in which this terminal talks.
func (f *Attachment) missing() (again []postedMessage, talks []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.unaccepted)), slices.Sorted(maps.Keys(f.rows))
}

// handled reports whether a piece is newer than those handled before, and notes it as handled.
func (f *Attachment) handled(e replyEvent) (newer bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row, talks := f.rows[e.Conversation]
	if !talks || e.Row <= row {
		return false
	}
	f.rows[e.Conversation] = e.Row
	return true
}

// has reports whether a piece was handled.
func (f *Attachment) has(conversation string, row int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, talks := f.rows[conversation]
	return talks && row <= last
}

// send shows a piece that was sent, once. The events of a conversation come in the order of its rows.
func (a *Attached) send(e replyEvent) {
	if !a.handled(e) {
		return
	}
	piece := channel.Piece{Row: e.Row, Reply: e.Reply, Part: e.Part, Parts: e.Parts, To: e.To, Text: e.Text, Failure: e.Failure}
	var w channel.Writer
	if !e.Failure {
		w = a.takeWriter(e.Conversation)
	}
	if w == nil {
		w = a.local.Reply(e.Conversation, e.To)
	}
	_, _ = w.Send(a.ctx, piece) // a terminal that cannot be written ends the run
}
