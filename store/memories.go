// The rows of memories: what they are, how they are read, and what changes one by its number. Which facts are worth a row, and when
// two say the same, is decided by package memory.

package store

import (
	"cmp"
	"database/sql"
	"slices"
	"strings"
	"time"

	"cairn/internal/words"
)

// Memory is one fact, preference, decision, … worth keeping beyond the conversation.
type Memory struct {
	ID           int64     `json:"id"`
	Conversation string    `json:"channel"`
	Kind         string    `json:"kind"`
	Content      string    `json:"content"`
	Importance   float64   `json:"importance"`           // 0 to 1
	Pinned       bool      `json:"pinned"`               // it neither expires nor fades
	Speaker      string    `json:"speaker"`              // who said it
	SpeakerID    string    `json:"speaker_id,omitempty"` // the platform's; empty: not known
	About        string    `json:"about"`
	AboutID      string    `json:"about_id,omitempty"`
	Reach        string    `json:"reach"`                // channel: it stays in its conversation; server: it may be shared, see Scope
	By           string    `json:"by"`                   // worker, extractive, assistant, person
	Compaction   int64     `json:"compaction,omitempty"` // the row it was saved with
	SaidAt       time.Time `json:"said_at"`
	SavedAt      time.Time `json:"saved_at"`
	Expires      time.Time `json:"expires_at,omitzero"` // from then on it is not recalled; zero: it never expires
	Confirmed    int       `json:"confirmed"`           // how often it was said, including the first time
	Sources      []int64   `json:"sources"`             // seqs, in Conversation, of the messages it came from
	State        string    `json:"state"`               // active, expired, superseded, forgotten, replaced
	SupersededBy int64     `json:"superseded_by,omitempty"`
	Fact

	ByRule   bool   `json:"by_rule,omitempty"`  // superseded because a newer memory has another value for the same thing; of an active one: it will be
	Upcoming bool   `json:"upcoming,omitempty"` // it is not true yet
	InDoubt  bool   `json:"in_doubt,omitempty"` // another memory has another value that is true now, and which one is right is not known
	Ended    string `json:"ended,omitempty"`    // until when it was or is true because of the one that supersedes it; "" if that has the same value, or began first
}

// Fact is what a memory states in a form that can be compared. All of it may be empty.
type Fact struct {
	Attribute string   `json:"attribute,omitempty"` // what has one value at a time: home, employer, launch date
	Value     string   `json:"value,omitempty"`     // in a few words: Lisbon
	Slot      string   `json:"slot,omitempty"`      // the folded attribute, after the name of what has it, if that is no speaker: "kiwi: launch date"
	Since     string   `json:"since,omitempty"`     // from when it is true, or when it happens: "2026", "2026-05" or "2026-05-08"
	Until     string   `json:"until,omitempty"`     // to when, as its maker says
	Also      []string `json:"also,omitempty"`      // words by which somebody may ask for it
}

// Begins returns Since, from when the value is true; "" if it is not known. A value like "9 May 2026" is not true since that day.
func (f Fact) Begins() string {
	if f.Since != "" && strings.Contains(f.Value, f.Since[:4]) {
		return ""
	}
	return f.Since
}

// Text returns what a memory says, and the words by which it is found besides.
func (m Memory) Text() string {
	return strings.Join(append([]string{m.Content, m.Attribute, m.Value}, m.Also...), "\n")
}

// The SQL expressions for the platform IDs of the person who said memory m, and of the person it is about, empty text if unknown; and for
// whom it is about, by name: if no one else, who said it.
const (
	speakerOf = "coalesce((SELECT min(author_id) FROM memory_people WHERE memory = m.id AND role = 'said'), '')"
	aboutOf   = `coalesce((SELECT min(author_id) FROM memory_people WHERE memory = m.id AND role = 'about'),
		CASE WHEN m.about = m.speaker THEN ` + speakerOf + " ELSE '' END)"
	subject = "CASE WHEN m.about = '' THEN m.speaker ELSE m.about END"
)

