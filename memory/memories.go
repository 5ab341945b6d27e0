// Memories: what is kept beyond the conversation, with the messages it came from.

package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"cairn/compactor"
)

// save writes a draft that was checked. The same fact is one row, however often
// it is said: then the row gains the sources it did not have, and is confirmed
// if there were any.
func (c *Conversation) save(tx *sql.Tx, d draft) (m Memory, fresh bool, err error) {
	var id int64
	err = tx.QueryRow("SELECT id FROM memories WHERE conversation = ? AND folded = ? AND state = 'active'", c.id, d.folded).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		fresh = true
		id, err = c.insertMemory(tx, d)
	case err == nil:
		err = c.confirm(tx, id, d)
	}
	if err != nil {
		return m, false, err
	}
	if d.supersedes != 0 && d.supersedes != id {
		_, err := tx.Exec("UPDATE memories SET state = 'superseded', superseded_by = ? WHERE id = ? AND conversation = ? AND state = 'active'", id, d.supersedes, c.id)
		if err != nil {
			return m, false, err
		}
	}
	m, err = readMemory(tx, id)
	return m, fresh, err
}

func (c *Conversation) insertMemory(tx *sql.Tx, d draft) (id int64, err error) {
	var compaction any
	if d.compaction != 0 {
		compaction = d.compaction
	}
	err = tx.QueryRow(`INSERT INTO memories (conversation, kind, content, folded, importance, speaker, about, made_by, compaction, said_at, saved_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		c.id, d.Kind, d.Content, d.folded, d.Importance, d.speaker, d.About, d.by, compaction, d.saidAt(), now()).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("write memory: %w", err)
	}
	if _, err := c.addSources(tx, id, d.sources); err != nil {
		return 0, err
	}
	counts, length := count(memoryTerms(d.Content, d.About))
	for term, tf := range counts {
		_, err := tx.Exec("INSERT INTO memory_terms (term, conversation, memory, tf, length) VALUES (?, ?, ?, ?, ?)", term, c.id, id, tf, length)
		if err != nil {
			return 0, fmt.Errorf("index memory %d: %w", id, err)
		}
	}
	return id, nil
}

// confirm notes that a known fact was said again. To read the same messages once
// more is not to hear it again; a person who says it without any has said it.
func (c *Conversation) confirm(tx *sql.Tx, id int64, d draft) error {
	added, err := c.addSources(tx, id, d.sources)
	if err != nil || added == 0 && len(d.sources) > 0 {
		return err
	}
	return changed(tx, "UPDATE memories SET confirmed = confirmed + 1 WHERE id = ?", id)
}

func (c *Conversation) addSources(tx *sql.Tx, id int64, sources []source) (added int64, err error) {
	for _, s := range sources {
		result, err := tx.Exec("INSERT INTO memory_sources (memory, message) VALUES (?, ?) ON CONFLICT DO NOTHING", id, c.row(s.seq))
		if err != nil {
			return added, fmt.Errorf("write the sources of memory %d: %w", id, err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return added, err
		}
		added += n
	}
	return added, nil
}

const memoryColumns = `m.id, (SELECT name FROM conversations WHERE id = m.conversation), m.kind, m.content, m.importance,
	m.speaker, m.about, m.made_by, m.said_at, m.saved_at, m.confirmed, m.state, coalesce(m.superseded_by, 0),
	(SELECT json_group_array(message & 4294967295) FROM memory_sources WHERE memory = m.id)`

// readMemories reads the memories that the rest of the query chooses.
func readMemories(tx *sql.Tx, rest string, args ...any) ([]Memory, error) {
	var found []Memory
	err := each(tx, func(rows *sql.Rows) error {
		var m Memory
		var saidAt, savedAt int64
		var sources string
		err := rows.Scan(&m.ID, &m.Conversation, &m.Kind, &m.Content, &m.Importance,
			&m.Speaker, &m.About, &m.By, &saidAt, &savedAt, &m.Confirmed, &m.State, &m.SupersededBy, &sources)
		if err != nil {
			return err
		}
		m.SaidAt, m.SavedAt = at(saidAt), at(savedAt)
		err = json.Unmarshal([]byte(sources), &m.Sources)
		found = append(found, m)
		return err
	}, "SELECT "+memoryColumns+" FROM memories m "+rest, args...)
	return found, err
}

func readMemory(tx *sql.Tx, id int64) (Memory, error) {
	found, err := readMemories(tx, "WHERE m.id = ?", id)
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Memory{}, fmt.Errorf("memory %d: %w", id, err)
	}
	return found[0], nil
}

// Memory returns a memory, whatever its state, and the messages it came from.
// ErrNotFound: there is no such memory.
func (s *Store) Memory(ctx context.Context, id int64) (m Memory, from []compactor.Message, err error) {
	err = s.view(ctx, func(tx *sql.Tx) error {
		if m, err = readMemory(tx, id); err != nil {
			return err
		}
		c := Conversation{store: s, name: m.Conversation}
		if err := tx.QueryRow("SELECT conversation FROM memories WHERE id = ?", id).Scan(&c.id); err != nil {
			return err
		}
		for _, seq := range m.Sources {
			said, err := c.messages(tx, seq, seq, "")
			if err != nil {
				return err
			}
			from = append(from, said...)
		}
		return nil
	})
	if err != nil {
		return Memory{}, nil, fmt.Errorf("show: %w", err)
	}
	return m, from, nil
}

// Remember keeps what a person asks to be remembered; fresh is false if it was
// known. The draft is checked like any other; it may name no messages.
func (c *Conversation) Remember(ctx context.Context, d compactor.MemoryDraft, person string) (m Memory, fresh bool, err error) {
	m, fresh, _, err = c.remember(ctx, draft{MemoryDraft: d, by: byPerson, speaker: person})
	return m, fresh, err
}

// remember checks and saves a draft at once. answer is what a model is told.
func (c *Conversation) remember(ctx context.Context, d draft) (m Memory, fresh bool, answer string, err error) {
	err = c.store.view(ctx, func(tx *sql.Tx) error { // the checks may read much, and writers shall not wait for them
		var next int64
		if err := tx.QueryRow("SELECT next_seq FROM conversations WHERE id = ?", c.id).Scan(&next); err != nil {
			return err
		}
		answer, err = c.check(tx, &d, 1, next-1)
		return err
	})
	if err != nil {
		return m, false, "", err
	}
	err = c.store.update(ctx, func(tx *sql.Tx) error {
		m, fresh, err = c.save(tx, d)
		return err
	})
	return m, fresh, answer, err
}

// Forget takes one of the conversation's memories out of all recall. The row stays,
// as forgotten. ErrNotFound: it has no such memory, or it was forgotten before.
func (c *Conversation) Forget(ctx context.Context, id int64) error {
	err := c.store.update(ctx, func(tx *sql.Tx) error {
		return changed(tx, "UPDATE memories SET state = 'forgotten' WHERE id = ? AND conversation = ? AND state <> 'forgotten'", id, c.id)
	})
	if err != nil {
		return c.fail(fmt.Sprintf("forget memory %d", id), err)
	}
	return nil
}

// Forget is like that of a conversation, for a memory of any.
func (s *Store) Forget(ctx context.Context, id int64) error {
	err := s.update(ctx, func(tx *sql.Tx) error {
		return changed(tx, "UPDATE memories SET state = 'forgotten' WHERE id = ? AND state <> 'forgotten'", id)
	})
	if err != nil {
		return fmt.Errorf("forget memory %d: %w", id, err)
	}
	return nil
}
