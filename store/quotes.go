// Quotes: which messages and memories the answer of a tool repeats.

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

// unknown is among what a tool quotes if its answer cannot be read: it may quote anything.
const unknown = 0

// quotedBy returns the messages of its conversation, and the memories of any, that the answer
// of a tool quotes.
func quotedBy(m chat.Message) (messages, memories []int64) {
	switch {
	case m.Role != llm.RoleTool || m.Text == DeletedCopyText:
	case m.Tool == "memory_save":
		for _, found := range quoted.FindAllStringSubmatch(m.Text, -1) {
			if id, err := strconv.ParseInt(found[1], 10, 64); err == nil { // else it is part of a quote
				memories = append(memories, id)
			}
		}
	case slices.Contains(copyingTools, m.Tool) && strings.HasPrefix(m.Text, "{"): // else it is an error in words
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

// quoted is how memory_save quotes a memory, see Saved.answer and hint.
var quoted = regexp.MustCompile(`(?i)\bmemory (\d+)(?: says)?: "`)

// fillQuotes notes what the answers of tools quote that were stored before quotes of them were.
func fillQuotes(tx *Tx) error {
	all, err := tx.Conversations("ORDER BY id")
	if err != nil {
		return err
	}
	for _, c := range all {
		found, err := c.In(tx).MessagesOf("messages INDEXED BY messages_copies", 1, MaxSeq, "AND role = 'tool' AND tool IN ('memory_search', 'recall', 'expand', 'memory_save')")
		if err != nil {
			return err
		}
		for _, m := range found {
			if err := c.keepQuotes(tx, m); err != nil {
				return err
			}
		}
	}
	_, err = tx.Exec("DROP INDEX messages_copies")
	return err
}

// keepQuotes stores what the answer of a tool quotes.
func (c *Conversation) keepQuotes(tx *Tx, m chat.Message) error {
	messages, memories := quotedBy(m)
	return c.addQuotes(tx, c.Row(m.Seq), messages, memories)
}

// quotesGone reports whether something that a tool's answer quotes was deleted. What cannot be
// read may quote that.
func (c *Conversation) quotesGone(tx *Tx, m chat.Message) (gone bool, err error) {
	messages, memories := quotedBy(m)
	for _, seq := range messages {
		if seq == unknown {
			return true, nil
		}
		if gone, err = Exists(tx, "SELECT 1 FROM messages WHERE id = ? AND deleted_at IS NOT NULL", c.Row(seq)); err != nil || gone {
			return gone, err
		}
	}
	for _, id := range memories {
		there, err := Exists(tx, "SELECT 1 FROM memories WHERE id = ?", id)
		if err != nil || !there {
			return err == nil, err
		}
	}
	return false, nil
}