var memoryColumns = `m.id, (SELECT name FROM conversations WHERE id = m.conversation), m.kind, m.content, m.importance,
	m.pinned, m.speaker, ` + speakerOf + `, m.about, ` + aboutOf + `, m.reach, m.made_by, coalesce(m.compaction, 0),
	m.said_at, m.saved_at, m.expires_at, m.confirmed, m.state, coalesce(m.superseded_by, 0),
	(SELECT string_agg(CAST(message & 4294967295 AS TEXT), ',' ORDER BY message) FROM memory_sources WHERE memory = m.id),
	m.attribute, m.value, m.slot, m.since, m.until, m.also, m.by_rule, m.in_doubt, ` + successor("slot") + ", " + successor("value") + ", " + successor("since") + `, coalesce(` + successorSaid + `, 0)`

// successor is SQL for a column of text of the memory that superseded memory m; empty if none did.
func successor(column string) string {
	return "coalesce((SELECT b." + column + " FROM memories b WHERE b.id = m.superseded_by), '')"
}

// successorSaid is SQL for when that memory was said first after m was: then it began, if that is not known otherwise.
const successorSaid = `(SELECT coalesce((SELECT min(said_at) FROM memory_sources JOIN messages ON messages.id = message WHERE memory = b.id AND messages.said_at >
			(SELECT coalesce(max(t.said_at), m.said_at) FROM memory_sources s JOIN messages t ON t.id = s.message WHERE s.memory = m.id)),
		b.said_at) FROM memories b WHERE b.id = m.superseded_by)`

// follower is what superseded a memory, and when that was said.
type follower struct {
	Fact
	Said int64
}

// ended returns until when a memory was true that another superseded: until that began, or before.
func (m Memory) ended(by follower) string {
	if by.Said == 0 || m.Slot != "" && m.Slot == by.Slot && words.Fold(m.Value) == words.Fold(by.Value) {
		return m.Until
	}
	began := cmp.Or(by.Begins(), time.UnixMilli(by.Said).Format(time.DateOnly))
	switch {
	case began <= m.Begins() && m.Announced():
		return "" // it never was
	case m.Until == "" || began < m.Until && !strings.HasPrefix(m.Until, began):
		return began
	}
	return m.Until
}

// Announced reports whether the memory was said before its value began.
func (m Memory) Announced() bool { return m.Begins() > m.SaidAt.Local().Format(time.DateOnly) }

// memories reads the memories m that the rest of the query selects.
func (t *Tx) memories(rest string, args ...any) []Memory {
	at := now()
	doubts := make(map[int64]int64) // what memories have in common that contradict each other, by memory
	all := listRows(t, func(rows *sql.Rows, m *Memory) error {
		var by follower
		var doubt int64
		err := rows.Scan(&m.ID, &m.Conversation, &m.Kind, &m.Content, &m.Importance,
			&m.Pinned, &m.Speaker, &m.SpeakerID, &m.About, &m.AboutID, &m.Reach, &m.By, &m.Compaction,
			utcInto(&m.SaidAt), utcInto(&m.SavedAt), utcInto(&m.Expires), &m.Confirmed, &m.State, &m.SupersededBy, numbersInto(&m.Sources),
			&m.Attribute, &m.Value, &m.Slot, &m.Since, &m.Until, jsonInto(&m.Also), &m.ByRule, &doubt, &by.Slot, &by.Value, &by.Since, &by.Said)
		at.apply(m, by)
		if m.State == "superseded" || m.State == "active" {
			m.Ended = m.ended(by)
		}
		if doubt != 0 && m.State == "active" && !m.Upcoming {
			doubts[m.ID] = doubt
		}
		return err
	}, "SELECT "+memoryColumns+" FROM memories m "+rest, args...)
	for i, m := range all {
		if doubt := doubts[m.ID]; doubt != 0 {
			rivals := listValues[string](t, at.rivals(), m.ID, m.Slot, doubt, at.millis)
			all[i].InDoubt = slices.ContainsFunc(rivals, func(value string) bool { return words.Fold(value) != words.Fold(m.Value) })
		}
	}
	return all
}

// noOtherSays is true for a row of memories unless another current memory of its conversation has the same words.
const noOtherSays = `NOT EXISTS (SELECT 1 FROM memories o WHERE o.conversation = memories.conversation AND o.folded = memories.folded
	AND o.state = 'active' AND o.id <> memories.id)`

// Memories are the memories of all conversations, by number, in one transaction.
type Memories struct{ tx *Tx }

func (t *Tx) Memories() Memories { return Memories{t} }

