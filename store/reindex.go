// Reindexing: rebuilding the tables that are derived from others.

package store

import (
	"errors"

	"cairn/chat"
)

// derived lists the tables derived from others: the search index, and who speaks where.
var derived = []string{"message_terms", "memory_terms", "members"}

// reindex rebuilds the derived tables in a file of an earlier version, which split words
// differently, and removes the reasoning that it stored, and counted, of turns that have ended: no
// provider requires it in that form.
func reindex(tx *Tx) error {
	reasoned, err := Exists(tx, "SELECT 1 FROM messages INDEXED BY messages_reasoning WHERE native <> ''")
	if err == nil && reasoned {
		err = noteErasure(tx)
	}
	if err != nil {
		return err
	}
	for _, table := range derived {
		if _, err := tx.Exec("DELETE FROM " + table); err != nil {
			return err
		}
	}
	return derive(tx)
}

// derive fills the derived tables.
func derive(tx *Tx) error {
	conversations, err := Column[int64](tx, "SELECT id FROM conversations")
	if err != nil {
		return err
	}
	for _, id := range conversations {
		if err := (&Conversation{id: id}).In(tx).indexAll(); err != nil {
			return err
		}
	}
	return eachMemory(tx, func(id int64, _, content, about string) error { return IndexMemory(tx, id, content, about) })
}

// indexAll indexes every message of a conversation, page by page.
func (rs Rows) indexAll() error {
	const page = 1000
	for from := int64(1); ; {
		messages, err := rs.Messages(from, MaxSeq, "ORDER BY id LIMIT ?", page)
		if err != nil || len(messages) == 0 {
			return err
		}
		for _, m := range messages {
			if err := errors.Join(rs.index(m), rs.dropReasoning(m)); err != nil {
				return err
			}
		}
		from = messages[len(messages)-1].Seq + 1
	}
}

func (rs Rows) dropReasoning(m chat.Message) error {
	if len(m.Native) == 0 {
		return nil
	}
	return Changed(rs.tx, "UPDATE messages SET native = '', tokens = ? WHERE id = ?", chat.TokensOf(m), rs.c.Row(m.Seq))
}
