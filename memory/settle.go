// Settling: of the memories that fill the same slot, as "home" of one person, each is true until the next one begins. It depends only on what
// was said when and by whom, not on the order in which it was saved, nor on when it is decided: package store computes what is true now.

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

// settle decides which memories that fill the slot of a memory supersede which, and returns the IDs of those that read differently from then
// on.
func settle(c *store.Conversation, tx *store.Tx, m store.Memory) (changed []int64) {
	rows := inSlot(c, tx, m, "active", "superseded")
	facts := c.Facts(tx)
	for _, group := range bySubject(rows) {
		facts.Settle(decide(group, facts.Sayings(idsOf(group))))
	}
	for i, now := range inSlot(c, tx, m, "active", "superseded") {
		was := rows[i]
		if now.State != was.State || now.Ended != was.Ended || now.InDoubt != was.InDoubt {
			changed = append(changed, now.ID)
		}
	}
	return changed
}

// inSlot returns the memories that are stored in one of some states and fill the slot of a memory: about a thing of that name, or about people
// with its name or platform ID.
func inSlot(c *store.Conversation, tx *store.Tx, m store.Memory, states ...string) []store.Memory {
	if m.Slot == "" {
		return nil
	}
	if strings.Contains(m.Slot, ofThing) {
		m.About = ""
		m.AboutID = ""
	}
	return c.Facts(tx).InSlot(m.Slot, m.About, m.AboutID, states...)
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
	at    time.Time // when it was said; of what had ended by then, when it ended; of what is announced, when it begins
	said  time.Time
	self  bool // the person whom it is about says it
}

// announced reports whether it was said before it begins.
func (c claim) announced() bool { return c.said.Before(c.at) }

// fate is what becomes of a memory that fills a slot.
type fate struct {
	by    int  // the row that supersedes it; -1: none
	later bool // it does so once it begins
}

// stays reports whether the memory is true for some time that does not depend on when it is asked.
func (f fate) stays() bool { return f.by < 0 || f.later }

// decide returns what became of the memories about one person that fill a slot: a memory is superseded by the first later one with another
// value, from when that begins, but nobody wins over what people say about themselves. Two values that are true at the same time are in
// doubt.
func decide(rows []store.Memory, sayings []store.Saying) (all []store.Settled) {
	fates := cover(rows, fatesOf(rows, sayings))
	doubt := doubtIn(rows, fates)
	for i, m := range rows {
		if replaced(m) {
			continue
		}
		s := store.Settled{ID: m.ID, Later: fates[i].later}
		if fates[i].by >= 0 {
			s.By = rows[fates[i].by].ID
		}
		if fates[i].stays() {
			s.Doubt = doubt
		}
		all = append(all, s)
	}
	return all
}

// fatesOf decides by what was said when.
func fatesOf(rows []store.Memory, sayings []store.Saying) []fate {
	fates := make([]fate, len(rows))
	for i := range fates {
		fates[i].by = i // no claim yet
	}
	claims := inTime(claimsOf(rows, sayings))
	for i, c := range claims {
		if fates[c.row].by != -1 {
			fates[c.row] = fateOf(claims[i:])
		}
	}
	for i, m := range rows {
		if m.Pinned { // what people pinned they want kept
			fates[i] = fate{by: -1}
		}
	}
	return fates
}

// cover makes one of the memories with the same value and fate stand for the others.
func cover(rows []store.Memory, fates []fate) []fate {
	for i, m := range rows {
		for k, by := range rows {
			if !fates[i].stays() || m.Pinned || replaced(m) {
				break
			}
			if i == k || replaced(by) || fates[k] != fates[i] {
				continue
			}
			if (saysMore(by, m) || k < i && saysTheSame(by, m)) && outlives(by, m) {
				fates[i] = fate{by: k, later: by.Announced() && !m.Announced()}
			}
		}
	}
	return fates
}

// doubtIn returns the number that marks contradictions; 0: all memories that stay have the same value.
func doubtIn(rows []store.Memory, fates []fate) (number int64) {
	var first store.Memory
	differ := false
	for i, m := range rows {
		if replaced(m) || !fates[i].stays() {
			continue
		}
		if first.ID == 0 {
			first = m
		}
		differ = differ || !hasValue(m, first.Value)
	}
	if !differ {
		return 0
	}
	return first.ID
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

// outlives reports whether a memory is recalled at least as long as another one.
func outlives(m, other store.Memory) bool {
	switch {
	case m.Pinned || m.Expires.IsZero():
		return true
	case other.Pinned || other.Expires.IsZero():
		return false
	}
	return !m.Expires.Before(other.Expires)
}

// claimsOf returns the claims of memories: one for each of their sayings, or one for a memory without.
func claimsOf(rows []store.Memory, sayings []store.Saying) (claims []claim) {
	of := make(map[int64][]store.Saying)
	for _, s := range sayings {
		of[s.Memory] = append(of[s.Memory], s)
	}
	for i, m := range rows {
		if replaced(m) && slices.ContainsFunc(rows, func(by store.Memory) bool { return by.ID == m.SupersededBy }) {
			continue // the other one stands for it
		}
		said := of[m.ID]
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
	c := claim{row: row, value: words.Fold(m.Value), since: m.Begins(), until: m.Until, at: s.At, said: s.At}
	if !strings.Contains(m.Slot, ofThing) {
		c.self = s.Author != "" && strings.EqualFold(s.Author, m.About)
		if m.AboutID != "" && s.AuthorID != "" {
			c.self = s.AuthorID == m.AboutID
		}
	}
	if start, _, ok := timeOf(c.since); ok && start.After(c.at) {
		c.at = start
	}
	if _, end, ok := timeOf(m.Until); ok && end.Before(c.at) {
		c.at = end
	}
	return c
}

// inTime sorts claims, the one that is true now last: by since where both have one, else by when they were said.
func inTime(claims []claim) (sorted []claim) {
	slices.SortFunc(claims, func(x, y claim) int {
		return cmp.Or(x.at.Compare(y.at), x.said.Compare(y.said), cmp.Compare(x.since, y.since), cmp.Compare(x.value, y.value), cmp.Compare(x.row, y.row))
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

// fateOf returns what supersedes the first of the claims in time.
func fateOf(claims []claim) fate {
	first := claims[0]
	for _, c := range claims[1:] {
		if c.value != first.value && first.isOlder(c) && (c.self || !first.self) {
			return fate{by: c.row, later: c.announced() && first.at.Before(c.at)}
		}
	}
	return fate{by: -1}
}

// isOlder reports whether it is known that a claim is older than one that follows it in time.
func (c claim) isOlder(other claim) bool {
	return c.beganBefore(other) || c.at.Before(other.at) || c.announced() && c.at.Equal(other.at) && c.said.Before(other.said)
}
