// Import of exported memories.

package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"cairn/compactor/summarize"
	"cairn/store"
	"cairn/words"
)

// ImportResult counts the outcomes of an import.
type ImportResult struct {
	Fresh int // new
	Known int // existed already, with this or the same content
	Lost  int // source messages that do not exist here
	Out   int // left out: about a person who opted out
}

// ImportError identifies a memory that cannot be imported, and why.
type ImportError struct {
	Index int // from 0
	Err   error
}

func (e *ImportError) Error() string { return e.Err.Error() }

func (e *ImportError) Unwrap() error { return e.Err }

// Import imports exported memories in one transaction: all of them, or, with an error that may be
// an *ImportError, none. Existing memories are left unchanged, so an import can be repeated.
// Memories get new numbers; which one superseded which is kept if both are in the file.
func (ms Memories) Import(ctx context.Context, all []Exported) (n ImportResult, err error) {
	if err := CheckExported(all); err != nil {
		return n, err
	}
	err = ms.store.Update(ctx, func(tx *store.Tx) error {
		n = ImportResult{}
		rows := make(map[int64]int64) // by the number in the file
		taken := make(map[int64]bool) // rows: each is one of the file's
		var fresh []int
		for i, e := range all {
			id, isFresh, err := importMemory(tx, e, taken, &n)
			if err != nil {
				return &ImportError{i, err}
			}
			taken[id] = true
			rows[e.ID] = id
			if isFresh {
				fresh = append(fresh, i)
			}
		}
		for _, i := range fresh {
			by := rows[all[i].SupersededBy]
			if all[i].SupersededBy == 0 || by == 0 {
				continue
			}
			if err := store.Changed(tx, "UPDATE memories SET superseded_by = ? WHERE id = ?", by, rows[all[i].ID]); err != nil {
				return &ImportError{i, err}
			}
		}
		return nil
	})
	if err != nil {
		return ImportResult{}, fmt.Errorf("import memories: %w", err)
	}
	return n, nil
}

// importMemory writes one memory, unless it exists, and returns its number. taken are the rows that
// other memories of the file were matched to.
func importMemory(tx *store.Tx, e Exported, taken map[int64]bool, n *ImportResult) (id int64, fresh bool, err error) {
	if _, err := tx.Exec("INSERT INTO conversations (name, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING", e.Conversation, store.Now()); err != nil {
		return 0, false, err
	}
	c, err := tx.Conversation(e.Conversation)
	if err != nil {
		return 0, false, err
	}
	folded := words.Fold(e.Content)
	if id, err = rowOf(c, tx, e, folded, taken); err != nil || id != 0 {
		n.Known++
		return id, false, err
	}
	sources, err := messagesHere(c, tx, e.Messages)
	if err != nil {
		return 0, false, err
	}
	d := draft{MemoryDraft: summarize.MemoryDraft{Content: e.Content, About: e.About}, sources: sources, speaker: e.Speaker, speakerID: e.SpeakerID, aboutID: e.AboutID}
	d.concern(e.AboutID != "" && e.AboutID != e.SpeakerID)
	var out *OptedOutError
	if err := checkOptOuts(c, tx, d); errors.As(err, &out) {
		n.Out++
		return 0, false, nil
	} else if err != nil {
		return 0, false, err
	}
	was, expires := "", int64(0)
	if e.State == "forgotten" {
		was = "active"
		if e.SupersededBy != 0 {
			was = "superseded"
		}
	}
	if !e.Expires.IsZero() {
		expires = e.Expires.UnixMilli()
	}
	err = tx.QueryRow(`INSERT INTO memories (conversation, kind, content, folded, importance, pinned, speaker, about, reach, made_by,
		said_at, saved_at, expires_at, confirmed, state, forgotten_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?, ?) RETURNING id`,
		c.ID(), e.Kind, e.Content, folded, e.Importance, e.Pinned, e.Speaker, e.About, e.Reach, e.By,
		e.SaidAt.UnixMilli(), e.SavedAt.UnixMilli(), expires, e.Confirmed, e.State, was).Scan(&id)
	if err != nil {
		return 0, false, err
	}
	n.Fresh++
	if err := addPeople(tx, id, d, true); err != nil {
		return 0, false, err
	}
	n.Lost += len(e.Messages) - len(sources)
	if _, err := addSources(c, tx, id, sources); err != nil {
		return 0, false, err
	}
	return id, true, store.IndexMemory(tx, id, e.Content, e.About)
}

// rowOf returns the row of a memory of the file: one with the same time and words, in any state, or
// an active one with the same words; 0 if there is none.
func rowOf(c *store.Conversation, tx *store.Tx, e Exported, folded string, taken map[int64]bool) (found int64, err error) {
	err = store.Each(tx, func(rows *sql.Rows) error {
		var id int64
		var same bool
		err := rows.Scan(&id, &same)
		if found == 0 && (same || !taken[id]) {
			found = id
		}
		return err
	}, `SELECT id, state = 'active' AND ?4 = 'active' FROM memories WHERE conversation = ?1 AND folded = ?2
		AND state IN ('active', 'superseded', 'forgotten', 'replaced') AND (said_at = ?3 OR state = 'active' AND ?4 = 'active') ORDER BY state = ?4 DESC, id`,
		c.ID(), folded, e.SaidAt.UnixMilli(), e.State)
	return found, err
}

// messagesHere finds the messages that a memory came from: by the platform's id, or, without one,
// by seq and time. A different message with the same seq does not count.
func messagesHere(c *store.Conversation, tx *store.Tx, messages []Source) (found []source, err error) {
	for _, m := range messages {
		var s source
		if m.ID != "" {
			err = tx.QueryRow("SELECT seq, author, author_id FROM messages WHERE conversation = ? AND platform_id = ? AND role = 'user' AND deleted_at IS NULL", c.ID(), m.ID).Scan(&s.seq, &s.author, &s.id)
		} else if m.Seq > 0 && m.Seq <= store.MaxSeq {
			low, high := c.RowRange(m.Seq, m.Seq)
			err = tx.QueryRow("SELECT seq, author, author_id FROM messages WHERE id BETWEEN ? AND ? AND said_at = ? AND deleted_at IS NULL", low, high, m.Time.UnixMilli()).Scan(&s.seq, &s.author, &s.id)
		} else {
			continue
		}
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	return inOrder(found), nil
}
