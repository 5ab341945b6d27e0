// Saving what is newer than all else in its slot, as most of what is saved: it needs the current values, not years of older ones.

package memory

import (
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/store"
)

// settleSaved is settle for a memory that was saved or confirmed.
func settleSaved(c *store.Conversation, tx *store.Tx, s Saved, d draft) {
	m := tx.Memories().Get(s.ID)
	facts := c.Facts(tx)
	if m.Slot == d.Slot && m.AboutID == d.AboutID && isLast(facts, m, saidAt(m, d.sources)) {
		rows, ok := currentBeside(c, tx, m, s.Fresh)
		sayings := facts.Sayings(idsOf(rows))
		if ok && haveOneSide(m, sayings) {
			facts.Settle(decide(rows, sayings))
			return
		}
	}
	settle(c, tx, d.Memory)
}

// saidAt is when the first of some messages was sent; without any, when a memory was said.
func saidAt(m store.Memory, sources []chat.Message) time.Time {
	at := m.SaidAt
	for i, s := range sources {
		if i == 0 || s.Time.Before(at) {
			at = s.Time
		}
	}
	return at
}

// isLast reports whether a saying of a memory is the last in time of its slot: see inTime.
func isLast(facts store.Facts, m store.Memory, said time.Time) bool {
	day := said.Local().Format(time.DateOnly)
	since := m.Begins()
	if since == "" {
		since = day
	}
	return m.State == "active" && !m.Pinned && m.Until == "" && since <= day && facts.IsNewest(m, said, since)
}

// currentBeside returns a memory with the current ones in its slot and those for which they stand, oldest row first: all that one which is
// the last in time can change. It reports false if what they are among each other may depend on older ones: whom a name means, and which of
// two values is newer if one says since when it is true. fresh: the memory is new.
func currentBeside(c *store.Conversation, tx *store.Tx, m store.Memory, fresh bool) (rows []store.Memory, ok bool) {
	current := slices.DeleteFunc(inSlot(c, tx, m, "active"), func(other store.Memory) bool { return other.SupersededBy != 0 && other.ID != m.ID })
	ofThing := strings.Contains(m.Slot, ofThing)
	var first store.Memory
	named := false
	differ := false
	dated := false
	for _, other := range current {
		if !ofThing && (other.AboutID == "" || other.AboutID != m.AboutID) {
			return nil, false
		}
		isNew := other.ID == m.ID && fresh
		dated = dated || !isNew && other.Since+other.Until != ""
		if other.ID == m.ID {
			continue
		}
		if first.ID == 0 {
			first = other
		}
		named = named || words.Fold(other.About) == words.Fold(m.About)
		differ = differ || !hasValue(other, first.Value)
	}
	if first.ID == 0 || !ofThing && !named || differ && dated {
		return nil, false
	}
	return c.Facts(tx).WithCovered(idsOf(current)), true
}

// haveOneSide reports whether all sayings of each memory but m are by the same person.
func haveOneSide(m store.Memory, sayings []store.Saying) bool {
	by := make(map[int64]store.Saying)
	for _, s := range sayings {
		first, found := by[s.Memory]
		if found && s.Memory != m.ID && (first.AuthorID != s.AuthorID || first.Author != s.Author) {
			return false
		}
		by[s.Memory] = s
	}
	return true
}
