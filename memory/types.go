package memory

import (
	"errors"
	"time"

	"cairn/chat"
	"cairn/compactor"
)

// Errors that callers branch on.
var (
	ErrNotFound = errors.New("not found")
	ErrInUse    = errors.New("the data folder is in use") // another bot holds its lock
	ErrNewer    = errors.New("the database was written by a newer cairn")
	ErrLive     = errors.New("the conversation is in use") // people talked in it: nothing may be imported
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
	ReplyTo     string    // the platform's id of the message it replies to
	Quote       string    // how that message begins and who said it: `Ada: "shall we…"`
	Time        time.Time // when it was said
	Edited      time.Time // when it was changed since; zero: never, as far as is known
	Addressed   bool      // somebody wants an answer: the bot was mentioned, replied to, or is alone with them
	Thread      bool      // said in a thread, where the bot goes on answering once it was addressed, until /stop
	Optional    bool      // nobody addressed the bot, which is asked all the same and may stay silent; the hub's to set
	Bot         bool      // said by another program
	Audience    Audience  // who may read the place where it was said
	Label       string    // what people call that place: "#general · Cozy Corner"; empty: not known
	Incomplete  bool      // the connector can find out more: names, files; see channel.Completer
	Tries       int       // how often that was begun, see Try; the store's to set

	// Compaction is over the policy in the turn that answers the message, and in the check that
	// follows it. It is not stored: a turn that is answered after a restart goes by the policy.
	Compaction compactor.Patch `json:"-"`
}

// Receipt is what became of a delivered message; the zero value: it is held, see Hold.
type Receipt struct {
	Fresh     bool  // false: it was here already
	Seq       int64 // its place, if it has been taken up; 0: it waits in the inbox
	Addressed bool  // as it was stored: in a thread the bot may answer on unaddressed
}

// Turn is an unanswered turn, found at start.
type Turn struct {
	Seq      int64     // of its first message
	Attempts int       // how often it was begun, this time included
	Since    time.Time // when it was taken up
	To       []string  // the platform ids of its addressed messages
	Optional bool      // nobody asked for an answer: the bot may stay silent
}

// Outcome ends a turn: one transaction writes all of it.
type Outcome struct {
	Turn     int64           // the turn that is answered
	Messages []chat.Message  // what the bot and its tools said, seqs given, in order; may be empty
	Reply    string          // id of the reply on its way to people; empty: nothing is sent
	To       []string        // platform ids of the messages it answers
	Pieces   []string        // the reply, cut for the connector
	Failure  bool            // Pieces are a plain sentence about a failure, not the assistant's words
	Count    compactor.Count // what the provider counted last; zero: nothing that holds
	Sent     compactor.Sent  // the last request of the turn; zero: none was made
	Usage    []Usage         // what models were used for since the last outcome

	Context compactor.Context // what the model was shown with the turn; its Text is empty if that is not kept
	Version int64             // of the head with which it was shown: under another one it is not kept
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
	Pinned       bool      `json:"pinned"`               // it neither ends nor fades
	Speaker      string    `json:"speaker"`              // who said it
	SpeakerID    string    `json:"speaker_id,omitempty"` // the platform's; empty: not known
	About        string    `json:"about"`
	AboutID      string    `json:"about_id,omitempty"`
	Reach        string    `json:"reach"`                // channel: it stays in its conversation; server: it may be shared, see AllMemories.Share
	By           string    `json:"by"`                   // worker, extractive, assistant, person
	Compaction   int64     `json:"compaction,omitempty"` // the row it was saved with
	SaidAt       time.Time `json:"said_at"`
	SavedAt      time.Time `json:"saved_at"`
	Expires      time.Time `json:"expires_at,omitzero"` // from then on it is not recalled; zero: it has no end
	Confirmed    int       `json:"confirmed"`           // how often it was said, the first time included
	Sources      []int64   `json:"sources"`             // seqs, in Conversation, of the messages it came from
	State        string    `json:"state"`               // active, expired, superseded, forgotten, replaced
	SupersededBy int64     `json:"superseded_by,omitempty"`
	Score        float64   `json:"score,omitempty"` // of a search: how well it fits
	Parts        []Part    `json:"parts,omitempty"` // what the score is the sum of
}

// Gap is a conversation that may have missed messages: those after one of which
// the platform id is After.
type Gap struct {
	Conversation string
	After        string
	Newest       string // the newest message that was delivered; empty: the gap was open already
}
