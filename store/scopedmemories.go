// Memories within a scope, by a filter and in an order, and what the search for them reads.

package store

import (
	"cmp"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"
)

// MemoryFilter chooses memories.
type MemoryFilter struct {
	ID    int64     // of the only one; 0: all
	State string    // active; "" is the same: current ones that have not ended; expired: current ones that have; current: both; known: those that are recalled, values that have ended or were superseded among them; all; or another state of a memory
	Kind  string    // "": all
	Since time.Time // said at or after; zero: any time
	Until time.Time // said before; zero: any time
	About []string  // names or platform IDs of whom it is about; where it is about no one else, names of its speaker; nil: anyone

	Concerns string // the platform ID of who said it first, or whom it is about; "": anyone
}

// sameValue is the condition that memory m was superseded by one that says the same and knows more of its time.
const sameValue = `EXISTS (SELECT 1 FROM memories b WHERE b.id = m.superseded_by AND b.slot = m.slot AND lower(b.value) = lower(m.value))`

// conditions are joined by AND.
type conditions struct {
	all  []string
	args []any
}

func (cs *conditions) add(condition string, args ...any) {
	cs.all = append(cs.all, condition)
	cs.args = append(cs.args, args...)
}

// where returns the condition that memory m is within a scope and matches the filter, and its arguments.
func (f MemoryFilter) where(in scopeIDs) (condition string, args []any) {
	var cs conditions
	within, of := in.where("reach")
	cs.add(within, of...)
	at := now()
	switch f.State {
	case "all":
	case "known":
		is := "(" + at.is("current", "m") + " OR " + at.is("superseded", "m") + " AND slot <> '' AND NOT " + sameValue + ") AND NOT " + at.expired("m")
		cs.add(is, at.args(is)...)
	default:
		is := at.is(cmp.Or(f.State, "active"), "m")
		cs.add(is, at.args(is)...)
	}
	if f.ID != 0 {
		cs.add("m.id = ?", f.ID)
	}
	if f.Kind != "" {
		cs.add("kind = ?", f.Kind)
	}
	if !f.Since.IsZero() {
		cs.add("said_at >= ?", f.Since.UnixMilli())
	}
	if !f.Until.IsZero() {
		cs.add("said_at < ?", f.Until.UnixMilli())
	}
	if f.About != nil {
		const among = " IN (SELECT value FROM json_each(?))"
		cs.add("("+subject+among+" OR m.id IN (SELECT memory FROM memory_people WHERE author_id"+among+") AND "+aboutOf+among+")",
			listOf(f.About), listOf(f.About), listOf(f.About))
	}
	if f.Concerns != "" {
		cs.add("m.id IN (SELECT memory FROM memory_people WHERE author_id = ? AND role IN ('said', 'about'))", f.Concerns)
	}
	return strings.Join(cs.all, " AND "), cs.args
}

// memoryOrders are the SQL of the sort orders; ties are broken by newer first.
var memoryOrders = map[string]string{
	"said":       "said_at DESC, id DESC",
	"oldest":     "said_at, id",
	"saved":      "saved_at DESC, id DESC",
	"importance": "importance DESC, said_at DESC, id DESC",
	"confirmed":  "confirmed DESC, said_at DESC, id DESC",
	"expires":    "expires_at IS NULL, expires_at, said_at DESC, id DESC", // the next to end first, those without an end last
	"id":         "id",
}

// MemorySorts are the names of the orders in which memories are listed.
var MemorySorts = slices.Sorted(maps.Keys(memoryOrders))

// ScopedMemories are the memories within a scope, in one transaction.
type ScopedMemories struct {
	tx *Tx
	in scopeIDs
}

func (t *Tx) MemoriesIn(s Scope) ScopedMemories { return ScopedMemories{t, t.resolve(s)} }

// MemoriesOf returns the memories of conversations. The caller decides who may read them.
func (t *Tx) MemoriesOf(all []*Conversation) ScopedMemories {
	var in scopeIDs
	for _, c := range all {
		in.full = append(in.full, c.id)
	}
	return ScopedMemories{t, in}
}

