// Copies: what the bot's own tools told it of messages. Deletions reach them too.

package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"cairn/compactor"
	"cairn/llm"
)

// copyGone stands in the place of what a tool found and people have deleted.
const copyGone = "What was found here has been deleted."

// copying are the tools that return what was said, or what was made of it.
var copying = []string{"memory_search", "recall", "expand"}

// noting are the tools whose arguments are made of what was just said.
var noting = append([]string{"memory_save"}, copying...)

// forgetCopies empties what models found of deleted messages and, in the turns they
// stood in, what models noted of them: the arguments of memory tools, and what the
// provider added, which may be what the model thought. It returns the seqs of what
// it changed. No summary is made of any of this, so none is made anew.
func (c *Conversation) forgetCopies(tx *transaction, deleted []compactor.Message) (seqs []int64, err error) {
	if len(deleted) == 0 {
		return nil, nil
	}
	gone, first := make(map[int64]bool), int64(maxSeq)
	var turns []int64
	for _, m := range deleted {
		gone[m.Seq], first = true, min(first, m.Seq)
		turns = append(turns, m.Turn)
	}
	found, err := c.messagesOf(tx, "messages INDEXED BY messages_copies", first, maxSeq, "AND role = 'tool' AND tool IN ('memory_search', 'recall', 'expand', 'memory_save') ORDER BY id")
	if err != nil {
		return nil, err
	}
	isGone := absent{message: func(seq int64) (bool, error) { return gone[seq], nil }, memory: there}
	for _, m := range found {
		is, err := withoutCopies(m, slices.Contains(turns, m.Turn), isGone)
		if err == nil && is.Text != m.Text {
			err = c.replace(tx, m, is)
			seqs = append(seqs, m.Seq)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(turns)
	for _, turn := range slices.Compact(turns) {
		last, err := c.lastOf(tx, turn)
		if err != nil {
			return nil, err
		}
		said, err := c.messages(tx, turn, last, "AND role = 'assistant' AND (calls <> '' OR native <> '') ORDER BY id")
		if err != nil {
			return nil, err
		}
		for _, m := range said {
			is, err := withoutCopies(m, true, isGone)
			if err == nil && (len(m.Native) > 0 || !slices.Equal(is.Calls, m.Calls)) {
				err = c.replace(tx, m, is)
				seqs = append(seqs, m.Seq)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return seqs, nil
}

// forgetReasoning removes the reasoning that is stored with what came after a deleted
// message: it may repeat it in any words. It returns the seqs of what it changed.
func (c *Conversation) forgetReasoning(tx *transaction, deleted []compactor.Message) (seqs []int64, err error) {
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

// absent tells whether something that a tool found is gone.
type absent struct {
	message func(seq int64) (bool, error) // of the conversation
	memory  func(id int64) (bool, error)  // of any
}

func there(int64) (bool, error) { return false, nil }

// forgetFound empties what searches found of the conversation's memories that are
// gone, in it and in the others of its server, which may have recalled them. It
// returns the seqs of what it changed here; who watches is told of the others, see
// WatchCopies.
func (c *Conversation) forgetFound(tx *transaction, memories []int64) (seqs []int64, err error) {
	if len(memories) == 0 {
		return nil, nil
	}
	from, err := plainJSON(c.name)
	if err != nil {
		return nil, err
	}
	type place struct {
		at  *Conversation
		seq int64
	}
	var places []place
	err = each(tx, func(rows *sql.Rows) error {
		p := place{at: &Conversation{store: c.store}}
		err := rows.Scan(&p.at.id, &p.at.name, &p.seq)
		places = append(places, p)
		return err
	}, `SELECT v.id, v.name, m.seq FROM conversations v CROSS JOIN messages m INDEXED BY messages_copies ON m.id BETWEEN v.id << 32 AND v.id << 32 | 4294967295
		WHERE m.role = 'tool' AND m.tool IN ('memory_search', 'recall', 'expand', 'memory_save') AND m.tool IN ('memory_search', 'memory_save')
		AND (v.id = ?1 OR ?2 <> '' AND v.name > ?2 || '/' AND v.name < ?2 || '0' AND instr(m.text, ?3) > 0) ORDER BY m.id`, c.id, c.server(), `"from":`+from)
	if err != nil {
		return nil, err
	}
	isGone := absent{message: there, memory: func(id int64) (bool, error) { return slices.Contains(memories, id), nil }}
	elsewhere := make(map[string][]int64)
	changed := func(at *Conversation, seq int64) error {
		if at.id == c.id {
			seqs = append(seqs, seq)
			return nil
		}
		if elsewhere[at.name] == nil {
			if _, err := at.nextGeneration(tx); err != nil {
				return err
			}
		}
		elsewhere[at.name] = append(elsewhere[at.name], seq)
		return nil
	}
	quoting, err := c.forgetQuoted(tx, memories)
	if err != nil {
		return nil, err
	}
	for _, q := range quoting {
		if err := changed(q.at, q.seq); err != nil {
			return nil, err
		}
	}
	for _, p := range places {
		m, err := p.at.message(tx, p.seq)
		if err != nil {
			return nil, err
		}
		is, err := withoutCopies(m, false, isGone)
		if err != nil {
			return nil, err
		}
		if is.Text == m.Text {
			continue
		}
		if err := p.at.replace(tx, m, is); err != nil {
			return nil, err
		}
		if err := changed(p.at, p.seq); err != nil {
			return nil, err
		}
	}
	for name, seqs := range elsewhere {
		c.store.elsewhere = append(c.store.elsewhere, copies{name, seqs})
	}
	return seqs, nil
}

// copies are messages of another conversation in which something was found that is gone.
type copies struct {
	conversation string
	seqs         []int64
}

// WatchCopies has f told, after a deletion, of messages that have changed in other
// conversations than the one it was in: there something of it had been found. It is
// called before anything is deleted; f must not wait.
func (s *Store) WatchCopies(f func(conversation string, seqs []int64)) { s.watch = f }

// lastOf returns the seq of a turn's last message. Its messages are neighbours.
func (c *Conversation) lastOf(tx *transaction, turn int64) (seq int64, err error) {
	low, high := c.rows(turn, maxSeq)
	err = tx.QueryRow(`SELECT coalesce((SELECT seq - 1 FROM messages WHERE id BETWEEN ?1 AND ?2 AND turn > ?3 ORDER BY id LIMIT 1), ?4)`, low, high, turn, maxSeq).Scan(&seq)
	return seq, err
}

// withoutCopies is what a model or a tool said, without what it took from deleted
// messages. near tells that it was said in the turn of one.
func withoutCopies(m compactor.Message, near bool, gone absent) (compactor.Message, error) {
	switch {
	case m.Role == llm.RoleTool && slices.Contains(copying, m.Tool):
		told, err := namesGone(m.Text, gone)
		if err != nil || !near && !told {
			return m, err
		}
		m.Text = copyGone
	case m.Role == llm.RoleTool && m.Tool == "memory_save":
		told, err := quotesGone(m.Text, gone)
		if err != nil || !told {
			return m, err
		}
		m.Text = copyGone
	case m.Role == llm.RoleAssistant && near:
		m.Native = nil
		m.Calls = slices.Clone(m.Calls)
		for i := range m.Calls {
			if slices.Contains(noting, m.Calls[i].Name) {
				m.Calls[i].Arguments = "{}"
			}
		}
	default:
		return m, nil
	}
	m.Tokens = compactor.TokensOf(m)
	return m, nil
}

// quoted is how memory_save quotes a memory, see Saved.answer and hint.
var quoted = regexp.MustCompile(`(?i)\bmemory (\d+)(?: says)?: "`)

// quotesGone tells whether an answer of memory_save quotes a memory that is gone.
func quotesGone(answer string, gone absent) (bool, error) {
	for _, found := range quoted.FindAllStringSubmatch(answer, -1) {
		id, err := strconv.ParseInt(found[1], 10, 64)
		if err != nil {
			continue // it stands in a quote
		}
		if yes, err := gone.memory(id); err != nil || yes {
			return yes, err
		}
	}
	return false, nil
}

// namesGone tells whether the result of a tool names a message or a memory that is gone.
// What cannot be read may.
func namesGone(result string, gone absent) (bool, error) {
	if result == copyGone {
		return false, nil
	}
	var found struct {
		Messages []struct {
			Seq int64 `json:"seq"`
		} `json:"messages"`
		Memories []struct {
			ID       int64   `json:"id"`
			Messages []int64 `json:"messages"`
		} `json:"memories"`
	}
	if json.Unmarshal([]byte(result), &found) != nil {
		return len(result) > 0 && result[0] == '{', nil // else it is an error in words
	}
	var named []int64
	for _, m := range found.Messages {
		named = append(named, m.Seq)
	}
	for _, m := range found.Memories {
		named = append(named, m.Messages...)
		if yes, err := gone.memory(m.ID); err != nil || yes {
			return yes, err
		}
	}
	for _, seq := range named {
		if yes, err := gone.message(seq); err != nil || yes {
			return yes, err
		}
	}
	return false, nil
}

// replace writes what is left of a message; what memory_save answered is in the search
// index, as was.
func (c *Conversation) replace(tx *transaction, was, m compactor.Message) error {
	if err := c.unindex(tx, was); err != nil {
		return err
	}
	calls, err := toJSON(m.Calls)
	if err != nil {
		return err
	}
	low, high := c.rows(m.Seq, m.Seq)
	if m.Role == llm.RoleTool {
		return changed(tx, "UPDATE messages SET text = ?, tokens = ? WHERE id BETWEEN ? AND ?", m.Text, m.Tokens, low, high)
	}
	return changed(tx, "UPDATE messages SET calls = ?, native = ?, tokens = ? WHERE id BETWEEN ? AND ?", calls, string(m.Native), m.Tokens, low, high)
}

// mayCopy tells whether a message may hold what withoutCopies takes out.
func mayCopy(m compactor.Message) bool {
	return m.Role == llm.RoleTool || len(m.Calls) > 0 || len(m.Native) > 0
}

// uncopied is an answer that is about to be written, without what was deleted while
// it was made.
func (c *Conversation) uncopied(tx *transaction, turn int64, answer []compactor.Message) ([]compactor.Message, error) {
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
	isGone := absent{
		message: func(seq int64) (gone bool, err error) {
			low, high := c.rows(seq, seq)
			err = tx.QueryRow("SELECT EXISTS (SELECT 1 FROM messages WHERE id BETWEEN ? AND ? AND deleted_at IS NOT NULL)", low, high).Scan(&gone)
			return gone, err
		},
		memory: func(id int64) (gone bool, err error) {
			err = tx.QueryRow("SELECT ?1 > 0 AND NOT EXISTS (SELECT 1 FROM memories WHERE id = ?1)", id).Scan(&gone)
			return gone, err
		},
	}
	answer = slices.Clone(answer)
	for i, m := range answer {
		answer[i], err = withoutCopies(m, near, isGone)
		if err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// stillAsked returns errUnsaid if what a turn answers was deleted while it runs.
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
