// Purging: deleting a whole conversation, from a shell, and what sub-agents derived from deleted messages.

package privacy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/store"
)

// Holding is the amount of data of a conversation, or of a person in it.
type Holding struct {
	Channel  string `json:"channel"`
	Messages int    `json:"messages"` // including waiting ones; of a conversation also those of the bot
	Memories int    `json:"memories"`
}

func (h Holding) String() string {
	return chat.Counted(h.Messages, "message", "messages") + " and " + chat.Counted(h.Memories, "memory", "memories")
}

// Holdings are those of several conversations.
type Holdings []Holding

// Total returns the sum of all.
func (all Holdings) Total() (sum Holding) {
	for _, h := range all {
		sum.Messages += h.Messages
		sum.Memories += h.Memories
	}
	return sum
}

// Holdings returns the conversation with a name, or those below a name that ends in a slash, and the amount of data of each.
func (ps Everyone) Holdings(ctx context.Context, name string) (in []*store.Conversation, held Holdings, err error) {
	which := "WHERE name = ?1"
	if strings.HasSuffix(name, "/") {
		which = "WHERE name >= ?1 AND name < substr(?1, 1, length(?1) - 1) || '0'" // 0 comes right after /
	}
	return ps.hold(ctx, func(c *store.Conversation, tx *store.Tx) Holding {
		h := Holding{Channel: c.Name()}
		tx.Row(`SELECT (SELECT count(*) FROM messages WHERE `+store.Own+` AND deleted_at IS NULL)
			+ (SELECT count(*) FROM inbox WHERE conversation = ?1),
			(SELECT count(*) FROM memories WHERE conversation = ?1)`, c.ID()).Scan(&h.Messages, &h.Memories)
		return h
	}, which+" ORDER BY id", name)
}

func (ps Everyone) hold(
	ctx context.Context, count func(*store.Conversation, *store.Tx) Holding, which string, args ...any,
) (in []*store.Conversation, held Holdings, err error) {
	held = Holdings{}
	err = ps.store.View(ctx, func(tx *store.Tx) {
		in = tx.Conversations(which, args...)
		for _, c := range in {
			held = append(held, count(c, tx))
		}
	})
	return in, held, store.Fail("count what is stored", err)
}

// Purge deletes everything of the conversation, and what threads inherited from it. Its name and the platform IDs of the messages
// stay, so that no message is delivered again or backfilled from the platform as missed.
func (pr Conversation) Purge(ctx context.Context) error {
	return erase(ctx, pr.c, "delete everything", func(tx *store.Tx) { purge(pr.c, tx) })
}

func erase(ctx context.Context, c *store.Conversation, tried string, do func(*store.Tx)) error {
	return c.Fail(tried, c.Store().Erase(ctx, do))
}

