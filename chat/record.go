package chat

import (
	"time"

	"cairn/llm"
)

// Record is the external form of a message: in `cairn transcript --json` and over HTTP.
type Record struct {
	Seq    int64     `json:"seq"`
	ID     string    `json:"id"` // the platform's
	Role   llm.Role  `json:"role"`
	Author string    `json:"author"`
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`
	With   []With    `json:"attachments,omitempty"`

	Calls  []llm.Call `json:"calls,omitempty" doc:"calls of tools, by the model"`
	Tool   string     `json:"tool,omitempty" doc:"name of the tool whose result it is"`
	CallID string     `json:"call_id,omitempty" doc:"id of the call that it answers"`
}

// With has what came with a message.
type With struct {
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Caption string `json:"caption,omitempty"`
}

// RecordOf returns the record of a message.
func RecordOf(m Message) Record {
	r := Record{
		Seq: m.Seq, ID: m.ID, Role: m.Role, Author: m.Author, Time: m.Time.UTC(), Text: m.Text,
		Calls: m.Calls, Tool: m.Tool, CallID: m.CallID,
	}
	for _, a := range m.Attachments {
		r.With = append(r.With, With{a.Kind, a.Name, a.Caption})
	}
	return r
}
