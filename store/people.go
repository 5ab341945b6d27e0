// People: who speaks in a conversation, under which names, and who has opted out of memories.

package store

import (
	"database/sql"
	"strings"
	"time"
)

// Person is someone who speaks or types commands.
type Person struct {
	Connector string `json:"connector"` // empty: their conversation's
	ID        string `json:"id"`        // on the platform, or in the dashboard; empty: unknown
	Name      string `json:"name"`      // one of their names
}

func (p Person) String() string {
	return strings.TrimSpace(p.Name + " (" + p.Connector + ":" + p.ID + ")")
}

// People are those of one conversation, in one transaction.
type People struct {
	c  handle
	tx *Tx
}

// Members returns the names of those who speak in the conversation, in order.
func (p People) Members() []string {
	return listValues[string](p.tx, "SELECT DISTINCT name FROM members WHERE conversation = ? ORDER BY name", p.c.id)
}

// Named returns those who speak in the conversation, by name.
func (p People) Named() []Person {
	return listRows(p.tx, scanPerson, "SELECT DISTINCT author_id, name FROM members WHERE conversation = ? ORDER BY name, author_id", p.c.id)
}

// Speakers returns the authors of the messages from..to, last name first. Of a name that several people have, the ID is empty.
func (p People) Speakers(from, to int64) []Person {
	low, high := p.c.rowRange(from, to)
	return listRows(p.tx, scanPerson, `SELECT CASE WHEN min(author_id) = max(author_id) THEN min(author_id) ELSE '' END, author FROM messages
		WHERE id BETWEEN ? AND ? AND role = 'user' AND deleted_at IS NULL GROUP BY author ORDER BY author DESC`, low, high)
}

// Newest returns the name and the time of a person's newest message; nothing if there is none.
func (p People) Newest(id string) (name string, at time.Time) {
	low, high := p.c.rowRange(1, MaxSeq)
	eachRow(p.tx, func(rows *sql.Rows) error { return rows.Scan(&name, utcInto(&at)) }, `SELECT author, said_at FROM messages
		WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ? AND deleted_at IS NULL ORDER BY id DESC LIMIT 1`, id, low, high)
	return name, at
}

func scanPerson(rows *sql.Rows, p *Person) error { return rows.Scan(&p.ID, &p.Name) }

// Out returns the platform IDs of those who have opted out of memories.
func (p People) Out() []string {
	return listValues[string](p.tx, "SELECT author_id FROM optouts WHERE connector = ?", p.c.connector())
}

// AnyOutHere reports whether somebody who has spoken in the conversation has opted out.
func (p People) AnyOutHere() bool {
	return exists(p.tx, "SELECT 1 FROM optouts o JOIN members m USING (author_id) WHERE o.connector = ? AND m.conversation = ?", p.c.connector(), p.c.id)
}

// namesOut selects the names of those who opted out and have spoken in the conversations ?2 to ?4: the one they had then, and the
// one they have there. Of someone whose messages are all erased, nobody knows where that was; the name counts where no one
// else has it.
const namesOut = `WITH here (id, low, high) AS (SELECT id, id << 32, id << 32 | 4294967295 FROM conversations WHERE name IN (?2, ?3, ?4)),
	gone (author_id, name, newest) AS (SELECT author_id, name, (SELECT m.author FROM here JOIN messages m
		ON m.author_id = o.author_id AND role = 'user' AND m.id BETWEEN low AND high ORDER BY m.id DESC LIMIT 1) FROM optouts o WHERE connector = ?1)
	SELECT author_id, name FROM gone WHERE newest IS NOT NULL
		OR NOT EXISTS (SELECT 1 FROM messages m WHERE m.author_id = gone.author_id AND role = 'user')
		AND NOT EXISTS (SELECT 1 FROM members m JOIN here ON m.conversation = here.id WHERE lower(m.name) = lower(gone.name))
	UNION SELECT author_id, newest FROM gone WHERE newest <> ''`

// NamesOut returns under which names those who have opted out of memories are known here, in the people's conversation above a task, and in
// the one that that hangs on.
func (p People) NamesOut() []Person {
	root, _ := RootOf(p.c.name)
	return listRows(p.tx, scanPerson, namesOut, p.c.connector(), p.c.name, root, ParentOf(root))
}

// OptOut keeps a person out of memories, and what they say out of the vectors, from now on, and reports whether they were not yet.
func (p People) OptOut(who Person) (changed bool) {
	p.dropVectors(who.ID)
	return p.tx.changed("INSERT INTO optouts (connector, author_id, name, made_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		p.c.connector(), who.ID, who.Name, nowMillis())
}

// OptIn ends that, and reports whether they had opted out.
func (p People) OptIn(id string) (changed bool) {
	return p.tx.changed("DELETE FROM optouts WHERE connector = ? AND author_id = ?", p.c.connector(), id)
}
