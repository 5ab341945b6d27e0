// Copies of messages in the results of the bot's own tools. Deletions reach them too.

package store

import (
	"slices"
	"strings"

	"cairn/chat"
	"cairn/llm"
)

// DeletedCopyText replaces the result of a tool that found a deleted message.
const DeletedCopyText = "What was found here has been deleted."

// copyingTools are the tools that return messages, or text derived from them.
var copyingTools = []string{"memory_search", "recall", "expand"}

// argumentsMayRepeat reports whether a tool's arguments may repeat the messages of its turn. Those of other
// programs' tools may contain anything.
func argumentsMayRepeat(tool string) bool { return tool != "context" }

// resultMayRepeat reports whether a tool's result may repeat the messages of its turn: what it found or,
// for another program's tool, what it was given.
func resultMayRepeat(tool string) bool { return tool != "context" && tool != "memory_save" }

// LastOf returns the seq of a turn's last message. Its messages are neighbours.
func (rs Rows) LastOf(turn int64) int64 {
	low, high := rs.c.RowRange(turn, MaxSeq)
	return Get[int64](rs.tx, `SELECT coalesce((SELECT seq - 1 FROM messages WHERE id BETWEEN ?1 AND ?2 AND turn > ?3 ORDER BY id LIMIT 1), ?4)`, low, high, turn, MaxSeq)
}

// quotesFinds reports whether a message is an answer without a model: it quotes what the tools of its turn found.
func quotesFinds(m chat.Message) bool {
	return m.Role == llm.RoleAssistant && strings.Contains(m.Text, "“") && llm.SaidOffline(m.Text)
}

// Quoting returns a tool's result, and the answer without a model that quotes it, if there is one.
func (rs Rows) Quoting(result chat.Message) []chat.Message {
	later := rs.Messages(result.Seq, rs.LastOf(result.Turn), "AND role = 'assistant'")
	return append([]chat.Message{result}, slices.DeleteFunc(later, func(m chat.Message) bool { return !quotesFinds(m) })...)
}

// WithoutCopies returns a message of a model or tool without its copies of other texts.
func WithoutCopies(m chat.Message) chat.Message {
	if m.Role == llm.RoleTool || quotesFinds(m) {
		m.Text = DeletedCopyText
	}
	if m.Role == llm.RoleAssistant {
		m.Native = nil
		m.Calls = slices.Clone(m.Calls)
		for i := range m.Calls {
			if argumentsMayRepeat(m.Calls[i].Name) {
				m.Calls[i].Arguments = "{}"
			}
		}
	}
	m.Tokens = chat.TokensOf(m)
	return m
}

// Replace writes what WithoutCopies leaves of a message.
func (rs Rows) Replace(was, m chat.Message) {
	row := rs.c.Row(m.Seq)
	if m.Text != was.Text { // otherwise it is a model's, and so is its index
		rs.Unindex(was)
		rs.tx.Do("DELETE FROM quotes WHERE message = ?", row)
	}
	rs.tx.Do("UPDATE messages SET text = ?, calls = ?, native = ?, tokens = ? WHERE id = ?", m.Text, toJSON(m.Calls), string(m.Native), m.Tokens, row)
}

// mayCopy reports whether WithoutCopies may change a message.
func mayCopy(m chat.Message) bool {
	return m.Role == llm.RoleTool || len(m.Calls) > 0 || len(m.Native) > 0
}

// withoutDeletedCopies returns an answer that is about to be stored, without what was deleted during its turn.
func (c *Conversation) withoutDeletedCopies(tx *Tx, turn int64, answer []chat.Message) []chat.Message {
	if !slices.ContainsFunc(answer, mayCopy) { // as most are
		return answer
	}
	low, high := c.RowRange(turn, c.In(tx).LastOf(turn))
	near := Exists(tx, `SELECT 1 FROM messages INDEXED BY messages_changed
		WHERE id BETWEEN ? AND ? AND changed_with IS NOT NULL AND deleted_at IS NOT NULL AND turn = ?`, low, high, turn)
	answer = slices.Clone(answer)
	gone := false
	for i, m := range answer {
		lost := c.quotesGone(tx, m)
		gone = gone || lost
		if near && (m.Role == llm.RoleAssistant || resultMayRepeat(m.Tool)) || lost || gone && quotesFinds(m) {
			answer[i] = WithoutCopies(m)
		}
	}
	return answer
}
