package store

import (
	"errors"
	"time"

	"cairn/chat"
	"cairn/transcript"
)

// Errors that callers branch on.
var (
	ErrNotFound     = errors.New("not found")
	ErrInUse        = errors.New("the data folder is in use") // another bot holds its lock
	ErrNewer        = errors.New("the database was written by a newer cairn")
	ErrLive         = errors.New("the conversation is in use") // it has messages from people already: nothing may be imported
	ErrOtherMessage = errors.New("an id names one message of a channel")
	ErrDamaged      = errors.New(databaseName + " is damaged, nothing was changed")
	ErrHeld         = errors.New(heldName + " is damaged, nothing was changed")
	ErrFull         = errors.New("the disk is full")
	ErrReplaced     = errors.New(databaseName + " was deleted, moved or replaced while the bot runs")
)

// Inbound is a message as a connector hands it over.
type Inbound struct {
	ID          string // the platform's id, unique in its conversation; never empty
	AuthorID    string
	Author      string
	Text        string
	Attachments []chat.Attachment
	ReplyTo     string    // the platform ID of the message it replies to
	Quote       string    // the start of that message and its author: `Ada: "shall we…"`
	Time        time.Time // when it was sent
	Edited      time.Time // when it was last edited; zero: never, as far as is known
	Addressed   bool      // a person wants an answer: the bot was mentioned, replied to, or is alone with them
	Thread      bool      // sent in a thread, where the bot keeps answering once it was addressed, until /stop
	Optional    bool      // no one addressed the bot; it may answer or stay silent; the hub sets it
	Bot         bool      // sent by another program
	Audience    Audience  // who may read the place where it was sent
	Label       string    // what people call that place: "#general · Cozy Corner"; empty: not known
	Incomplete  bool      // the connector can find out more: names, files; see channel.Completer
	Tries       int       // how often completing it was attempted, see Try; the store sets it

	row, received int64 // of the inbox: its id, and when it arrived

	// Compaction overrides the policy in the turn that answers the message, and in the check that
	// follows it. It is not stored: a turn that is answered after a restart uses the policy.
	Compaction map[string]string `json:"-"`
}

// Receipt is the outcome of a delivery; the zero value: the message is held, see Held.
type Receipt struct {
	Fresh     bool  // false: the message was known already
	Seq       int64 // its place, if it was taken up; 0: it is waiting in the inbox
	Addressed bool  // as stored: in a followed thread the bot may answer without being addressed
}

// Turn is an unanswered turn, found at start.
type Turn struct {
	Seq      int64     // of its first message
	Attempts int       // number of attempts, this one included
	Since    time.Time // when it was taken up
	To       []string  // the platform ids of its addressed messages, see Turns.Of
	Optional bool      // no one addressed the bot: it may stay silent
}

// Outcome ends a turn: one transaction writes all of it.
type Outcome struct {
	Turn     int64            // the turn that is answered
	Messages []chat.Message   // what the bot and its tools said, in order, with seqs set; may be empty
	Reply    string           // ID of the reply to send; empty: nothing is sent
	To       []string         // platform ids of the messages it answers
	Pieces   []string         // the reply, cut for the connector
	Failure  bool             // Pieces are a plain sentence about a failure, not the assistant's words
	Count    transcript.Count // the provider's last count; zero: no valid one
	Sent     transcript.Sent  // the last request of the turn; zero: there was none
	Usage    []Usage          // what models were used for since the last outcome

	Context transcript.Context // the context the model got with the turn; its Text is empty if it is not kept
	Version int64              // of the head at that time: under another one Context is not kept
}

// Piece is one row of the outbox.
type Piece struct {
	Row     int64
	Reply   string // id of the reply it is part of
	Part    int    // from 0
	Parts   int
	To      []string
	Text    string
	Failure bool
	Sending bool // it was handed to the connector before, and may have arrived
}

// Gap is a conversation that may have missed messages: those after the one with the platform ID
// After.
type Gap struct {
	Conversation string
	After        string
}
