package store

import (
	"database/sql"
	"fmt"

	"cairn/chat"
)

// dropReasoning removes the reasoning that earlier versions stored, and counted, of turns that have
// ended: no provider requires it in that form.
func dropReasoning(tx *Tx) error {
	var of []int64
	err := Each(tx, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		of = append(of, id)
		return err
	}, "SELECT DISTINCT conversation FROM messages INDEXED BY messages_reasoning WHERE native <> ''")
	if err != nil {
		return err
	}
	for _, id := range of {
		c := &Conversation{id: id}
		said, err := c.In(tx).MessagesOf("messages INDEXED BY messages_reasoning", 1, MaxSeq, "AND native <> ''")
		if err != nil {
			return err
		}
		for _, m := range said {
			if err := Changed(tx, "UPDATE messages SET native = '', tokens = ? WHERE id = ?", chat.TokensOf(m), c.Row(m.Seq)); err != nil {
				return fmt.Errorf("message %d: %w", m.Seq, err)
			}
		}
	}
	if len(of) > 0 {
		err = noteErasure(tx)
	}
	return err
}