func (sm ScopedMemories) Count(f MemoryFilter) int {
	chosen, args := f.where(sm.in)
	return getValue[int](sm.tx, "SELECT count(*) FROM memories m WHERE "+chosen, args...)
}

// Numbers returns the numbers of the memories that f chooses, in order.
func (sm ScopedMemories) Numbers(f MemoryFilter) []int64 {
	chosen, args := f.where(sm.in)
	return listValues[int64](sm.tx, "SELECT id FROM memories m WHERE "+chosen+" ORDER BY id", args...)
}

// All returns the memories that f chooses, in no particular order.
func (sm ScopedMemories) All(f MemoryFilter) []Memory {
	chosen, args := f.where(sm.in)
	return sm.tx.memories("WHERE "+chosen, args...)
}

// Page returns the memories that f chooses, in an order of MemorySorts ("": said), at most limit after offset.
func (sm ScopedMemories) Page(f MemoryFilter, sort string, limit, offset int) []Memory {
	chosen, args := f.where(sm.in)
	return sm.tx.memories("WHERE "+chosen+" ORDER BY "+memoryOrders[cmp.Or(sort, "said")]+" LIMIT ? OFFSET ?", append(args, limitOf(limit), max(offset, 0))...)
}

// Among calls each for those of the memories ids that f chooses, in an order as of Page, without a list of them, because a question may
// find most. It reads only what a ranking needs: ID, SaidAt, Importance, Kind, Speaker, About, Pinned, Confirmed and State.
func (sm ScopedMemories) Among(ids []int64, f MemoryFilter, sort string, each func(Memory)) {
	chosen, args := f.where(sm.in)
	at := now()
	state := at.state("m")
	eachRow(sm.tx, func(rows *sql.Rows) error {
		var m Memory
		err := rows.Scan(&m.ID, utcInto(&m.SaidAt), &m.Importance, &m.Kind, &m.Speaker, &m.About, &m.Pinned, &m.Confirmed, &m.State)
		each(m)
		return err
	}, `SELECT id, said_at, importance, kind, speaker, about, pinned, confirmed, `+state+` FROM memories m
		WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND `+chosen+" ORDER BY "+memoryOrders[cmp.Or(sort, "said")],
		slices.Concat(at.args(state), []any{listOf(ids)}, args)...)
}

// SaidElsewhere returns those of the memories ids that may say the same as another of them in another conversation: their facts have
// the same hash, see FactOf.
func (sm ScopedMemories) SaidElsewhere(ids []int64) []Memory {
	if !sm.in.all && len(sm.in.full)+len(sm.in.shared) < 2 {
		return nil
	}
	within, args := sm.in.where("reach")
	const among = "id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
	chosen := append([]any{listOf(ids), listOf(ids)}, args...)
	return sm.tx.memories(`WHERE m.`+among+` AND m.fact IN (SELECT fact FROM memories WHERE `+among+` AND fact <> 0 AND `+within+`
		GROUP BY fact HAVING min(conversation) < max(conversation))`, chosen...)
}

// Index returns the full-text index of the memories within the scope.
func (sm ScopedMemories) Index() TermIndex {
	// What others keep to themselves must not even reveal the spelling of a word.
	within, args := sm.in.where("(SELECT reach FROM memories WHERE id = memory)")
	return TermIndex{
		tx: sm.tx, in: sm.in, table: "memory_terms", document: "memory", within: within, args: args, spoken: "true",
		size: sm.Count(MemoryFilter{State: "current"}),
	}
}

// withTerm finds a message with term ?1 in conversations ?2. The results of memory_save repeat the names that it refuses.
const withTerm = `SELECT 1 FROM message_terms t JOIN messages m ON m.id = t.conversation << 32 | t.seq
	WHERE t.term = ?1 AND t.conversation IN (SELECT CAST(value AS BIGINT) FROM json_each(?2)) AND m.tool <> 'memory_save'`

// Mentioned reports whether a message has a term, of a conversation all of whose memories are within the scope.
func (sm ScopedMemories) Mentioned(term string) bool {
	return exists(sm.tx, withTerm, term, listOf(sm.in.full))
}