// Get reads a memory in any state; there must be one.
func (ms Memories) Get(id int64) Memory { return firstOf(ms.tx, ms.tx.memories("WHERE m.id = ?", id)) }

// Those reads memories in any state, in no particular order.
func (ms Memories) Those(ids []int64) []Memory {
	return ms.tx.memories("WHERE m.id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", listOf(ids))
}

// chain selects the memories that a memory superseded and those that superseded it, transitively.
const chain = `WHERE m.id IN (
	WITH RECURSIVE later (id) AS (SELECT CAST(?1 AS BIGINT) UNION SELECT superseded_by FROM memories JOIN later USING (id) WHERE superseded_by IS NOT NULL),
	earlier (id) AS (SELECT CAST(?1 AS BIGINT) UNION SELECT memories.id FROM memories JOIN earlier ON superseded_by = earlier.id)
	SELECT id FROM later UNION SELECT id FROM earlier) ORDER BY m.id`

// Chain returns what superseded what, oldest first, the memory itself among them.
func (ms Memories) Chain(id int64) []Memory { return ms.tx.memories(chain, id) }

// SupersededBy returns the memories that a memory superseded.
func (ms Memories) SupersededBy(id int64) []Memory {
	return ms.tx.memories("WHERE m.superseded_by = ?", id)
}

// Names returns whom memories are about, each name once; where they are about no one else, who said them.
func (ms Memories) Names() []string {
	return listValues[string](ms.tx, "SELECT DISTINCT "+subject+" FROM memories m")
}

// Forget marks a memory as forgotten, and reports whether it was not yet.
func (ms Memories) Forget(id int64) (changed bool) {
	return ms.tx.changed("UPDATE memories SET forgotten_from = state, state = 'forgotten' WHERE id = ? AND state <> 'forgotten'", id)
}

// Restore gives a forgotten memory its previous state back, unless another current memory has the same words, and reports that.
func (ms Memories) Restore(id int64) (changed bool) {
	return ms.tx.changed("UPDATE memories SET state = forgotten_from, forgotten_from = '' WHERE id = ? AND state = 'forgotten' AND (forgotten_from <> 'active' OR "+noOtherSays+")", id)
}

// Pin pins or unpins a current memory, and reports whether it is current.
func (ms Memories) Pin(id int64, pinned bool) (changed bool) {
	return ms.tx.changed("UPDATE memories SET pinned = ? WHERE id = ? AND state = 'active'", pinned, id)
}

// Confirm counts that a memory was said once more. It expires at a time from then on, zero: never; shared: it may be shared from
// then on.
func (ms Memories) Confirm(id int64, expires time.Time, shared bool) {
	ms.tx.do("UPDATE memories SET confirmed = confirmed + 1, expires_at = nullif(CAST(? AS BIGINT), 0), reach = CASE WHEN ? THEN 'server' ELSE reach END WHERE id = ?",
		millisOf(expires), shared, id)
}

// AddPerson notes that a memory concerns a person, by platform ID. Roles: said, they said it first; confirmed, they said it after
// someone else; about, it is about them.
func (ms Memories) AddPerson(id int64, author, role string) {
	ms.tx.do("INSERT INTO memory_people (memory, author_id, role) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", id, author, role)
}

// Newest returns the number of the newest memory; 0: there is none.
func (ms Memories) Newest() int64 {
	return getValue[int64](ms.tx, "SELECT coalesce(max(id), 0) FROM memories")
}

// laterThan selects memory ?1, the one that superseded it, and so on.
const laterThan = `WITH RECURSIVE later (id) AS (SELECT CAST(?1 AS BIGINT) UNION SELECT superseded_by FROM memories JOIN later USING (id) WHERE superseded_by IS NOT NULL)
	SELECT id FROM later`

// linkMemory notes that memory ?1 superseded memory ?2, unless ?2 superseded ?1, or one that did.
const linkMemory = "UPDATE memories SET superseded_by = ?1 WHERE id = ?2 AND id NOT IN (" + laterThan + ")"

// Link notes that a memory superseded an earlier one, unless that makes a circle.
func (ms Memories) Link(id, earlier int64) { ms.tx.do(linkMemory, id, earlier) }

// millisOf returns a time as it is stored; 0: the zero time.
func millisOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
