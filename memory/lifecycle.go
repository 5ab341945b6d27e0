// The life of a memory: people forget, restore, pin, edit or purge it.

package memory

import (
	"context"
	"errors"
	"fmt"

	"cairn/store"
)

// Forget removes a memory from all recall. The row stays, as forgotten, until it is purged. As for
// every change, ErrNotFound: there is no such memory, or it is another conversation's; a *StateError:
// its state does not allow it, here because it is forgotten.
func (ms Memories) Forget(ctx context.Context, id int64) error {
	return ms.change(ctx, "forget", id, func(tx *store.Tx, c *store.Conversation, m Memory) error {
		err := store.Changed(tx, "UPDATE memories SET forgotten_from = state, state = 'forgotten' WHERE id = ? AND state <> 'forgotten'", m.ID)
		if err != nil {
			return err
		}
		return forgetCopiesOf(tx, c, m.ID, false)
	})
}

// Restore undoes Forget: the memory gets its previous state back. ErrSaid: by now another memory
// says the same.
func (ms Memories) Restore(ctx context.Context, id int64) error {
	return ms.change(ctx, "restore", id, func(tx *store.Tx, _ *store.Conversation, m Memory) error {
		err := store.Changed(tx, "UPDATE OR IGNORE memories SET state = forgotten_from, forgotten_from = '' WHERE id = ? AND state = 'forgotten'", m.ID)
		if errors.Is(err, store.ErrNotFound) && m.State == "forgotten" {
			return ErrSaid
		}
		return err
	})
}

// Pin keeps a current memory from expiring and fading, or takes that back.
func (ms Memories) Pin(ctx context.Context, id int64, pinned bool) error {
	return ms.change(ctx, "pin", id, func(tx *store.Tx, _ *store.Conversation, m Memory) error {
		return store.Changed(tx, "UPDATE memories SET pinned = ? WHERE id = ? AND state = 'active'", pinned, m.ID)
	})
}

// Purge deletes a memory for good: row, sources, index entries, and what searches found of it. If
// it superseded a memory, whatever superseded this one supersedes that memory now; if nothing did,
// that memory is current again. The messages it came from stay.
func (ms Memories) Purge(ctx context.Context, id int64) error {
	return ms.change(ctx, "purge", id, func(tx *store.Tx, c *store.Conversation, m Memory) error {
		if err := DeleteMemory(c, tx, m); err != nil {
			return err
		}
		return forgetCopiesOf(tx, c, id, true)
	})
}

// Edit replaces the text of a current memory; the new text is checked and redacted like that of a
// new memory. Its sources stay: when they are deleted, the memory goes too. What searches found of
// the old text is deleted. ErrSaid: another memory says the same. A *ContentError says what is wrong
// with the text.
func (ms Memories) Edit(ctx context.Context, id int64, content string) error {
	return ms.change(ctx, "edit", id, func(tx *store.Tx, c *store.Conversation, m Memory) error {
		d := draft{Memory: Memory{Content: content, Kind: m.Kind, Importance: m.Importance}}
		if err := checkContent(&d); err != nil {
			return &ContentError{err}
		}
		err := store.Changed(tx, "UPDATE OR IGNORE memories SET content = ?, folded = ? WHERE id = ? AND state = 'active'", d.Content, d.folded, id)
		if errors.Is(err, store.ErrNotFound) && (m.State == "active" || m.State == "expired") {
			return ErrSaid
		}
		if err != nil {
			return err
		}
		store.UnindexMemory(tx, c.ID(), id, m.Content, m.About)
		store.IndexMemory(tx, id, d.Content, m.About)
		return forgetCopiesOf(tx, c, id, true)
	})
}

// ContentError says what is wrong with a memory, in words for its author.
type ContentError struct{ error }

// ErrSaid means that another memory says the same.
var ErrSaid = errors.New("another memory says the same")

// StateError means that a memory cannot be changed in this way because of its state.
type StateError struct {
	ID    int64
	State string
}

func (e *StateError) Error() string { return "it is " + e.State + ", so this changes nothing" }

// change changes a memory: of all conversations, or only the conversation's own.
func (ms Memories) change(ctx context.Context, what string, id int64, do func(tx *store.Tx, c *store.Conversation, m Memory) error) error {
	change := ms.store.Update
	if what == "purge" || what == "edit" {
		change = ms.store.Erase // the text leaves the files too
	}
	err := change(ctx, func(tx *store.Tx) error {
		m, c, err := readOwned(tx, id)
		if err != nil {
			return err
		}
		if ms.c != nil && ms.c.ID() != c.ID() {
			return store.ErrNotFound
		}
		if err = do(tx, c, m); errors.Is(err, store.ErrNotFound) {
			return &StateError{id, m.State}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s memory %d: %w", what, id, err)
	}
	return nil
}

// forgetCopiesOf deletes the turn contexts that quote a memory and, if answers, what searches found of it.
func forgetCopiesOf(tx *store.Tx, c *store.Conversation, id int64, answers bool) error {
	if seqs := c.In(tx).ForgetQuotes([]int64{id}, answers); len(seqs) > 0 {
		tx.CopiesChanged(c.Name(), seqs...) // the memory's own conversation is not reported otherwise
		c.In(tx).NextVersion()
	}
	return nil
}

// relinkChain links what a memory superseded to the one that superseded it; if there is none, what it
// superseded is current again, unless another current memory says the same.
func relinkChain(tx *store.Tx, id int64) error {
	_, err := tx.Exec(`UPDATE OR IGNORE memories SET state = iif(state = 'superseded', 'active', state),
		forgotten_from = iif(forgotten_from = 'superseded', 'active', forgotten_from)
		WHERE superseded_by = ?1 AND (SELECT superseded_by IS NULL FROM memories WHERE id = ?1)`, id)
	if err == nil {
		_, err = tx.Exec("UPDATE memories SET superseded_by = (SELECT superseded_by FROM memories WHERE id = ?1) WHERE superseded_by = ?1", id)
	}
	return err
}

// ForgetFrom removes a message from the sources of the memories that lose it; nil: all do. It deletes,
// and returns, those without another source and those that quote the message.
func ForgetFrom(c *store.Conversation, tx *store.Tx, seq int64, lose func(Memory) bool) (gone []int64, err error) {
	low, high := c.RowRange(seq, seq)
	from, err := ReadMemories(tx, "WHERE m.conversation = ? AND m.id IN (SELECT memory FROM memory_sources WHERE message BETWEEN ? AND ?)", c.ID(), low, high)
	if err != nil {
		return nil, err
	}
	for _, m := range from {
		if lose != nil && !lose(m) {
			continue
		}
		if _, err := tx.Exec("DELETE FROM memory_sources WHERE memory = ? AND message BETWEEN ? AND ?", m.ID, low, high); err != nil {
			return nil, err
		}
		if len(m.Sources) > 1 && m.By != byExtractive {
			continue
		}
		if err := DeleteMemory(c, tx, m); err != nil {
			return nil, fmt.Errorf("delete memory %d: %w", m.ID, err)
		}
		gone = append(gone, m.ID)
	}
	return gone, nil
}

func DeleteMemory(c *store.Conversation, tx *store.Tx, m Memory) error {
	store.UnindexMemory(tx, c.ID(), m.ID, m.Content, m.About)
	for _, table := range []string{"memory_people", "memory_sources"} {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE memory = ?", m.ID); err != nil {
			return err
		}
	}
	if err := relinkChain(tx, m.ID); err != nil {
		return err
	}
	return store.Changed(tx, "DELETE FROM memories WHERE id = ? AND conversation = ?", m.ID, c.ID())
}
