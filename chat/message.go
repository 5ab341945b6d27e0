// Package chat has the messages of a conversation, what comes with them, and how each is
// shown to a model: with who said it and when, and so that nothing in it passes for one of
// Cairn's own lines or for another role.
package chat

import (
	"encoding/json"
	"time"

	"cairn/llm"
)

// Message is one row of a conversation's transcript, as its owner and the
// compactor see it. Compaction never changes one.
type Message struct {
	Seq  int64 // place in the conversation, from 1, given when the message is taken up
	Turn int64 // seq of the first message of its turn; its own for a message nobody answers
	Role llm.Role
	ID   string // the platform's id; unique among a conversation's user messages

	AuthorID    string // the platform's id of who spoke; empty for the bot and its tools
	Author      string // the name people see
	Text        string
	Attachments []Attachment
	ReplyTo     string    // the platform's id of the message it replies to
	ReplySeq    int64     // the place of that message, if it is in this conversation; 0: it is not
	Quote       string    // how that message begins and who said it, if it is elsewhere
	Time        time.Time // when it was said, in the time zone it is shown in
	Addressed   bool      // somebody wants an answer to it
	Optional    bool      // nobody asked for the answer: the bot may stay silent

	Unremembered bool // its author wants to be in no memory; set for those who summarize

	Calls  []llm.Call      // assistant: the tools it called
	CallID string          // tool: the call it answers
	Tool   string          // tool: the name of the tool that ran
	Native json.RawMessage // see llm.Message; stored only where the provider demands it after the turn

	Tokens    int    // what the whole message costs in the view, without Native, see TokensOf
	Reasoning int    // what Native costs while it is sent, in estimated tokens; 0: not known. Not stored
	Deprived  bool   // its reasoning was dropped while its turn ran, see llm.Message
	Context   string // the turn context that follows it, as it is stored; see Context
}

// Attachment is something that came with a message.
type Attachment struct {
	Kind    string `json:"kind"`              // image, file, …
	Name    string `json:"name,omitempty"`    // file name
	Caption string `json:"caption,omitempty"` // what it shows, in words
	URL     string `json:"url,omitempty"`     // where the connector gets it
	Type    string `json:"type,omitempty"`    // media type, as "image/png"
	Size    int64  `json:"size,omitempty"`    // bytes; 0: not known
	Text    string `json:"text,omitempty"`    // contents of a text file, as far as the budget goes
	File    int64  `json:"file,omitempty"`    // the stored picture, to be shown to models that can see; 0: none

	// Data is a picture on its way into the store, which keeps it and sets File.
	Data []byte `json:"-"`
}
