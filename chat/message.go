// Package chat has the messages of a conversation, their attachments, and the form in which they are shown to a
// model: with author and time, and so that no part of them passes for one of Cairn's own lines or for another role.
package chat

import (
	"encoding/json"
	"time"

	"cairn/llm"
)

// Message is one row of a conversation's transcript, as its owner and the compactor use it.
// Compaction never changes one.
type Message struct {
	Seq  int64 // place in the conversation, from 1; set when the message is taken up
	Turn int64 // seq of the first message of its turn; its own for a message that gets no answer
	Role llm.Role
	ID   string // the platform's id; unique among a conversation's user messages

	AuthorID    string // the platform's id of the author; empty for the bot and its tools
	Author      string // the name people see
	Text        string
	Attachments []Attachment
	ReplyTo     string    // the platform's id of the message it replies to
	ReplySeq    int64     // seq of that message if it is in this conversation, else 0
	Quote       string    // start and author of that message if it is elsewhere
	Time        time.Time // when it was sent, in the time zone in which it is shown
	Addressed   bool      // the author expects an answer
	Optional    bool      // no one asked for an answer: the bot may stay silent

	Unremembered bool // its author has opted out of memories; set only for summarizers

	Calls  []llm.Call      // assistant: the tools it called
	CallID string          // tool: the call it answers
	Tool   string          // tool: the name of the tool
	Native json.RawMessage // see llm.Message; stored only if the provider requires it after the turn

	Tokens    int    // tokens of the whole message in the prompt, without Native, see TokensOf
	Reasoning int    // tokens of Native while it is sent, estimated; 0: unknown. Not stored
	Deprived  bool   // its reasoning was dropped during its turn, see llm.Message
	Context   string // the stored turn context that follows it; see Context
}

// Attachment is a file or picture that came with a message.
type Attachment struct {
	Kind    string `json:"kind"`              // image, file, …
	Name    string `json:"name,omitempty"`    // file name
	Caption string `json:"caption,omitempty"` // a description of its content
	URL     string `json:"url,omitempty"`     // where the connector can fetch it
	Type    string `json:"type,omitempty"`    // media type, as "image/png"
	Size    int64  `json:"size,omitempty"`    // bytes; 0: not known
	Text    string `json:"text,omitempty"`    // content of a text file, as far as the budget allows
	File    int64  `json:"file,omitempty"`    // the stored picture, for models that accept pictures; 0: none

	// Data is a picture that is not stored yet; the store saves it and sets File.
	Data []byte `json:"-"`
}
