package memory

import (
	"errors"
	"time"

	"cairn/chat"
	"cairn/transcript"
)

// Errors that callers branch on.
var (
	ErrNotFound = errors.New("not found")
	ErrInUse    = errors.New("the data folder is in use") // another bot holds its lock
	ErrNewer    = errors.New("the database was written by a newer cairn")
	ErrLive     = errors.New("the conversation is in use") // it has messages from people already: nothing may be imported
	ErrDamaged  = errors.New(databaseName + " is damaged or no database of cairn")
	ErrFull     = errors.New("the disk is full")
	ErrReplaced = errors.New(databaseName + " was deleted, moved or replaced while the bot runs")
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

	// Compaction overrides the policy in the turn that answers the message, and in the check that
	// follows it. It is not stored: a turn that is answered after a restart uses the policy.
	Compaction map[string]string `json:"-"`
}

// Receipt is the outcome of a delivery; the zero value: the message is held, see Hold.
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
	To       []string  // the platform ids of its addressed messages
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

// Memory is one fact, preference, decision, … worth keeping beyond the conversation.
type Memory struct {
	ID           int64     `json:"id"`
	Conversation string    `json:"channel"`
	Kind         string    `json:"kind"`
	Content      string    `json:"content"`
	Importance   float64   `json:"importance"`           // 0 to 1
	Pinned       bool      `json:"pinned"`               // it neither expires nor fades
	Speaker      string    `json:"speaker"`              // who said it
	SpeakerID    string    `json:"speaker_id,omitempty"` // the platform's; empty: not known
	About        string    `json:"about"`
	AboutID      string    `json:"about_id,omitempty"`
	Reach        string    `json:"reach"`                // channel: it stays in its conversation; server: it may be shared, see AllMemories.Share
	By           string    `json:"by"`                   // worker, extractive, assistant, person
	Compaction   int64     `json:"compaction,omitempty"` // the row it was saved with
	SaidAt       time.Time `json:"said_at"`
	SavedAt      time.Time `json:"saved_at"`
	Expires      time.Time `json:"expires_at,omitzero"` // from then on it is not recalled; zero: it never expires
	Confirmed    int       `json:"confirmed"`           // how often it was said, including the first time
	Sources      []int64   `json:"sources"`             // seqs, in Conversation, of the messages it came from
	State        string    `json:"state"`               // active, expired, superseded, forgotten, replaced
	SupersededBy int64     `json:"superseded_by,omitempty"`
	Score        float64   `json:"score,omitempty"` // of a search: how well it matches
	Parts        []Part    `json:"parts,omitempty"` // what the score is the sum of
}

// Gap is a conversation that may have missed messages: those after the one with the platform ID
// After.
type Gap struct {
	Conversation string
	After        string
	Newest       string // the newest message that was delivered; empty: the gap was open already
}
