// A memory with what belongs to it: the messages it came from, and what superseded what.

package memory

import (
	"context"
	"fmt"

	"cairn/chat"
	"cairn/store"
)

// Details is a memory with all that belongs to it.
type Details struct {
	Memory
	Messages []chat.Record `json:"messages" jsonschema:"that it came from"`
	Chain    []Memory      `json:"chain" jsonschema:"what superseded what, oldest first, itself among them; empty: none"`
}

// chain selects the memories that a memory superseded and those that superseded it, transitively.
const chain = `WHERE m.id IN (
	WITH RECURSIVE later (id) AS (SELECT ?1 UNION SELECT superseded_by FROM memories JOIN later USING (id) WHERE superseded_by IS NOT NULL),
	earlier (id) AS (SELECT ?1 UNION SELECT memories.id FROM memories JOIN earlier ON superseded_by = earlier.id)
	SELECT id FROM later UNION SELECT id FROM earlier) ORDER BY m.id`

// Details returns a memory in any state; of a conversation, only its own. ErrNotFound: there is no such
// memory.
func (ms Memories) Details(ctx context.Context, id int64) (Details, error) {
	d := Details{Messages: []chat.Record{}, Chain: []Memory{}}
	err := ms.store.View(ctx, func(tx *store.Tx) error {
		m, from, err := readComplete(tx, id)
		if err == nil && ms.c != nil && m.Conversation != ms.c.Name() {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		d.Memory = m
		for _, message := range from {
			d.Messages = append(d.Messages, chat.RecordOf(message))
		}
		linked, err := ReadMemories(tx, chain, id)
		if len(linked) > 1 {
			d.Chain = linked
		}
		return err
	})
	if err != nil {
		return d, fmt.Errorf("show: %w", err)
	}
	return d, nil
}
