// Settling: of the memories that fill the same slot, as "home" of one person, the newest is true now. It depends only on what was said when
// and by whom, not on the order in which it was saved.

package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"cairn/internal/words"
	"cairn/store"
)

// ofThing separates the name of a thing from its attribute in a slot. A person's slot has no name: people are told apart by platform ID.
const ofThing = ": "

// settle decides which memories that fill the slot of a memory are true now, and returns the IDs of those that read differently from then
// on.
func settle(c *store.Conversation, tx *store.Tx, m store.Memory) (changed []int64) {
	rows := inSlot(c, tx, m)
	facts := c.Facts(tx)
	for _, group := range bySubject(rows) {
		facts.Settle(decide(group, facts.Sayings(idsOf(group))))
	}
	for i, now := range inSlot(c, tx, m) {
		was := rows[i]
		if now.State != was.State || now.Ended != was.Ended || now.InDoubt != was.InDoubt {
			changed = append(changed, now.ID)
		}
	}
	return changed
}

// inSlot returns the current and superseded memories that fill the slot of a memory: about a thing of that name, or about people with its
// name or platform ID.
func inSlot(c *store.Conversation, tx *store.Tx, m store.Memory) []store.Memory {
	if m.Slot == "" {
		return nil
	}
	if strings.Contains(m.Slot, ofThing) {
		m.About = ""
		m.AboutID = ""
	}
	return c.Facts(tx).InSlot(m.Slot, m.About, m.AboutID, "active", "superseded")
}

func idsOf(rows []store.Memory) (ids []int64) {
	for _, m := range rows {
		ids = append(ids, m.ID)
	}
	return ids
}

// bySubject groups memories that fill a slot by whom they are about: by platform ID, else by name. A name without an ID is that of the only
// person who has it.
func bySubject(rows []store.Memory) (groups [][]store.Memory) {
	idOf := make(map[string]string) // by folded name; "": several people have it
	for _, m := range rows {
		name := words.Fold(m.About)
		known, found := idOf[name]
		switch {
		case m.AboutID == "":
		case found && known != m.AboutID:
			idOf[name] = ""
		default:
			idOf[name] = m.AboutID
		}
	}
	at := make(map[string]int)
	for _, m := range rows {
		name := words.Fold(m.About)
		key := "#" + cmp.Or(m.AboutID, idOf[name]) // which no folded name has
		switch {
		case strings.Contains(m.Slot, ofThing):
			key = ""
		case key == "#":
			key = name
		}
		if _, found := at[key]; !found {
			at[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], m)
	}
	return groups
}

// claim is one saying of a memory that fills a slot.
type claim struct {
	row   int // of the memory
	value string
	since string    // orders claims; "": by when they were said
	until string    // "": not said
	at    time.Time // when it was said; of what had ended by then, when it ended
	self  bool      // the person whom it is about says it
}

// decide returns what became of the memories about one person that fill a slot: a memory is superseded by the first later one with another
// value, but nobody wins over what people say about themselves. Two values of which neither is superseded are in doubt.
func decide(rows []store.Memory, sayings []store.Saying) (all []store.Settled) {
	claims := inTime(claimsOf(rows, sayings))
	by := make([]int, len(rows)) // the row that supersedes it; -1: it is current
	for i := range rows {
		by[i] = i // no claim yet
	}
	for i, c := range claims {
		successor := successorOf(claims[i:])
		if by[c.row] != -1 {
			by[c.row] = successor
		}
	}
	for i, m := range rows {
		if m.Pinned { // what people pinned they want kept
			by[i] = -1
		}
	}
	current := func(i int) bool { return by[i] == -1 && !replaced(rows[i]) }
	for i := range rows {
		for k := range rows {
			stands := saysMore(rows[k], rows[i]) || k < i && saysTheSame(rows[k], rows[i])
			if i != k && current(i) && current(k) && !rows[i].Pinned && stands {
				by[i] = k
			}
		}
	}
	for i, m := range rows {
		if replaced(m) {
			continue
		}
		s := store.Settled{ID: m.ID}
		if by[i] >= 0 {
			s.By = rows[by[i]].ID
		} else {
			for k := range rows {
				s.InDoubt = s.InDoubt || current(k) && !hasValue(rows[k], m.Value)
			}
		}
		all = append(all, s)
	}
	return all
}

