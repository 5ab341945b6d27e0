// Members: who speaks in a conversation, indexed by the words of their names.

package store

import (
	"database/sql"
	"fmt"

	"cairn/words"
)

// addMember records the author of a message.
func (p *appender) addMember(author string) error {
	if author == "" || p.members[author] {
		return nil
	}
	if p.members == nil {
		p.members = make(map[string]bool)
	}
	p.members[author] = true
	return addMember(p.tx, p.c.id, author)
}

func addMember(tx *Tx, conversation int64, author string) error {
	for _, term := range words.Content(author) {
		_, err := tx.Exec("INSERT INTO members (conversation, term, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", conversation, term, author)
		if err != nil {
			return fmt.Errorf("note member %s: %w", author, err)
		}
	}
	return nil
}

// fillMembers records who has spoken so far, in a file from an earlier version.
func fillMembers(tx *Tx) error {
	type member struct {
		conversation int64
		name         string
	}
	var all []member
	err := Each(tx, func(rows *sql.Rows) error {
		var m member
		err := rows.Scan(&m.conversation, &m.name)
		all = append(all, m)
		return err
	}, "SELECT DISTINCT conversation, author FROM messages WHERE author <> ''")
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := addMember(tx, m.conversation, m.name); err != nil {
			return err
		}
	}
	return nil
}
