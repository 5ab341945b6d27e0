// Finding memories by what a user is typing.

package memory

import (
	"context"
	"strings"

	"cairn/store"
	"cairn/words"
)

// Completed returns the conversation's own current memories that match what a user is still
// typing: each word of it begins a word of the memory. It returns at most limit, the newest
// first.
func (ms Memories) Completed(ctx context.Context, typed string, limit int) (found []Memory, err error) {
	where, args := "WHERE m.conversation = ? AND m.state = 'active'", []any{ms.c.ID()}
	all := strings.Fields(words.Fold(typed))
	for _, word := range all[:min(len(all), maxTyped)] {
		where += " AND instr(' ' || m.folded, ?) > 0"
		args = append(args, " "+word)
	}
	err = ms.c.View(ctx, "complete a memory", func(tx *store.Tx) error {
		found, err = ReadMemories(tx, where+" ORDER BY m.id DESC LIMIT ?", append(args, limit)...)
		return err
	})
	return found, err
}

// maxTyped is the most words that Completed compares.
const maxTyped = 20
