// Members: who speaks in a conversation, indexed by the words of their names.

package store

import (
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
	for _, term := range words.Content(author) {
		_, err := p.tx.Exec("INSERT INTO members (conversation, term, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", p.c.id, term, author)
		if err != nil {
			return fmt.Errorf("note member %s: %w", author, err)
		}
	}
	return nil
}
