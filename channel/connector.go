package channel

import (
	"context"
	"errors"

	"cairn/chat"
	"cairn/compactor"
	"cairn/memory"
)

// Inbound is a message as a connector hands it to the hub.
type Inbound = memory.Inbound

// ErrReplaced is why the hub takes no message while the database is not in its place.
var ErrReplaced = memory.ErrReplaced

// Attachment is something that came with a message.
type Attachment = chat.Attachment

// Piece is a part of a reply on its way out.
type Piece = memory.Piece

// Patch is a layer of settings.
type Patch = compactor.Patch

// Event tells of one step of a compaction.
type Event = compactor.Event

// Connector is a place where people talk: Discord, Slack, the terminal.
type Connector interface {
	// Name is the first part of its conversations' names: "terminal".
	Name() string
	// Split cuts a reply into pieces the platform takes, at least one.
	Split(text string) []string
	// Reply opens the writer of one reply. to holds the platform ids of the
	// messages it answers. It must not block.
	Reply(conversation string, to []string) Writer
}

// Writer carries one reply to people. Its methods are called by one goroutine.
type Writer interface {
	// Show gets the whole text so far while the model still writes. It must not
	// wait for the network: the newest text wins, older ones may be skipped.
	Show(text string)
	// Send delivers one piece for good and returns the platform's id of it. The
	// pieces come in order. A piece that is marked Sending may have arrived before
	// a crash, and must not be posted twice. An error means that it is worth trying
	// again, unless errors.Is(err, ErrGone): then nothing can ever be said there.
	Send(ctx context.Context, piece Piece) (id string, err error)
	// Cancel takes back what was shown but will not be sent.
	Cancel()
}

// Observer is what a connector implements to learn what happens in its conversations.
// The methods must not block.
type Observer interface {
	// Accepted reports that a message is on disk, and its place, when it is taken up.
	// If a turn before it takes long, it is called with seq 0 before, and again then.
	Accepted(conversation, id string, seq int64)
	// Compaction reports every step of a compaction.
	Compaction(conversation string, event Event)
	// Remembered reports every new memory.
	Remembered(conversation string, id int64, kind, content string)
}

// UsageObserver is what a connector implements to learn what each request to a model took. It
// must not block.
type UsageObserver interface {
	// Used reports a request to a model; kind is memory.ForTurn or memory.ForSummary.
	Used(conversation, kind, model string, e Expense)
}

// Completer is what a connector implements whose events lack something: names behind
// ids, contents of files. It is asked by the conversation's goroutine, before a
// message that says it is Incomplete gets its place.
type Completer interface {
	// Complete returns m with what could be found out. It may ask the platform, and
	// ends when ctx does. What cannot be had stays as it is, described in words:
	// the message is taken up all the same. An error means that it is worth trying
	// again soon, with the same message.
	Complete(ctx context.Context, conversation string, m Inbound) (Inbound, error)
}

// Historian is what a connector implements that can read what was said while the bot
// was away, or before it came.
type Historian interface {
	// History returns messages of a conversation, oldest first. An error for which
	// errors.Is(err, ErrGone) holds is for good: nothing can be read there.
	History(ctx context.Context, conversation string, look Look) (Page, error)
}

// Look is what of a history is to be read.
type Look struct {
	After  string // the messages that follow this one; empty: the newest ones before Before
	Before string
	Missed string // of those after After, what follows this one was missed; the others are read again; empty: all were
	Limit  int    // of messages
}

// Page is a part of a history.
type Page struct {
	// Said are messages in the form in which they would have been delivered. The bot's own,
	// those of other programs that may not be heard, and commands are left out, but count.
	Said  []Inbound
	There []string // the ids of all messages of the page; nil: not known
	Gone  []string // of them those that were deleted, and left a trace because something hangs on them
	Last  string   // the id to go on from
	More  bool     // there is more to read behind Last
}

// ErrGone tells that a conversation is not there any more, or closed to the bot.
var ErrGone = errors.New("the conversation is gone or closed")
