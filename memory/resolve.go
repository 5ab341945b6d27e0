// Finding a memory by its number, or by what a user is typing.

package memory

import (
	"context"
	"fmt"
	"strings"

	"cairn/store"
	"cairn/words"
)

// Recalled returns a memory of the conversation or of its scope, in any state. ErrNotFound: there
// is none with that number.
func (ms Memories) Recalled(ctx context.Context, id int64) (m Memory, err error) {
	err = ms.view(ctx, fmt.Sprintf("look for memory %d", id), Filter{State: "all"}, func(tx *store.Tx, f Filter) error {
		chosen, args := f.where()
		m, err = store.First(ReadMemories(tx, "WHERE m.id IN (SELECT id FROM memories WHERE id = ? AND "+chosen+")", append([]any{id}, args...)...))
		return err
	})
	return m, err
}

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
