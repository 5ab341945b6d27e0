// Quotes: the messages and memories that a tool result repeats.

package store

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/chat"
	"cairn/llm"
)

// unknown is one of the quoted ids if a tool result cannot be parsed: it may quote anything.
const unknown = 0

// quotedBy returns the messages of its conversation, and the memories of any, that a tool result
// quotes.
func quotedBy(m chat.Message) (messages, memories []int64) {
	switch {
	case m.Role != llm.RoleTool || m.Text == DeletedCopyText:
	case m.Tool == "memory_save":
		for _, found := range quoted.FindAllStringSubmatch(m.Text, -1) {
			if id, err := strconv.ParseInt(found[1], 10, 64); err == nil { // otherwise it is part of a quote
				memories = append(memories, id)
			}
		}
	case slices.Contains(copyingTools, m.Tool) && strings.HasPrefix(m.Text, "{"): // otherwise it is an error message
		var found struct {
			Messages []struct {
				Seq int64 `json:"seq"`
			} `json:"messages"`
			Memories []struct {
				ID       int64   `json:"id"`
				Messages []int64 `json:"messages"`
			} `json:"memories"`
		}
		if json.Unmarshal([]byte(m.Text), &found) != nil {
			return []int64{unknown}, []int64{unknown}
		}
		for _, m := range found.Messages {
			messages = append(messages, m.Seq)
		}
		for _, m := range found.Memories {
			messages, memories = append(messages, m.Messages...), append(memories, m.ID)
		}
		none := func(number int64) bool { return number <= 0 }
		messages, memories = slices.DeleteFunc(messages, none), slices.DeleteFunc(memories, none)
	}
	return messages, memories
}

// quoted matches a memory as quoted by memory_save, see Saved.answer and hint.
var quoted = regexp.MustCompile(`(?i)\bmemory (\d+)(?: says)?: "`)

// fillQuotes stores the quotes of tool results that are older than the table of quotes.
func fillQuotes(tx *Tx) error {
	for _, c := range tx.Conversations("ORDER BY id") {
		found := c.In(tx).MessagesOf("messages INDEXED BY messages_copies", 1, MaxSeq, "AND role = 'tool' AND tool IN ('memory_search', 'recall', 'expand', 'memory_save')")
		for _, m := range found {
			c.keepQuotes(tx, m)
		}
	}
	tx.Do("DROP INDEX messages_copies")
	return nil
}

// keepQuotes stores what a tool result quotes.
func (c *Conversation) keepQuotes(tx *Tx, m chat.Message) {
	messages, memories := quotedBy(m)
	c.addQuotes(tx, c.Row(m.Seq), messages, memories)
}

// quotesGone reports whether something that a tool result quotes was deleted. A result that cannot
// be parsed may quote it.
func (c *Conversation) quotesGone(tx *Tx, m chat.Message) bool {
	messages, memories := quotedBy(m)
	return slices.Contains(messages, unknown) || c.sourcesGone(tx, messages, memories, "")
}

// sourcesGone reports whether one of the messages was deleted, or one of the memories, or has that
// state.
func (c *Conversation) sourcesGone(tx *Tx, messages, memories []int64, state string) bool {
	return slices.ContainsFunc(messages, func(seq int64) bool {
		return Exists(tx, "SELECT 1 FROM messages WHERE id = ? AND deleted_at IS NOT NULL", c.Row(seq))
	}) || slices.ContainsFunc(memories, func(id int64) bool {
		return !Exists(tx, "SELECT 1 FROM memories WHERE id = ? AND state <> ?", id, state)
	})
}
