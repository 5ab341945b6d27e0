package channel

import (
	"context"
	"errors"
	"strings"

	"cairn/channel/report"
	"cairn/chat"
	"cairn/compactor"
	"cairn/memory"
	"cairn/store"
)

// Types of other packages that connectors use.
type (
	Inbound    = store.Inbound   // a message as a connector hands it to the hub
	Attachment = chat.Attachment // a file or picture that came with a message
	Piece      = store.Piece     // a part of a reply on its way out
	Gap        = store.Gap       // a conversation that may have missed messages after After; empty: nothing is known of it
	Task       = store.Task      // a job for a sub-agent, and its outcome
	Patch      = compactor.Patch // a layer of settings
	Event      = compactor.Event // one step of a compaction
	Shard      = store.Shard     // one of the connections into which a platform divides what it sends
	Memory     = memory.Memory   // a fact that the bot keeps
	Setting    = report.Setting  // one value by which a conversation is compacted
	Audience   = store.Audience  // who may read a place, besides its members; empty: the connector does not know
)

// MaxQuote is how many characters of an Inbound's Quote the model is shown.
const MaxQuote = chat.MaxQuote

// Connector is a platform where people talk: Discord, Slack, the terminal.
type Connector interface {
	// Name is the first part of its conversations' names: "terminal".
	Name() string
	// Split cuts a reply into pieces the platform accepts, at least one.
	Split(text string) []string
	// Reply opens the writer of a reply to messages, by their platform ids. It must not block.
	Reply(conversation string, to []string) Writer
}

// Writer delivers one reply to people. One goroutine calls its methods.
type Writer interface {
	// Show gets the whole text so far while the model is still writing. It must not wait for the
	// network: the newest text wins, and older ones may be skipped.
	Show(text string)
	// Send delivers one final piece and returns its platform id. The pieces come in order. A piece marked Sending may have
	// arrived before a crash and must not be posted twice. An error means that a retry is worthwhile, unless errors.Is(err,
	// ErrGone): then nothing can ever be posted there again.
	Send(ctx context.Context, piece Piece) (id string, err error)
	// Cancel removes what was shown, also by an earlier process, and will not be sent. It may wait for the network, for a few
	// seconds, so that the next writer of the same answer finds nothing of it.
	Cancel()
}

// Indicator is implemented by writers that can show that the bot works on a reply: that it is typing,
// say. A reply that exists already, such as a notice, is sent without that.
type Indicator interface {
	// Working is called once, before Show. It must not wait for the network.
	Working()
}

// Keeper is implemented by writers of platforms on which people stop a reply at the message that shows it, which closes that message.
type Keeper interface {
	// Kept returns the platform id of that message: nothing else of the reply is sent. "": nobody has closed one.
	Kept() (id string)
	// Keep is called once the outcome is on disk, instead of Cancel: the message stays as it is, and Keep ends what else is shown. It
	// must not wait for the network.
	Keep()
}

// Adopter is implemented by writers that look for what an earlier process has shown of a reply, and take that over.
type Adopter interface {
	// Fresh reports that no process has started the reply before, so there is nothing to look for. It is called first.
	Fresh()
}

// Forgetter is implemented by connectors that have shown a person's message elsewhere than at its place, such as in a title, or memories.
type Forgetter interface {
	// Forgotten reports that messages of people were deleted or forgotten, by their platform ids, and memories, see Outdated: without ids,
	// memories only. It must not block.
	Forgotten(conversation string, ids []string)
}

// Observer is implemented by connectors that follow their conversations. Its methods must not block.
type Observer interface {
	// Accepted reports that a message is on disk, and its place (seq) once it is taken up. If an earlier turn takes long, or the
	// message is repeated while it waits, Accepted is first called with seq 0, and again when the place is known.
	Accepted(conversation, id string, seq int64)
	// Compaction reports every step of a compaction.
	Compaction(conversation string, event Event)
	// Remembered reports every new memory.
	Remembered(conversation string, id int64, kind, content string)
	// Used reports what a model request used; kind is store.ForTurn or store.ForSummary.
	Used(conversation, kind, model string, e report.Expense)
	// Task reports that a task of the people's conversation begins, makes progress or ends.
	Task(conversation string, t Task)
}

// Completer is implemented by connectors whose events lack something: names behind ids, contents of
// files. The conversation's goroutine calls it before a message marked Incomplete gets its place.
type Completer interface {
	// Complete returns m with whatever it could find out. It may ask the platform, and ends when
	// ctx does. What it cannot get stays unchanged, described in words: the message is taken up
	// anyway. An error means that a retry with the message that it returned soon is worthwhile.
	Complete(ctx context.Context, conversation string, m Inbound) (Inbound, error)
}

// Awaited returns, within a call of Complete or History, a channel that is closed once someone waits for an answer in that
// conversation: from then on the call should not leave the platform's limits to others. It is nil outside of such a call.
func Awaited(ctx context.Context) <-chan struct{} {
	awaited, _ := ctx.Value(awaitedKey{}).(chan struct{})
	return awaited
}

// Historian is implemented by connectors that can read what was posted while the bot was away or not there.
type Historian interface {
	// History returns messages of a conversation, oldest first. An error for which errors.Is(err,
	// ErrGone) holds is permanent: nothing can be read there.
	History(ctx context.Context, conversation string, look Look) (Page, error)
}

// Look says which part of a history to read.
type Look struct {
	After  string // read the messages after this one; empty: the newest ones before Before
	Before string
	Missed string // of the messages after After, those after this one were missed and the others are read again; empty: all were missed
	Limit  int    // the most messages to read
}

// Page is a part of a history.
type Page struct {
	// Messages are as they would have been delivered: without those of the bot, those of programs that may not be heard, and
	// commands, which count.
	Messages []Inbound
	There    []string // ids of all messages of the page; nil: unknown
	Gone     []string // of There, the deleted messages that left a trace because something hangs on them
	TopOnly  bool     // There may lack messages that reply to others
	Last     string   // the id to continue from
	More     bool     // there is more to read after Last
}

// ErrGone means that a conversation no longer exists, or is closed to the bot.
var ErrGone = errors.New("the conversation is gone or closed")

// The audiences.
const (
	Members     = store.Members     // a private channel or thread, a direct message
	ChannelWide = store.ChannelWide // a thread: everyone who may read its channel
	ServerWide  = store.ServerWide  // a public channel and its public threads
)

func connectorOf(conversation string) string {
	connector, _, _ := strings.Cut(conversation, ":")
	return connector
}

// Speller is implemented by connectors whose commands are not written "/compact".
type Speller interface {
	// Spell returns how a command is written in a conversation; line is "/compact".
	Spell(conversation, line string) string
}

// Reader is implemented by connectors that can find out who may read a conversation.
type Reader interface {
	// Readable returns those of the connector's conversations that a person may read now, in the given order, by the platform's
	// answers at this moment. Without an answer, a conversation is left out; the error says why some are.
	Readable(ctx context.Context, person string, conversations []string) ([]string, error)
}

// Threader is implemented by connectors that show the answers to messages of a channel in threads.
type Threader interface {
	// ThreadOf returns the thread in which a message of a channel's conversation is answered, by its platform id.
	ThreadOf(ctx context.Context, conversation, id string) string
}

// Linker is implemented by connectors whose messages have addresses.
type Linker interface {
	// MessageLink returns the address of a message, by its platform id; "" if it is not known.
	MessageLink(conversation, id string) string
}
