// Memories that a platform shows a person in a place of their own, and goes on to show until the bot replaces the view.

package store

import "slices"

// Shown are the memories that a connector has shown people, in one transaction.
type Shown struct {
	connector string
	tx        *Tx
}

func (t *Tx) Shown(connector string) Shown { return Shown{connector, t} }

// mustGo are the rows s of memories that a person must see no more: they are gone, or forgotten since; or all, if the person has opted
// out since, or no longer has.
const mustGo = `(NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = s.memory AND (m.state <> 'forgotten' OR s.forgotten = 1))
	OR s.opted_out <> CASE WHEN EXISTS (SELECT 1 FROM optouts o WHERE o.connector = s.connector AND o.author_id = s.author_id) THEN 1 ELSE 0 END)`

// Add notes that a person is about to see memories, some of which may be shown as forgotten. It reports whether they still may.
func (s Shown) Add(person string, memories, forgotten []int64) (current bool) {
	s.add(person, forgotten, true)
	s.add(person, memories, false)
	return !exists(s.tx, "SELECT 1 FROM shown_memories s WHERE connector = ? AND author_id = ? AND memory IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND "+mustGo,
		s.connector, person, listOf(slices.Concat(memories, forgotten)))
}

func (s Shown) add(person string, memories []int64, forgotten bool) {
	s.tx.do(`INSERT INTO shown_memories (connector, author_id, memory, forgotten, opted_out)
		SELECT CAST(?1 AS TEXT), CAST(?2 AS TEXT), CAST(value AS BIGINT), CAST(?3 AS BIGINT), CAST(?4 AS BIGINT) FROM json_each(?5) WHERE true
		ON CONFLICT (connector, author_id, memory) DO UPDATE SET forgotten = excluded.forgotten, opted_out = excluded.opted_out`,
		s.connector, person, forgotten, s.tx.Directory().OptedOut(Person{Connector: s.connector, ID: person}), listOf(memories))
}

// Keep notes that a person sees these memories, and no others that were added.
func (s Shown) Keep(person string, memories []int64) {
	s.tx.do("DELETE FROM shown_memories WHERE connector = ? AND author_id = ? AND memory NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?))",
		s.connector, person, listOf(memories))
}

// Outdated returns those who may see a memory that they must not see any more, by their platform ids.
func (s Shown) Outdated() []string {
	return listValues[string](s.tx, "SELECT DISTINCT author_id FROM shown_memories s WHERE connector = ? AND "+mustGo+" ORDER BY author_id", s.connector)
}
