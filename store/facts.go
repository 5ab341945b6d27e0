// Facts: the memories that fill the same slot, and what supersedes what of them. Package memory decides that.

package store

import (
	"database/sql"
	"time"
)

// Facts are the memories of a conversation that state facts, in one transaction.
type Facts struct {
	c  handle
	tx *Tx
}

func (c handle) Facts(tx *Tx) Facts { return Facts{c, tx} }

// InSlot returns the memories that fill a slot and have one of some states, oldest row first: of a person, by name or platform ID, or, if
// both are empty, of anybody.
func (fs Facts) InSlot(slot, about, aboutID string, states ...string) []Memory {
	return fs.tx.memories(`WHERE m.conversation = ?1 AND m.slot = ?2 AND m.slot <> '' AND m.state IN (SELECT value FROM json_each(?5))
		AND (?3 || ?4 = '' OR m.about = ?3 COLLATE NOCASE OR ?4 <> '' AND `+aboutOf+` = ?4) ORDER BY m.id`,
		fs.c.id, slot, about, aboutID, listOf(states))
}

// Saying is a message that a memory comes from.
type Saying struct {
	Memory           int64
	At               time.Time
	Author, AuthorID string // of the message; both empty: no person wrote it
}

// Sayings returns the messages that memories come from.
func (fs Facts) Sayings(ids []int64) []Saying {
	return listRows(fs.tx, func(rows *sql.Rows, s *Saying) error {
		return rows.Scan(&s.Memory, utcInto(&s.At), &s.Author, &s.AuthorID)
	}, `SELECT s.memory, m.said_at, iif(m.role = 'user', m.author, ''), iif(m.role = 'user', m.author_id, '')
		FROM memory_sources s JOIN messages m ON m.id = s.message WHERE s.memory IN (SELECT value FROM json_each(?))`, listOf(ids))
}

// Settled is what a comparison of the memories that fill a slot says of one of them. It does not depend on when they are compared.
type Settled struct {
	ID    int64
	By    int64 // the memory that supersedes it; 0: none
	Later bool  // it does so once it begins; until then both are active
	Doubt int64 // the same number for all that contradict each other whenever both are true; 0: nothing contradicts it
}

// Settle writes what became of memories that fill a slot. One that says the same as another current memory stays superseded.
func (fs Facts) Settle(all []Settled) {
	for _, s := range all { // first, so that no earlier link makes a circle with a new one
		fs.tx.do("UPDATE memories SET superseded_by = NULL WHERE id = ? AND by_rule", s.ID)
	}
	for _, s := range all { // then, because no two current memories may have the same words
		if s.By != 0 && !s.Later {
			fs.tx.do("UPDATE memories SET state = 'superseded', superseded_by = ?1, by_rule = 1, in_doubt = 0 WHERE id = ?2 AND id NOT IN ("+laterThan+")", s.By, s.ID)
		}
	}
	for _, s := range all {
		if s.By == 0 || s.Later {
			fs.tx.do("UPDATE OR IGNORE memories SET state = 'active', superseded_by = nullif(?1, 0), by_rule = ?1 <> 0, in_doubt = ?3 WHERE id = ?2 AND id NOT IN ("+laterThan+")", s.By, s.ID, s.Doubt)
		}
	}
}
