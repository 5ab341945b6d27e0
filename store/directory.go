// The directory: which people and conversations there are, for deletions by a person or a shell.

package store

import (
	"database/sql"
	"strings"
)

// Directory lists the people and conversations of a store, in one transaction.
type Directory struct{ tx *Tx }

func (t *Tx) Directory() Directory { return Directory{t} }

// With returns the conversations of a person's connector in which something about them is stored.
func (d Directory) With(who Person) []*Conversation {
	return d.tx.conversations(`WHERE name >= ?1 || ':' AND name < ?1 || ';' AND id IN (
			SELECT conversation FROM messages WHERE author_id = ?2 AND role = 'user'
			UNION SELECT conversation FROM inbox WHERE author_id = ?2
			UNION SELECT parent FROM tasks WHERE author = ?2
			UNION SELECT conversation FROM overrides WHERE `+typedBy+`
			UNION SELECT conversation FROM pins WHERE `+typedBy+`
			UNION SELECT id FROM pauses JOIN conversations ON name = scope WHERE `+typedBy+`
			UNION SELECT conversation FROM compactions WHERE `+strings.ReplaceAll(hasLines, "?2", "?4")+`
			UNION SELECT k.conversation FROM memory_people p JOIN memories k ON k.id = p.memory WHERE p.author_id = ?2) ORDER BY id`,
		who.Connector, who.ID, who.Name, encode(who.ID))
}

// OptedOut reports whether a person of a connector has opted out of memories.
func (d Directory) OptedOut(who Person) bool {
	return exists(d.tx, "SELECT 1 FROM optouts WHERE connector = ? AND author_id = ?", who.Connector, who.ID)
}

// Under returns the conversation with a name, if there is one, or those below a name that ends in a slash.
func (d Directory) Under(name string) []*Conversation {
	if strings.HasSuffix(name, "/") {
		return d.tx.conversations("WHERE name >= ?1 AND name < substr(?1, 1, length(?1) - 1) || '0' ORDER BY id", name) // 0 comes right after /
	}
	return d.tx.conversations("WHERE name = ?1 ORDER BY id", name)
}

// Holds counts what a conversation has: messages, waiting ones included, and memories.
func (d Directory) Holds(c *Conversation) (messages, memories int) {
	d.tx.row(`SELECT (SELECT count(*) FROM messages WHERE `+inConversation+` AND deleted_at IS NULL)
			+ (SELECT count(*) FROM inbox WHERE conversation = ?1),
			(SELECT count(*) FROM memories WHERE conversation = ?1)`, c.id).Scan(&messages, &memories)
	return messages, memories
}

// Everybody returns the people who have spoken or typed commands in the conversations of a connector, or of any if it is empty, or
// about whom something is remembered: ordered by connector and ID, each once for every name.
func (d Directory) Everybody(connector string) []Person {
	return listRows(d.tx, func(rows *sql.Rows, p *Person) error { return rows.Scan(&p.Connector, &p.ID, &p.Name) },
		`SELECT DISTINCT substr(c.name, 1, CASE WHEN instr(c.name, ':') > 0 THEN instr(c.name, ':') - 1 ELSE 0 END), said.author_id, said.author FROM (
			SELECT conversation, author_id, author FROM messages WHERE role = 'user' AND author_id <> ''
			UNION SELECT conversation, author_id, author FROM inbox WHERE author_id <> ''
			UNION SELECT conversation, made_by_id, made_by FROM overrides WHERE made_by_id <> ''
			UNION SELECT conversation, made_by_id, made_by FROM pins WHERE made_by_id <> ''
			UNION SELECT id, made_by_id, made_by FROM pauses JOIN conversations ON name = scope WHERE made_by_id <> ''
			UNION SELECT conversation, author_id, '' FROM memory_people p JOIN memories k ON k.id = p.memory) said
			JOIN conversations c ON c.id = said.conversation WHERE ?1 = '' OR c.name >= ?1 || ':' AND c.name < ?1 || ';' ORDER BY 1, 2, 3 DESC`, connector)
}

// Erasure is a person whose traces in a conversation must be deleted.
type Erasure struct {
	Conversation string
	Author       string // the platform's id
}

// Erasures returns what is still to be erased.
func (d Directory) Erasures() []Erasure {
	return listRows(d.tx, func(rows *sql.Rows, e *Erasure) error { return rows.Scan(&e.Conversation, &e.Author) },
		"SELECT c.name, e.author_id FROM erasures e JOIN conversations c ON c.id = e.conversation ORDER BY c.id, e.author_id")
}
