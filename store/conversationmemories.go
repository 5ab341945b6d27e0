// The memories of one conversation: saving them, finding those that say the same or nearly, and deleting them with all that belongs to
// them.

package store

import (
	"cmp"
	"strings"
	"time"

	"cairn/internal/words"
	"cairn/transcript"
)

// ConversationMemories are the memories of one conversation, in one transaction.
type ConversationMemories struct {
	c  handle
	tx *Tx
}

// Add writes a memory with its sources, seqs of the conversation, and its entries of the index, and returns its number. It writes neither
// ID and Conversation nor SupersededBy, what is computed from it, and the people's IDs of m. An empty Reach is "server", an empty State "active", a zero SavedAt now.
func (ms ConversationMemories) Add(m Memory, sources []int64) (id int64) {
	was := "" // the state before it was forgotten
	if m.State == "forgotten" {
		was = "active"
		if m.SupersededBy != 0 {
			was = "superseded"
		}
	}
	id = getValue[int64](ms.tx, `INSERT INTO memories (conversation, kind, content, folded, importance, pinned, speaker, about, reach, made_by,
		compaction, said_at, saved_at, expires_at, confirmed, state, forgotten_from, attribute, value, slot, since, until, also, by_rule)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(CAST(? AS BIGINT), 0), ?, ?, nullif(CAST(? AS BIGINT), 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		ms.c.id, m.Kind, m.Content, words.Fold(m.Content), m.Importance, m.Pinned, m.Speaker, m.About, cmp.Or(m.Reach, "server"), m.By,
		m.Compaction, m.SaidAt.UnixMilli(), cmp.Or(m.SavedAt, time.Now()).UnixMilli(), millisOf(m.Expires),
		max(m.Confirmed, 1), cmp.Or(m.State, "active"), was, m.Attribute, m.Value, m.Slot, m.Since, m.Until, toJSON(m.Also), m.ByRule)
	ms.AddSources(id, sources, true)
	m.ID = id
	indexMemory(ms.tx, m)
	return id
}

// AddSources notes the messages that a memory comes from, and returns how many are new. fact: they say the memory's fact, too.
func (ms ConversationMemories) AddSources(id int64, seqs []int64, fact bool) (added int64) {
	rows := ms.rowsOf(seqs)
	added = ms.tx.changes(`INSERT INTO memory_sources (memory, message, fact) SELECT CAST(? AS BIGINT), CAST(value AS BIGINT), 0 FROM json_each(?)
		WHERE true ON CONFLICT DO NOTHING`, id, rows)
	if fact {
		ms.tx.do("UPDATE memory_sources SET fact = 1 WHERE memory = ? AND message IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", id, rows)
	}
	return added
}

// Sources counts those of the messages that a memory comes from.
func (ms ConversationMemories) Sources(id int64, seqs []int64) int {
	return getValue[int](ms.tx, `SELECT count(*) FROM memory_sources
			WHERE memory = ? AND message IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`, id, ms.rowsOf(seqs))
}

// Subjects returns whom the memories are about, by name, without those that people had forgotten and those that others replaced.
func (ms ConversationMemories) Subjects() []Person {
	return listRows(ms.tx, scanPerson, "SELECT DISTINCT "+aboutOf+" AS id, "+subject+" AS name FROM memories m WHERE conversation = ? AND state NOT IN ('forgotten', 'replaced') ORDER BY name, id", ms.c.id)
}

// DropSource notes that a memory does not come from a message any more.
func (ms ConversationMemories) DropSource(id, seq int64) {
	low, high := ms.c.rowRange(seq, seq)
	ms.tx.do("DELETE FROM memory_sources WHERE memory = ? AND message BETWEEN ? AND ?", id, low, high)
}

func (ms ConversationMemories) rowsOf(seqs []int64) string {
	rows := make([]int64, 0, len(seqs)) // null would be a row of json_each
	for _, seq := range seqs {
		rows = append(rows, ms.c.rowID(seq))
	}
	return encode(rows)
}

// Numbers returns the numbers of all memories of the conversation, in order.
func (ms ConversationMemories) Numbers() []int64 {
	return listValues[int64](ms.tx, "SELECT id FROM memories WHERE conversation = ? ORDER BY id", ms.c.id)
}

// From returns the memories that come from a message, in any state.
func (ms ConversationMemories) From(seq int64) []Memory {
	low, high := ms.c.rowRange(seq, seq)
	return ms.tx.memories("WHERE m.conversation = ? AND m.id IN (SELECT memory FROM memory_sources WHERE message BETWEEN ? AND ?)", ms.c.id, low, high)
}

// MemoriesFrom returns the active memories that come from any of the messages from..to, in order.
func MemoriesFrom(ms ConversationMemories, from, to int64) []Memory {
	low, high := ms.c.rowRange(from, to)
	return ms.tx.memories(`WHERE m.conversation = ? AND m.state = 'active'
		AND m.id IN (SELECT memory FROM memory_sources WHERE message BETWEEN ? AND ?) ORDER BY m.id`, ms.c.id, low, high)
}

// canBeSuperseded is true for memory ? of conversation ?: what people pinned they want kept.
const canBeSuperseded = "id = ? AND conversation = ? AND state = 'active' AND pinned = 0"

// CanSupersede reports whether a memory may be superseded: it is current, and not pinned.
func (ms ConversationMemories) CanSupersede(id int64) bool {
	return exists(ms.tx, "SELECT 1 FROM memories WHERE "+canBeSuperseded, id, ms.c.id)
}

// Supersede marks an earlier memory as superseded, and returns its number; 0: it may not be superseded.
func (ms ConversationMemories) Supersede(earlier, by int64) (superseded int64) {
	return getValue[int64](ms.tx, "UPDATE memories SET state = 'superseded', superseded_by = ?, by_rule = 0, in_doubt = 0 WHERE "+canBeSuperseded+" RETURNING id", by, earlier, ms.c.id)
}

// Reword gives a current memory a new text and fact, and reports whether it is current and no other current one has the same words. The
// index has the new ones from then on.
func (ms ConversationMemories) Reword(m Memory, content string, fact Fact) (changed bool) {
	changed = ms.tx.changed(`UPDATE memories SET content = ?1, folded = ?2, attribute = ?3, value = ?4, slot = ?5, since = ?6, until = ?7, also = ?8,
		superseded_by = NULL, by_rule = 0, in_doubt = 0 WHERE id = ?9 AND state = 'active'
		AND NOT EXISTS (SELECT 1 FROM memories o WHERE o.conversation = ?10 AND o.folded = ?2 AND o.state = 'active' AND o.id <> ?9)`,
		content, words.Fold(content), fact.Attribute, fact.Value, fact.Slot, fact.Since, fact.Until, toJSON(fact.Also), m.ID, ms.c.id)
	if changed {
		unindexMemory(ms.tx, ms.c.id, m)
		ms.tx.do("DELETE FROM memory_vectors WHERE memory = ?", m.ID)
		m.Content = content
		m.Fact = fact
		indexMemory(ms.tx, m)
	}
	return changed
}

// Delete deletes a memory. What it superseded is linked to the one that superseded it; if there is none, it is current again, unless
// another current memory says the same.
func (ms ConversationMemories) Delete(m Memory) {
	unindexMemory(ms.tx, ms.c.id, m)
	ms.tx.do("DELETE FROM memory_people WHERE memory = ?", m.ID)
	ms.tx.do("DELETE FROM memory_sources WHERE memory = ?", m.ID)
	ms.tx.do(`UPDATE memories SET state = CASE WHEN state = 'superseded' THEN 'active' ELSE state END,
		forgotten_from = CASE WHEN forgotten_from = 'superseded' THEN 'active' ELSE forgotten_from END
		WHERE superseded_by = ?1 AND (SELECT superseded_by IS NULL FROM memories WHERE id = ?1) AND (state <> 'superseded' OR `+noOtherSays+")", m.ID)
	ms.tx.do("UPDATE memories SET superseded_by = (SELECT superseded_by FROM memories WHERE id = ?1) WHERE superseded_by = ?1", m.ID)
	ms.tx.do("DELETE FROM memories WHERE id = ?", m.ID)
}

// WithWords returns the number of the current memory with the same words as a text; 0: there is none.
func (ms ConversationMemories) WithWords(content string) int64 {
	return getValue[int64](ms.tx, "SELECT id FROM memories WHERE conversation = ? AND folded = ? AND state = 'active'", ms.c.id, words.Fold(content))
}

// aboutSame selects memories about a person.
const aboutSame = "lower(m.about) = lower(?) AND " + aboutOf + " IN ('', ?)"

// WithFact returns the current and forgotten memories about a person, by name and platform ID, whose facts have a hash, see FactOf, oldest
// first. Two facts may have the same.
func (ms ConversationMemories) WithFact(fact int64, about, aboutID string) []Memory {
	return ms.tx.memories(`WHERE m.conversation = ? AND m.fact = ? AND m.fact <> 0 AND m.state IN ('active', 'forgotten') AND `+aboutSame+` ORDER BY m.id`,
		ms.c.id, fact, about, aboutID)
}

// Rarest returns those terms that fewest memories have, at most limit, rarest first. It counts a term up to counted times.
func (ms ConversationMemories) Rarest(terms []string, counted, limit int) []string {
	return listValues[string](ms.tx, `SELECT value FROM json_each(?1) j ORDER BY (SELECT count(*) FROM
			(SELECT 1 FROM memory_terms WHERE term = j.value AND conversation = ?2 LIMIT ?3) n), value LIMIT ?4`,
		listOf(terms), ms.c.id, counted, limit)
}

// WithTerm returns the numbers of the memories that have a term, newest first, at most limit.
func (ms ConversationMemories) WithTerm(term string, limit int) []int64 {
	return listValues[int64](ms.tx, "SELECT memory FROM memory_terms WHERE term = ? AND conversation = ? ORDER BY memory DESC LIMIT ?", term, ms.c.id, limit)
}

// Sharing returns those of the memories ids that are current, about a person, and have at least some of the terms, oldest first.
func (ms ConversationMemories) Sharing(terms []string, ids []int64, least int, about, aboutID string) []Memory {
	return ms.tx.memories(`WHERE m.id IN (SELECT memory FROM memory_terms WHERE term IN (SELECT value FROM json_each(?)) AND conversation = ?
			AND memory IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) GROUP BY memory HAVING count(*) >= ?)
		AND m.state = 'active' AND `+aboutSame+` ORDER BY m.id`,
		listOf(terms), ms.c.id, listOf(ids), least, about, aboutID)
}

// Completed returns the current memories in which each folded word begins a word, newest first, at most limit.
func (ms ConversationMemories) Completed(folded []string, limit int) []Memory {
	where := "WHERE m.conversation = ? AND m.state = 'active'" + strings.Repeat(" AND instr(' ' || m.folded, ?) > 0", len(folded))
	args := []any{ms.c.id}
	for _, word := range folded {
		args = append(args, " "+word)
	}
	return ms.tx.memories(where+" ORDER BY m.id DESC LIMIT ?", append(args, limit)...)
}

// duplicateOf finds an exported memory in conversation ?1: one with the same words ?2 and time ?3 from before the
// import, or an active one with the same words. Each half has an index, which an OR of both would not use.
const duplicateOf = `SELECT id FROM (
		SELECT id, state FROM memories WHERE conversation = ?1 AND folded = ?2 AND state = 'active' AND ?4 = 'active' UNION ALL
		SELECT id, state FROM memories WHERE conversation = ?1 AND folded = ?2 AND said_at = ?3 AND id <= ?5
			AND state IN ('active', 'superseded', 'forgotten', 'replaced')) found
	ORDER BY CASE WHEN state = ?4 THEN 0 ELSE 1 END, id`

// Imported returns the number of the memory that an exported one is here; 0: there is none. newest is the last memory from before the
// import.
func (ms ConversationMemories) Imported(m Memory, newest int64) int64 {
	return getValue[int64](ms.tx, duplicateOf, ms.c.id, words.Fold(m.Content), m.SaidAt.UnixMilli(), m.State, newest)
}

// wasRead finds a row other than ?2 with which memories were saved from message ?3, which is ?5 in the database: by a worker, or, if
// ?4, by either summarizer. Of a failed row, which may have been read in part, it finds the memories.
const wasRead = `SELECT 1 FROM compactions WHERE conversation = ?1 AND id <> ?2
	AND from_seq <= ?3 AND to_seq >= ?3 AND (extracted = 'worker' OR extracted <> '' AND ?4)
	UNION ALL SELECT 1 FROM memory_sources s JOIN memories m ON m.id = s.memory JOIN compactions f ON f.id = m.compaction
	WHERE s.message = ?5 AND f.id <> ?2 AND f.state = 'failed'`

// WasRead reports whether memories were saved from a message with another compaction: by a worker, or, if either, by the extractive
// summarizer.
func (ms ConversationMemories) WasRead(seq, compaction int64, either bool) bool {
	return exists(ms.tx, wasRead, ms.c.id, compaction, seq, either, ms.c.rowID(seq))
}

// retire looks up memories by the messages ?2 to ?3; the + 0 keeps SQLite from scanning all memories of the conversation.
const retire = `UPDATE memories SET state = 'replaced' WHERE conversation + 0 = ?1 AND made_by = 'extractive' AND state = 'active' AND pinned = 0
	AND id IN (SELECT memory FROM memory_sources WHERE message BETWEEN ?2 AND ?3)
	AND NOT EXISTS (SELECT 1 FROM memory_sources s WHERE s.memory = memories.id AND NOT EXISTS (
		SELECT 1 FROM compactions WHERE conversation = ?1 AND extracted = 'worker'
		AND s.message & 4294967295 BETWEEN from_seq AND to_seq))`

// Retire marks the extractive summarizer's memories of some messages as replaced, if workers saved from all of their messages.
func (ms ConversationMemories) Retire(span transcript.Span) {
	low, high := ms.c.rowRange(span.From, span.To)
	ms.tx.do(retire, ms.c.id, low, high)
}
