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
}

// With has what came with a message.
type With struct {
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Caption string `json:"caption,omitempty"`
}

// RecordOf returns the record of a message.
func RecordOf(m Message) Record {
	r := Record{Seq: m.Seq, ID: m.ID, Role: m.Role, Author: m.Author, Time: m.Time.UTC(), Text: m.Text}
	for _, a := range m.Attachments {
		r.With = append(r.With, With{a.Kind, a.Name, a.Caption})
	}
	return r
}
