// Copies of messages in the results of the bot's own tools. Deletions reach them too.

package memory

import (
	"context"
	"database/sql"
	"slices"

	"cairn/chat"
	"cairn/llm"
)

// copyGone replaces the result of a tool that found a deleted message.
const copyGone = "What was found here has been deleted."

// copying are the tools that return messages, or text derived from them.
var copying = []string{"memory_search", "recall", "expand"}

// noting reports whether a tool's arguments may repeat the messages of its turn. Those of other
// programs' tools may contain anything.
func noting(tool string) bool { return tool != "context" }

// mayRepeat reports whether a tool's result may repeat the messages of its turn: what it found or,
// for another program's tool, what it was given.
func mayRepeat(tool string) bool { return tool != "context" && tool != "memory_save" }

// forgetCopies empties tool results that found deleted messages and, in the turns of those
// messages, the arguments of memory tools and what the provider added, such as reasoning. It
// returns the seqs that it changed. No summary is built from any of this, so none needs a repair.
func (c *Conversation) forgetCopies(tx *transaction, deleted []chat.Message) (seqs []int64, err error) {
	found := make(map[int64]chat.Message)
	for _, m := range deleted {
		last, err := c.lastOf(tx, m.Turn)
		if err != nil {
			return nil, err
		}
		for _, query := range []struct {
			from, to int64
			which    string
			args     []any
		}{
			{m.Turn, last, "AND (role = 'tool' AND tool NOT IN ('context', 'memory_save') OR role = 'assistant' AND (calls <> '' OR native <> ''))", nil},
			{1, maxSeq, "AND id IN (SELECT message FROM quotes WHERE kind = 'message' AND source IN (?, ?)) AND role = 'tool'", []any{c.row(m.Seq), c.row(0)}},
		} {
			copies, err := c.messages(tx, query.from, query.to, query.which, query.args...)
			if err != nil {
				return nil, err
			}
			for _, m := range copies {
				found[m.Seq] = m
			}
		}
	}
	for seq, m := range found {
		if is := withoutCopies(m); is.Text != m.Text || len(m.Native) > 0 || !slices.Equal(is.Calls, m.Calls) {
			if err := c.replace(tx, m, is); err != nil {
				return nil, err
			}
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return seqs, nil
}

// forgetReasoning removes the stored reasoning of messages after a deleted one: it may repeat the
// message in any words. It returns the seqs that it changed.
func (c *Conversation) forgetReasoning(tx *transaction, deleted []chat.Message) (seqs []int64, err error) {
	if len(deleted) == 0 {
		return nil, nil
	}
	first := deleted[0].Seq
	for _, m := range deleted {
		first = min(first, m.Seq)
	}
	low, high := c.rows(first, maxSeq)
	err = each(tx, func(rows *sql.Rows) error {
		var seq int64
		err := rows.Scan(&seq)
		seqs = append(seqs, seq)
		return err
	}, "UPDATE messages INDEXED BY messages_reasoning SET native = '' WHERE id BETWEEN ? AND ? AND native <> '' RETURNING id & 4294967295", low, high)
	return seqs, err
}

// forgetFound empties search results and turn contexts with memories that are gone, in this
// conversation and in others that recalled them. It returns the seqs that it changed here;
// WatchCopies reports those elsewhere.
func (c *Conversation) forgetFound(tx *transaction, memories []int64) (seqs []int64, err error) {
	quoting, err := c.forgetQuoted(tx, memories, true)
	if err != nil {
		return nil, err
	}
	elsewhere := make(map[string][]int64)
	for _, q := range quoting {
		if q.at.id == c.id {
			seqs = append(seqs, q.seq)
			continue
		}
		if elsewhere[q.at.name] == nil {
			if _, err := q.at.nextVersion(tx); err != nil {
				return nil, err
			}
		}
		elsewhere[q.at.name] = append(elsewhere[q.at.name], q.seq)
	}
	for name, seqs := range elsewhere {
		c.store.elsewhere = append(c.store.elsewhere, copies{name, seqs})
	}
	return seqs, nil
}

// copies are messages of another conversation with search results that are gone.
type copies struct {
	conversation string
	seqs         []int64
}

// WatchCopies sets f, which is called after a deletion for messages that changed in other
// conversations, where a search had found the deleted text. Call it before the first deletion; f
// must not block.
func (s *Store) WatchCopies(f func(conversation string, seqs []int64)) { s.watch = f }

// lastOf returns the seq of a turn's last message. Its messages are neighbours.
func (c *Conversation) lastOf(tx *transaction, turn int64) (seq int64, err error) {
	low, high := c.rows(turn, maxSeq)
	err = tx.QueryRow(`SELECT coalesce((SELECT seq - 1 FROM messages WHERE id BETWEEN ?1 AND ?2 AND turn > ?3 ORDER BY id LIMIT 1), ?4)`, low, high, turn, maxSeq).Scan(&seq)
	return seq, err
}

// withoutCopies returns a message of a model or tool without what it copied from elsewhere.
func withoutCopies(m chat.Message) chat.Message {
	if m.Role == llm.RoleTool {
		m.Text = copyGone
	} else {
		m.Native = nil
		m.Calls = slices.Clone(m.Calls)
		for i := range m.Calls {
			if noting(m.Calls[i].Name) {
				m.Calls[i].Arguments = "{}"
			}
		}
	}
	m.Tokens = chat.TokensOf(m)
	return m
}

// replace writes what is left of a message. was is the message as indexed: results of memory_save
// are in the search index.
func (c *Conversation) replace(tx *transaction, was, m chat.Message) error {
	if err := c.unindex(tx, was); err != nil {
		return err
	}
	calls, err := toJSON(m.Calls)
	if err != nil {
		return err
	}
	low, high := c.rows(m.Seq, m.Seq)
	if m.Role == llm.RoleTool {
		if _, err := tx.Exec("DELETE FROM quotes WHERE message = ?", low); err != nil {
			return err
		}
		return changed(tx, "UPDATE messages SET text = ?, tokens = ? WHERE id BETWEEN ? AND ?", m.Text, m.Tokens, low, high)
	}
	return changed(tx, "UPDATE messages SET calls = ?, native = ?, tokens = ? WHERE id BETWEEN ? AND ?", calls, string(m.Native), m.Tokens, low, high)
}

// mayCopy reports whether withoutCopies may change a message.
func mayCopy(m chat.Message) bool {
	return m.Role == llm.RoleTool || len(m.Calls) > 0 || len(m.Native) > 0
}

// uncopied returns an answer that is about to be stored, without what was deleted during its turn.
func (c *Conversation) uncopied(tx *transaction, turn int64, answer []chat.Message) ([]chat.Message, error) {
	if !slices.ContainsFunc(answer, mayCopy) { // as most are
		return answer, nil
	}
	last, err := c.lastOf(tx, turn)
	if err != nil {
		return nil, err
	}
	var near bool
	low, high := c.rows(turn, last)
	err = tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM messages INDEXED BY messages_changed
		WHERE id BETWEEN ? AND ? AND changed_with IS NOT NULL AND deleted_at IS NOT NULL AND turn = ?)`, low, high, turn).Scan(&near)
	if err != nil {
		return nil, err
	}
	answer = slices.Clone(answer)
	for i, m := range answer {
		blank := near && (m.Role == llm.RoleAssistant || mayRepeat(m.Tool))
		if !blank {
			blank, err = c.quotesGone(tx, m)
		}
		if err != nil {
			return nil, err
		}
		if blank {
			answer[i] = withoutCopies(m)
		}
	}
	return answer, nil
}

// stillAsked returns errUnsaid if all messages that a turn answers were deleted while it ran.
func (c *Conversation) stillAsked(ctx context.Context, turn int64) error {
	return c.store.view(ctx, func(tx *transaction) error {
		var left, gone int
		last, err := c.lastOf(tx, turn)
		if err != nil {
			return err
		}
		low, high := c.rows(turn, last)
		err = tx.QueryRow("SELECT count(*) FILTER (WHERE deleted_at IS NULL), count(*) FILTER (WHERE deleted_at IS NOT NULL) FROM messages WHERE id BETWEEN ? AND ? AND turn = ? AND role = 'user'",
			low, high, turn).Scan(&left, &gone)
		if err == nil && left == 0 && gone > 0 {
			err = errUnsaid
		}
		return err
	})
}