// replaced reports whether the maker of another memory said that it supersedes this one: no rule changes that.
func replaced(m store.Memory) bool { return m.State == "superseded" && !m.ByRule }

// saysMore reports whether a memory has the value of another one and knows more of its time.
func saysMore(m, than store.Memory) bool {
	more := m.Since != than.Since || m.Until != than.Until
	return more && hasValue(m, than.Value) && strings.HasPrefix(m.Since, than.Since) && strings.HasPrefix(m.Until, than.Until)
}

// saysTheSame reports whether two memories have the same value and know the same of its time.
func saysTheSame(m, other store.Memory) bool {
	return m.Since == other.Since && m.Until == other.Until && hasValue(m, other.Value)
}

// claimsOf returns the claims of memories: one for each of their sayings, or one for a memory without.
func claimsOf(rows []store.Memory, sayings []store.Saying) (claims []claim) {
	for i, m := range rows {
		if replaced(m) && slices.ContainsFunc(rows, func(by store.Memory) bool { return by.ID == m.SupersededBy }) {
			continue // the other one stands for it
		}
		said := slices.DeleteFunc(slices.Clone(sayings), func(s store.Saying) bool { return s.Memory != m.ID })
		if len(said) == 0 {
			said = []store.Saying{{At: m.SaidAt, Author: m.Speaker, AuthorID: m.SpeakerID}}
		}
		for _, s := range said {
			claims = append(claims, claimOf(i, m, s))
		}
	}
	return claims
}

func claimOf(row int, m store.Memory, s store.Saying) claim {
	c := claim{row: row, value: words.Fold(m.Value), until: m.Until, at: s.At}
	if !strings.Contains(m.Slot, ofThing) {
		c.self = s.Author != "" && strings.EqualFold(s.Author, m.About)
		if m.AboutID != "" && s.AuthorID != "" {
			c.self = s.AuthorID == m.AboutID
		}
	}
	day := s.At.Local().Format(time.DateOnly)
	isDate := m.Since != "" && strings.Contains(m.Value, m.Since[:4]) // a value like "9 May 2026" is not true since that day
	if m.Since <= day && !isDate {
		c.since = m.Since
	}
	if _, end, ok := timeOf(m.Until); ok && end.Before(c.at) {
		c.at = end
	}
	return c
}

// inTime sorts claims, the one that is true now last: by since where both have one, else by when they were said.
func inTime(claims []claim) (sorted []claim) {
	slices.SortFunc(claims, func(x, y claim) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.since, y.since), cmp.Compare(x.value, y.value), cmp.Compare(x.row, y.row))
	})
	for _, c := range claims {
		i := len(sorted)
		for i > 0 && c.beganBefore(sorted[i-1]) {
			i--
		}
		sorted = slices.Insert(sorted, i, c)
	}
	return sorted
}

// beganBefore reports whether both claims say since when, and which one is earlier, or the first one says that it had ended when the
// other began. A month is not earlier than one of its days.
func (c claim) beganBefore(other claim) bool {
	if other.since != "" && c.until != "" && (c.until <= other.since || strings.HasPrefix(c.until, other.since)) {
		return true
	}
	overlap := strings.HasPrefix(c.since, other.since) || strings.HasPrefix(other.since, c.since) // also if one is ""
	return !overlap && c.since < other.since
}

// successorOf returns the row that supersedes the first of the claims in time; -1: none does.
func successorOf(claims []claim) (row int) {
	first := claims[0]
	for _, c := range claims[1:] {
		told := first.beganBefore(c) || first.at.Before(c.at) // which of the two is newer
		if c.value != first.value && told && (c.self || !first.self) {
			return c.row
		}
	}
	return -1
}
