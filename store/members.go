// Members: who speaks in a conversation, indexed by the words of their names.

package store

import (
	"fmt"

	"cairn/words"
)

// addMember records the author of a message.
func (rs Rows) addMember(author string) error {
	for _, term := range words.Content(author) {
		_, err := rs.tx.Exec("INSERT INTO members (conversation, term, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rs.c.id, term, author)
		if err != nil {
			return fmt.Errorf("note member %s: %w", author, err)
		}
	}
	return nil
}
