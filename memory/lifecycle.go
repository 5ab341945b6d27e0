// The life of a memory: people forget, restore, pin, edit or purge it.

package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"cairn/compactor/summarize"
)

// Forget removes one of the conversation's memories from all recall. The row stays, as forgotten,
// until it is purged. ErrNotFound: the conversation has no such memory, or it is already
// forgotten.
func (ms Memories) Forget(ctx context.Context, id int64) error {
	return ms.c.store.fate(ctx, "forget", id, ms.c.id, forget)
}

// Forget is Memories.Forget for a memory of any conversation.
func (am AllMemories) Forget(ctx context.Context, id int64) error {
	return am.store.fate(ctx, "forget", id, 0, forget)
}

// Restore undoes Forget for one of the conversation's memories: it gets its previous state back.
// ErrNotFound: the conversation has no such memory, or it is not forgotten. ErrSaid: by now
// another memory says the same.
func (ms Memories) Restore(ctx context.Context, id int64) error {
	return ms.c.store.fate(ctx, "restore", id, ms.c.id, restore)
}

// Restore is Memories.Restore for a memory of any conversation.
func (am AllMemories) Restore(ctx context.Context, id int64) error {
	return am.store.fate(ctx, "restore", id, 0, restore)
}

// Pin keeps one of the conversation's memories from expiring and fading, or takes that back.
// ErrNotFound: the conversation has no such memory, or it is not current.
func (ms Memories) Pin(ctx context.Context, id int64, pinned bool) error {
	return ms.c.store.fate(ctx, "pin", id, ms.c.id, pin(pinned))
}

// Pin is Memories.Pin for a memory of any conversation.
func (am AllMemories) Pin(ctx context.Context, id int64, pinned bool) error {
	return am.store.fate(ctx, "pin", id, 0, pin(pinned))
}

// Purge deletes a memory for good: row, sources, index entries, and what searches found of it. If
// it superseded a memory, whatever superseded this one, if anything, supersedes that memory now.
// The messages it came from stay. ErrNotFound: there is no such memory.
func (am AllMemories) Purge(ctx context.Context, id int64) error {
	return am.store.fate(ctx, "purge", id, 0, purge)
}

// Edit replaces the text of a current memory of any conversation; the new text is checked and
// redacted like that of a new memory. Its sources stay: when they are deleted, the memory goes
// too. What searches found of the old text is deleted. ErrNotFound: there is no such memory, or
// it is not current. ErrSaid: another memory says the same. A *ContentError says what is wrong
// with the text.
func (am AllMemories) Edit(ctx context.Context, id int64, content string) error {
	return am.store.fate(ctx, "edit", id, 0, func(tx *transaction, c *Conversation, m Memory) error {
		d := draft{MemoryDraft: summarize.MemoryDraft{Content: content, Kind: m.Kind, Importance: m.Importance}}
		if err := checkContent(&d); err != nil {
			return &ContentError{err}
		}
		same, err := exists(tx, "SELECT 1 FROM memories WHERE conversation = ? AND folded = ? AND state = 'active' AND id <> ?", c.id, d.folded, id)
		if err != nil || same {
			return cmp.Or(err, ErrSaid)
		}
		if err := changed(tx, "UPDATE memories SET content = ?, folded = ? WHERE id = ? AND state = 'active'", d.Content, d.folded, id); err != nil {
			return err
		}
		if err := unindexMemory(tx, c.id, id, m.Content, m.About); err != nil {
			return err
		}
		if err := indexMemory(tx, id, d.Content, m.About); err != nil {
			return err
		}
		return forgetCopiesOf(tx, c, id, true)
	})
}

// ContentError says what is wrong with the text of a memory, in words for its author.
type ContentError struct{ error }

// ErrSaid means that another memory says the same.
var ErrSaid = errors.New("another memory says the same")

// fate changes the state of a memory: one of the given conversation, or, if that is 0, of any.
func (s *Store) fate(ctx context.Context, what string, id, conversation int64, do func(tx *transaction, c *Conversation, m Memory) error) error {
	change := s.update
	if what == "purge" || what == "edit" {
		change = s.deleting // the text leaves the files too
	}
	err := change(ctx, func(tx *transaction) error {
		m, c, err := s.readOwned(tx, id)
		if err != nil {
			return err
		}
		if conversation != 0 && c.id != conversation {
			return ErrNotFound
		}
		return do(tx, c, m)
	})
	if err != nil {
		return fmt.Errorf("%s memory %d: %w", what, id, err)
	}
	return nil
}