func purge(c *store.Conversation, tx *store.Tx) {
	for _, t := range tx.Tasks("t.parent = ?", c.ID()) {
		purgeTask(tx, t)
	}
	// The rows of tasks stay, so that no number is used twice.
	tx.Do(`UPDATE tasks SET text = '', author = '', above = '{}', own = '{}',
		state = iif(state = 'open', 'stopped', state), ended_at = coalesce(ended_at, ?)
		WHERE id = ?`, store.Now(), c.ID())
	tx.Do("DELETE FROM task_sources WHERE task = ?", c.ID())
	tx.Do("UPDATE pauses SET made_by = '', made_by_id = '' WHERE scope = ?", c.Name())
	c.In(tx).TouchThreads("true") // they reread what they inherited, and quote nothing of it any more
	for _, t := range tx.Conversations("WHERE name >= ?1 || '/' AND name < ?1 || '0'", c.Name()) {
		deleteAll(t, tx, store.Values[string](tx, `WITH quoting (id) AS (
			SELECT reply_to FROM messages INDEXED BY messages_quotes WHERE conversation = ?2 AND quote <> ''
			UNION SELECT reply_to FROM inbox WHERE conversation = ?2 AND quote <> '')
			SELECT q.id FROM quoting q WHERE EXISTS (SELECT 1 FROM messages WHERE `+store.Own+` AND platform_id = q.id)
			OR EXISTS (SELECT 1 FROM outbox INDEXED BY outbox_platform WHERE conversation = ?1 AND platform_id = q.id AND platform_id <> '')`, c.ID(), t.ID()))
	}
	c.In(tx).ForgetQuotes(store.Values[int64](tx, "SELECT id FROM memories WHERE conversation = ? ORDER BY id", c.ID()), true)
	low, high := c.RowRange(1, store.MaxSeq)
	statements := []string{
		`INSERT INTO gone (conversation, platform_id) SELECT ?1, platform_id FROM messages
			WHERE ` + store.Own + ` AND role = 'user' AND platform_id <> '' ON CONFLICT DO NOTHING`,
		`INSERT INTO gone (conversation, platform_id) SELECT ?1, platform_id FROM inbox WHERE conversation = ?1 ON CONFLICT DO NOTHING`,
		`DELETE FROM memory_people WHERE memory IN (SELECT id FROM memories WHERE conversation = ?1)`,
		`DELETE FROM memory_sources WHERE memory IN (SELECT id FROM memories WHERE conversation = ?1) OR message BETWEEN ?2 AND ?3`,
		`DELETE FROM quotes WHERE message BETWEEN ?2 AND ?3`,
		`DELETE FROM turn_usage WHERE id BETWEEN ?2 AND ?3`,
		`DELETE FROM inherited WHERE conversation = ?1 OR parent = ?1`,
	}
	for _, table := range purged {
		statements = append(statements, "DELETE FROM "+table+" WHERE conversation = ?1")
	}
	statements = append(statements, `DELETE FROM messages WHERE id BETWEEN ?2 AND ?3`,
		`UPDATE conversations SET cleared_to = 0, session_start = next_seq, following = 0, gap = NULL, gap_again = 0,
			read_back = 1, unread_from = 0, bot_turns = 0, spared_from = 0, spared_to = 0, counted = 0, counted_estimate = 0, counted_by = '', counted_with = 0, label = '' WHERE id = ?1`)
	for _, statement := range statements {
		tx.Do(statement, c.ID(), low, high)
	}
	c.In(tx).NextVersion()
}

// purged are the tables of whose rows each belongs to one conversation.
var purged = []string{
	"memory_terms", "memories", "compactions", "pins", "files", "inbox", "outbox", "message_terms", "members",
	"sessions", "wanted_sessions", "overrides", "erasures",
}

// deleteTasksOf deletes what tasks derived from messages: their conversations and their reports here, which it returns, and then
// what other tasks derived from those reports. An open task ends silently.
func deleteTasksOf(c *store.Conversation, tx *store.Tx, deleted []chat.Message) (reports []chat.Message) {
	seen := map[int64]bool{} // messages
	for _, m := range deleted {
		seen[m.Seq] = true
	}
	for all := slices.Clone(deleted); len(all) > 0; all = all[1:] {
		for _, t := range tx.Tasks("t.id IN (SELECT task FROM task_sources WHERE message = ?)", c.Row(all[0].Seq)) {
			for _, m := range deleteTask(c, tx, t) {
				if !seen[m.Seq] {
					seen[m.Seq] = true
					reports = append(reports, m)
					all = append(all, m)
				}
			}
		}
	}
	return reports
}

// deleteTask deletes everything in a task's conversation, and returns what the task reported here.
func deleteTask(c *store.Conversation, tx *store.Tx, t store.Task) (report []chat.Message) {
	purgeTask(tx, t)
	name := fmt.Sprintf("%s-%d", store.TaskID, t.Number)
	c.In(tx).DeleteWaiting(name)
	return said(c, tx, name)
}

// purgeTask deletes everything in a task's conversation, and stops its turn.
func purgeTask(tx *store.Tx, t store.Task) {
	for _, child := range tx.Conversations("WHERE name = ?", t.Conversation) {
		purge(child, tx)
	}
}
