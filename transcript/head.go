package transcript

import (
	"slices"
	"time"

	"cairn/chat"
)

// Head is everything above the verbatim messages, as last committed.
type Head struct {
	Version   int64     // raised by every change of the head, in its transaction
	Stack     []Summary // the applied rows of the session, by From
	ClearedTo int64     // tool results up to this seq are shown cleared or shortened; 0: none
	Pins      []Pin     // pinned messages, in the order of pinning

	Start     int64       // the first seq of the session
	Earlier   []Session   // oldest first: those that may be shown, and older ones that still need work
	Inherited Inheritance // of a thread

	// What an undo brought back is left alone until the aggressive level: messages that are verbatim
	// again, and rows that await repair.
	Spared Span
}

// Rows returns all applied rows of the conversation itself, the most important first.
func (h Head) Rows() []Summary {
	all := slices.Clone(h.Stack)
	for _, s := range slices.Backward(h.Earlier) {
		all = append(all, s.Rows...)
	}
	return all
}

// Pin is a message that people want to keep in the prompt.
type Pin struct {
	chat.Message
	Earlier bool   // it is from before the session, and only its copy is visible
	By      string // who pinned it
	At      time.Time
}

// Session is an earlier session of a conversation. None of it is verbatim.
type Session struct {
	From, To int64
	Rows     []Summary // the applied ones over it, by From
}

// Inheritance is what a thread has of the conversation it belongs to, copied when its first message
// was taken up. Numbers of rows and messages are the parent's.
type Inheritance struct {
	Stack []Summary     // in its state at that time, by From
	Root  *chat.Message // the message the thread hangs on; nil: unknown
}

// Context is a turn context: a block after the newest message of a turn, with information that may
// help with this turn. It is stored with the answer and shown again until the head changes, so that
// each request extends the previous one.
type Context struct {
	Seq      int64   // the message it follows
	Text     string  // without the lines around it
	Messages []int64 // what it quotes: messages of this conversation, by seq
	Memories []int64 // ids of quoted memories
}

// Quotes reports whether the context quotes a message.
func (c Context) Quotes(seq int64) bool { return slices.Contains(c.Messages, seq) }
