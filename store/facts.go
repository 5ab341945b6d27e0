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
		AND (?3 || ?4 = '' OR lower(m.about) = lower(?3) OR ?4 <> '' AND `+aboutOf+` = ?4) ORDER BY m.id`,
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
	}, `SELECT s.memory, m.said_at, CASE WHEN m.role = 'user' THEN m.author ELSE '' END, CASE WHEN m.role = 'user' THEN m.author_id ELSE '' END
		FROM memory_sources s JOIN messages m ON m.id = s.message WHERE s.memory IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`, listOf(ids))
}

// Settled is what a comparison of the memories that fill a slot says of one of them. It does not depend on when they are compared.
type Settled struct {
	ID    int64
	By    int64 // the memory that supersedes it; 0: none
	Later bool  // it does so once it begins; until then both are active
	Doubt int64 // the same number for all that contradict each other whenever both are true; 0: nothing contradicts it
}

// maxLater is how many later messages IsNewest looks at.
const maxLater = 2000

// newer finds what may be newer than memory ?3 in its slot: a saying of time ?4 or later, or a value since later than ?5. Of more than ?6
// messages it does not look at all.
const newer = `WITH later AS (SELECT id FROM messages WHERE conversation = ?1 AND said_at >= ?4 LIMIT ?6)
	SELECT 1 WHERE (SELECT count(*) FROM later) = ?6
		OR EXISTS (SELECT 1 FROM later JOIN memory_sources s ON s.message = later.id JOIN memories m ON m.id = s.memory
			WHERE m.slot = ?2 AND m.id <> ?3 AND m.state IN ('active', 'superseded'))
		OR EXISTS (SELECT 1 FROM memories WHERE conversation = ?1 AND state IN ('active', 'superseded') AND said_at >= ?4 AND slot = ?2 AND id <> ?3)
		OR EXISTS (SELECT 1 FROM memories WHERE conversation = ?1 AND slot = ?2 AND slot <> '' AND state IN ('active', 'superseded') AND since > ?5 AND id <> ?3)`

// IsNewest reports whether a memory, or its saying of a time, is newer than everything else that fills its slot, whoever that is about:
// nothing else was said then or later, and nothing is true since later than a day. It may miss that.
func (fs Facts) IsNewest(m Memory, said time.Time, since string) bool {
	return !exists(fs.tx, newer, fs.c.id, m.Slot, m.ID, said.UnixMilli(), since, maxLater)
}

// covered selects memories ?1 and those for which they stand.
const covered = `WITH RECURSIVE covered (id) AS (SELECT CAST(value AS BIGINT) FROM json_each(?1) UNION SELECT m.id FROM covered JOIN memories m ON m.superseded_by = covered.id
	WHERE m.state IN ('active', 'superseded') AND m.by_rule = 1 AND ` + sameValue + `) SELECT id FROM covered`

// WithCovered returns some memories and those with the same value for which they stand, oldest row first.
func (fs Facts) WithCovered(ids []int64) []Memory {
	return fs.tx.memories("WHERE m.id IN ("+covered+") ORDER BY m.id", listOf(ids))
}

// Gain gives a memory a fact, which none of its messages so far says.
func (fs Facts) Gain(m Memory, fact Fact) {
	if fs.c.Memories(fs.tx).Reword(m, m.Content, fact) {
		fs.tx.do("UPDATE memory_sources SET fact = 0 WHERE memory = ?", m.ID)
	}
}

// Lose removes the fact of a memory unless one of its messages says it, and reports whether it did. The memory is current again if
// another value had superseded it.
func (fs Facts) Lose(m Memory) bool {
	lost := fs.tx.changed(`UPDATE memories SET attribute = '', value = '', slot = '', since = '', until = '', also = ?1, in_doubt = 0
		WHERE id = ?2 AND (slot <> '' OR since <> '' OR until <> '' OR also <> ?1)
		AND NOT EXISTS (SELECT 1 FROM memory_sources WHERE memory = ?2 AND fact = 1)`, toJSON(Fact{}.Also), m.ID)
	if !lost {
		return false
	}
	fs.tx.do(`UPDATE memories SET state = CASE WHEN state = 'superseded' THEN 'active' ELSE state END, superseded_by = NULL, by_rule = 0,
		forgotten_from = CASE WHEN forgotten_from = 'superseded' THEN 'active' ELSE forgotten_from END
		WHERE id = ? AND by_rule = 1 AND (state <> 'superseded' OR `+noOtherSays+")", m.ID)
	unindexMemory(fs.tx, fs.c.id, m)
	m.Fact = Fact{}
	indexMemory(fs.tx, m)
	return true
}

// Settle writes what became of memories that fill a slot. One that says the same as another current memory stays superseded.
func (fs Facts) Settle(all []Settled) {
	all = fs.changed(all)
	for _, s := range all { // first, so that no earlier link makes a circle with a new one
		fs.tx.do("UPDATE memories SET superseded_by = NULL WHERE id = ? AND by_rule = 1", s.ID)
	}
	for _, s := range all { // then, because no two current memories may have the same words
		if s.By != 0 && !s.Later {
			fs.tx.do("UPDATE memories SET state = 'superseded', superseded_by = ?1, by_rule = 1, in_doubt = 0 WHERE id = ?2 AND id NOT IN ("+laterThan+")", s.By, s.ID)
		}
	}
	for _, s := range all {
		if s.By == 0 || s.Later {
			fs.tx.do(`UPDATE memories SET state = 'active', superseded_by = nullif(CAST(?1 AS BIGINT), 0), by_rule = CASE WHEN ?1 = 0 THEN 0 ELSE 1 END,
				in_doubt = ?3 WHERE id = ?2 AND `+noOtherSays+" AND id NOT IN ("+laterThan+")", s.By, s.ID, s.Doubt)
		}
	}
}

// changed returns those of which the rows say something else.
func (fs Facts) changed(all []Settled) (changed []Settled) {
	is := make(map[int64]Settled)
	var ids []int64
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	eachRow(fs.tx, func(rows *sql.Rows) error {
		var s Settled
		err := rows.Scan(&s.ID, &s.By, &s.Later, &s.Doubt)
		is[s.ID] = s
		return err
	}, `SELECT id, coalesce(superseded_by, 0), state = 'active' AND superseded_by IS NOT NULL, in_doubt FROM memories
		WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
		AND state = CASE WHEN superseded_by IS NULL OR state = 'active' THEN 'active' ELSE 'superseded' END
		AND by_rule = CASE WHEN superseded_by IS NULL THEN 0 ELSE 1 END`, listOf(ids))
	for _, s := range all {
		if is[s.ID] != s {
			changed = append(changed, s)
		}
	}
	return changed
}