func forget(tx *transaction, c *Conversation, m Memory) error {
	err := changed(tx, "UPDATE memories SET forgotten_from = state, state = 'forgotten' WHERE id = ? AND state <> 'forgotten'", m.ID)
	if err != nil {
		return err
	}
	return forgetCopiesOf(tx, c, m.ID, false)
}

func restore(tx *transaction, c *Conversation, m Memory) error {
	var same int64
	err := tx.QueryRow(`SELECT other.id FROM memories m JOIN memories other ON other.conversation = m.conversation AND other.folded = m.folded
		AND other.state = 'active' WHERE m.id = ? AND m.state = 'forgotten' AND m.forgotten_from = 'active'`, m.ID).Scan(&same)
	if err == nil {
		return fmt.Errorf("%w: memory %d", ErrSaid, same)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return changed(tx, "UPDATE memories SET state = forgotten_from, forgotten_from = '' WHERE id = ? AND state = 'forgotten'", m.ID)
}

func pin(pinned bool) func(*transaction, *Conversation, Memory) error {
	return func(tx *transaction, _ *Conversation, m Memory) error {
		return changed(tx, "UPDATE memories SET pinned = ? WHERE id = ? AND state = 'active'", pinned, m.ID)
	}
}

func purge(tx *transaction, c *Conversation, m Memory) error {
	if err := c.deleteMemory(tx, m); err != nil {
		return err
	}
	return forgetCopiesOf(tx, c, m.ID, true)
}

// forgetCopiesOf deletes the turn contexts that quote a memory and, if answers, what searches found of it.
func forgetCopiesOf(tx *transaction, c *Conversation, id int64, answers bool) error {
	seqs, err := c.forgetFound(tx, []int64{id}, answers)
	if err != nil || len(seqs) == 0 {
		return err
	}
	tx.tell(c.name, seqs...) // the memory's own conversation is not reported otherwise
	_, err = c.nextVersion(tx)
	return err
}

// mend links the memory that memory id superseded to the one that superseded id.
func mend(tx *transaction, id int64) error {
	_, err := tx.Exec("UPDATE memories SET superseded_by = (SELECT superseded_by FROM memories WHERE id = ?1) WHERE superseded_by = ?1", id)
	return err
}

// Chain returns the memories that a memory superseded and those that superseded it, transitively:
// the oldest facts first, with the memory itself among them. ErrNotFound: there is no such
// memory.
func (am AllMemories) Chain(ctx context.Context, id int64) (chain []Memory, err error) {
	err = am.store.view(ctx, func(tx *transaction) error {
		if _, err := readMemory(tx, id); err != nil {
			return err
		}
		chain, err = readMemories(tx, `WHERE m.id IN (
			WITH RECURSIVE later (id) AS (SELECT ?1 UNION SELECT superseded_by FROM memories JOIN later USING (id) WHERE superseded_by IS NOT NULL),
			earlier (id) AS (SELECT ?1 UNION SELECT memories.id FROM memories JOIN earlier ON superseded_by = earlier.id)
			SELECT id FROM later UNION SELECT id FROM earlier) ORDER BY m.id`, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the chain of memory %d: %w", id, err)
	}
	return chain, nil
}

// forgetFrom removes a message from the sources of memories. It deletes, and returns, those without
// another source and those that quote the message.
func (c *Conversation) forgetFrom(tx *transaction, seq int64) (gone []int64, err error) {
	low, high := c.rows(seq, seq)
	from, err := readMemories(tx, "WHERE m.conversation = ? AND m.id IN (SELECT memory FROM memory_sources WHERE message BETWEEN ? AND ?)", c.id, low, high)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec("DELETE FROM memory_sources WHERE message BETWEEN ? AND ?", low, high); err != nil {
		return nil, err
	}
	for _, m := range from {
		if len(m.Sources) > 1 && m.By != byExtractive {
			continue
		}
		if err := c.deleteMemory(tx, m); err != nil {
			return nil, fmt.Errorf("delete memory %d: %w", m.ID, err)
		}
		gone = append(gone, m.ID)
	}
	return gone, nil
}

func (c *Conversation) deleteMemory(tx *transaction, m Memory) error {
	if err := unindexMemory(tx, c.id, m.ID, m.Content, m.About); err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM memory_people WHERE memory = ?", m.ID); err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM memory_sources WHERE memory = ?", m.ID); err != nil {
		return err
	}
	if err := mend(tx, m.ID); err != nil {
		return err
	}
	return changed(tx, "DELETE FROM memories WHERE id = ? AND conversation = ?", m.ID, c.id)
}
