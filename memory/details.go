// A memory with what belongs to it: the messages it came from, and what superseded what.

package memory

import (
	"context"

	"cairn/chat"
)

// Details is a memory with all that belongs to it.
type Details struct {
	Memory
	Messages []chat.Record `json:"messages" jsonschema:"that it came from"`
	Chain    []Memory      `json:"chain" jsonschema:"what superseded what, oldest first, itself among them; empty: none"`
}

// Details returns a memory in any state. ErrNotFound: there is no such memory.
func (am AllMemories) Details(ctx context.Context, id int64) (Details, error) {
	d := Details{Messages: []chat.Record{}, Chain: []Memory{}}
	m, from, err := am.Get(ctx, id)
	if err != nil {
		return d, err
	}
	d.Memory = m
	for _, message := range from {
		d.Messages = append(d.Messages, chat.RecordOf(message))
	}
	chain, err := am.Chain(ctx, id)
	if len(chain) > 1 {
		d.Chain = chain
	}
	return d, err
}
