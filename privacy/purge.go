// Purging: deleting a whole conversation, from a shell.

package privacy

import (
	"context"
	"database/sql"
	"fmt"

	"cairn/store"
)

// Holding is the amount of data of a conversation.
type Holding struct {
	Channel  string `json:"channel"`
	Messages int    `json:"messages"` // including waiting ones and those of the bot
	Memories int    `json:"memories"`
}

// Holdings returns the amount of data of conversations whose name is one of names, or is below one
// that ends in a slash.
func (ps Everyone) Holdings(ctx context.Context, names ...string) (found []Holding, err error) {
	err = ps.store.View(ctx, func(tx *store.Tx) error {
		for _, name := range names {
			within := "c.name = ?1"
			if name != "" && name[len(name)-1] == '/' {
				within = "c.name >= ?1 AND c.name < substr(?1, 1, length(?1) - 1) || '0'" // 0 comes right after /
			}
			more, err := store.Select(tx, func(rows *sql.Rows, h *Holding) error { return rows.Scan(&h.Channel, &h.Messages, &h.Memories) },
				`SELECT c.name, (SELECT count(*) FROM messages m WHERE m.id BETWEEN c.id << 32 AND c.id << 32 | 4294967295 AND m.deleted_at IS NULL)
				+ (SELECT count(*) FROM inbox i WHERE i.conversation = c.id), (SELECT count(*) FROM memories k WHERE k.conversation = c.id)
				FROM conversations c WHERE `+within+" ORDER BY c.id", name)
			if err != nil {
				return err
			}
			found = append(found, more...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count what is kept: %w", err)
	}
	return found, nil
}

// Purge deletes everything of the conversation, in one transaction: all messages, whoever wrote
// them, everything derived from them, and what threads inherited from it. Its name and the
// platform IDs of the messages stay, so that no message is delivered again or backfilled from the
// platform as missed.
func (pr Conversation) Purge(ctx context.Context) error {
	return erase(ctx, pr.c, "delete everything", func(tx *store.Tx) error { return purge(pr.c, tx) })
}

// erase is Store.Erase; an error says what was tried.
func erase(ctx context.Context, c *store.Conversation, tried string, do func(*store.Tx) error) error {
	return c.Fail(tried, c.Store().Erase(ctx, do))
}

func purge(c *store.Conversation, tx *store.Tx) error {
	if err := purgeTasks(c, tx); err != nil {
		return err
	}
	if err := purgeFromThreads(c, tx); err != nil {
		return err
	}
	memories, err := store.Column[int64](tx, "SELECT id FROM memories WHERE conversation = ? ORDER BY id", c.ID())
	if err != nil {
		return err
	}
	if _, err := c.In(tx).ForgetQuotes(memories, true); err != nil {
		return err
	}
	low, high := c.RowRange(1, store.MaxSeq)
	for _, statement := range []string{
		`INSERT INTO gone (conversation, platform_id) SELECT ?1, platform_id FROM messages WHERE id BETWEEN ?2 AND ?3 AND role = 'user' AND platform_id <> '' ON CONFLICT DO NOTHING`,
		`INSERT INTO gone (conversation, platform_id) SELECT ?1, platform_id FROM inbox WHERE conversation = ?1 ON CONFLICT DO NOTHING`,
		`DELETE FROM memory_people WHERE memory IN (SELECT id FROM memories WHERE conversation = ?1)`,
		`DELETE FROM memory_sources WHERE memory IN (SELECT id FROM memories WHERE conversation = ?1) OR message BETWEEN ?2 AND ?3`,
		`DELETE FROM memory_terms WHERE conversation = ?1`,
		`DELETE FROM memories WHERE conversation = ?1`,
		`DELETE FROM compactions WHERE conversation = ?1`,
		`DELETE FROM pins WHERE conversation = ?1`,
		`DELETE FROM files WHERE conversation = ?1`,
		`DELETE FROM inbox WHERE conversation = ?1`,
		`DELETE FROM outbox WHERE conversation = ?1`,
		`DELETE FROM message_terms WHERE conversation = ?1`,
		`DELETE FROM quotes WHERE message BETWEEN ?2 AND ?3`,
		`DELETE FROM messages WHERE id BETWEEN ?2 AND ?3`,
		`DELETE FROM members WHERE conversation = ?1`,
		`DELETE FROM sessions WHERE conversation = ?1`,
		`DELETE FROM wanted_sessions WHERE conversation = ?1`,
		`DELETE FROM inherited WHERE conversation = ?1 OR parent = ?1`,
		`DELETE FROM overrides WHERE conversation = ?1`,
		`DELETE FROM erasures WHERE conversation = ?1`,
		`UPDATE conversations SET version = version + 1, cleared_to = 0, session_start = next_seq, following = 0, gap = NULL, gap_again = 0,
				read_back = 1, spared_from = 0, spared_to = 0, counted = 0, counted_estimate = 0, counted_by = '', counted_with = 0, label = '' WHERE id = ?1`,
	} {
		if _, err := tx.Exec(statement, c.ID(), low, high); err != nil {
			return err
		}
	}
	return nil
}

// purgeFromThreads removes quotes of the conversation's messages from its threads, and makes
// those reread what they inherited.
func purgeFromThreads(c *store.Conversation, tx *store.Tx) error {
	if err := c.In(tx).TouchThreads("true"); err != nil {
		return err
	}
	threads, err := tx.Conversations("WHERE name >= ?1 || '/' AND name < ?1 || '0'", c.Name())
	if err != nil {
		return err
	}
	low, high := c.RowRange(1, store.MaxSeq)
	for _, t := range threads {
		quoted, err := store.Column[string](tx, `SELECT reply_to FROM messages INDEXED BY messages_quotes WHERE conversation = ?1 AND quote <> ''
			UNION SELECT reply_to FROM inbox WHERE conversation = ?1 AND quote <> ''`, t.ID())
		if err != nil {
			return err
		}
		for _, id := range quoted {
			ours, err := store.Value[bool](tx, `SELECT EXISTS (SELECT 1 FROM messages WHERE id BETWEEN ?2 AND ?3 AND platform_id = ?1)
				OR EXISTS (SELECT 1 FROM outbox INDEXED BY outbox_platform WHERE conversation = ?4 AND platform_id = ?1 AND platform_id <> '')`, id, low, high, c.ID())
			if err == nil && ours {
				_, err = deleteAll(t, tx, []string{id})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
