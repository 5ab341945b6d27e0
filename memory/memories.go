// Memories: facts kept beyond the conversation, with the messages they came from.

package memory

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/chat"
	"cairn/store"
)

// Memory is one fact, preference, decision, … worth keeping beyond the conversation, and how well it answers a search.
type Memory struct {
	store.Memory
	Score float64 `json:"score,omitempty"` // of a search: how well it matches
	Parts []Part  `json:"parts,omitempty"` // what the score is the sum of
}

// memoriesOf returns memories that no search has scored.
func memoriesOf(rows []store.Memory) (all []Memory) {
	for _, row := range rows {
		all = append(all, Memory{Memory: row})
	}
	return all
}

// String returns the memory in one line for people. The number is in parentheses: Markdown would renumber "7.".
func (m Memory) String() string { return m.Words(m.Kind, chat.DateFormat, fmt.Sprintf) }

// Words is String with the name of its kind, the layout of dates, and what else is said of it, in another language.
func (m Memory) Words(kind, dates string, say func(format string, args ...any) string) string {
	var notes []string
	if m.Speaker != "" {
		notes = append(notes, chat.OneLine(m.Speaker))
	}
	if m.About != "" && m.About != m.Speaker {
		notes = append(notes, say("about %s", chat.OneLine(m.About)))
	}
	said := m.SaidAt.Local().Format(dates)
	if m.Since != "" {
		since := "since %s"
		if m.Upcoming {
			since = "not before %s"
		}
		notes = append(notes, say(since, ShownPeriod(m.Since, dates)))
		said = say("said %s", said)
	}
	notes = append(notes, said)
	if m.Pinned {
		notes = append(notes, say("pinned"))
	}
	switch until := ShownPeriod(cmp.Or(m.Ended, m.Until), dates); {
	case m.droppedPlan():
		notes = append(notes, say("was planned"))
	case m.wasSo() && until != "":
		notes = append(notes, say("was so until %s", until))
	case m.State == "active" && until != "":
		notes = append(notes, say("until %s", until))
	}
	if m.State == "active" && m.InDoubt {
		notes = append(notes, say("in doubt"))
	}
	switch {
	case m.State == "expired" && m.wasSo():
	case m.State == "expired":
		notes = append(notes, say("expired on %s", m.Expires.Local().Format(dates)))
	case m.State == "superseded" && m.SupersededBy != 0:
		notes = append(notes, say("superseded by %d", m.SupersededBy))
	case m.State != "active":
		notes = append(notes, say(m.State))
	case !m.Expires.IsZero() && !m.Pinned:
		notes = append(notes, say("until %s", m.Expires.Local().Format(dates+" 15:04 MST")))
	}
	return fmt.Sprintf("(%d) %s: %s (%s)", m.ID, kind, chat.OneLine(m.Content), strings.Join(notes, ", "))
}

// Saved is the outcome of saving a memory.
type Saved struct {
	Memory
	Fresh      bool  // it is new
	Unwanted   bool  // people had it forgotten, and it comes from the same messages: nothing was saved
	Superseded int64 // the memory it superseded; 0: none
}

// saveDraft writes a draft that has passed the checks. The same fact is one row, however often someone says it: the row gains
// the sources it did not have, and is confirmed if there were any. Of the memory it returns only the ID.
func saveDraft(c *store.Conversation, tx *store.Tx, d draft) Saved {
	s := sameAs(c, tx, d)
	switch {
	case s.Unwanted:
		return s
	case s.Fresh:
		s.ID = insertMemory(c, tx, d)
	default:
		confirmMemory(c, tx, s.ID, d)
	}
	addPeople(tx, s.ID, d, s.Fresh)
	if d.supersedes != 0 && d.supersedes != s.ID && !isPlanFor(c, tx, d) {
		s.Superseded = c.Memories(tx).Supersede(d.supersedes, s.ID) // 0: forgotten or pinned in the meantime
	}
	if s.Superseded != 0 {
		settle(c, tx, tx.Memories().Get(s.Superseded))
	}
	if d.Slot != "" {
		settleSaved(c, tx, s, d)
		s = confirmCover(tx, s)
	}
	return s
}

// isPlanFor reports whether a draft announces another value than that of the memory which it supersedes: that one is true until then.
func isPlanFor(c *store.Conversation, tx *store.Tx, d draft) bool {
	d.SaidAt = d.sentAt()
	return d.Slot != "" && d.Announced() && c.Memories(tx).CanSupersede(d.supersedes) && tx.Memories().Get(d.supersedes).Slot == d.Slot
}

// confirmCover counts that a memory was said once more if a new one has its value and knows no more of its time; that one is not reported
// as new. It stays a row of its own, with its own words and messages: a deletion takes just those.
func confirmCover(tx *store.Tx, s Saved) Saved {
	if !s.Fresh {
		return s
	}
	m := tx.Memories().Get(s.ID)
	if m.State != "superseded" || !m.ByRule {
		return s
	}
	by := tx.Memories().Get(m.SupersededBy)
	if hasValue(by, m.Value) {
		tx.Memories().Confirm(by.ID, by.Expires, false)
		s.ID = by.ID
		s.Fresh = false
	}
	return s
}

// sameAs determines whether a memory already says what the draft says, and returns its ID. One that the draft supersedes does
// not count.
func sameAs(c *store.Conversation, tx *store.Tx, d draft) (s Saved) {
	s.ID = c.Memories(tx).WithWords(d.Content)
	if s.ID != 0 {
		return s
	}
	forgotten := int64(0)
	for _, m := range append(sayingTheSame(c, tx, d), forgottenValues(c, tx, d)...) {
		switch {
		case m.ID == d.supersedes:
		case m.State != "forgotten":
			s.ID = m.ID
			return s
		case forgotten == 0:
			forgotten = m.ID
		}
	}
	if forgotten != 0 && len(d.sources) > 0 {
		known := c.Memories(tx).Sources(forgotten, seqsOf(d.sources))
		s.ID = forgotten
		s.Unwanted = known == len(d.sources)
	}
	s.Fresh = !s.Unwanted
	return s
}

func insertMemory(c *store.Conversation, tx *store.Tx, d draft) (id int64) {
	d.SaidAt = d.sentAt()
	return c.Memories(tx).Add(d.Memory, seqsOf(d.sources))
}

// confirmMemory notes that someone said a known fact again. Reading the same messages again does not confirm it; a person who
// says it without any messages does. If the memory's speaker repeats it with another end, or a person asks for one, it
// expires then; if it is repeated after its end without an end, it no longer expires.
func confirmMemory(c *store.Conversation, tx *store.Tx, id int64, d draft) {
	m := tx.Memories().Get(id)
	if m.Slot == "" && d.Slot != "" { // who saved it first did not say what it states
		c.Facts(tx).Gain(m, d.Fact)
		m.Fact = d.Fact
	}
	added := c.Memories(tx).AddSources(id, seqsOf(d.sources), statesAll(d.Fact, m.Fact))
	if added == 0 && len(d.sources) > 0 {
		return
	}
	ended := !m.Expires.IsZero() && !m.Expires.After(time.Now())
	if !ended && (d.Expires.IsZero() || m.SpeakerID != d.SpeakerID && d.By != byPerson) { // no one else's words can end what a person said
		d.Expires = m.Expires
	}
	tx.Memories().Confirm(id, d.Expires, d.By == byPerson && d.Reach != "channel") // a person who says it for the server means it
}

func readMemory(tx *store.Tx, id int64) Memory { return Memory{Memory: tx.Memories().Get(id)} }

func readComplete(tx *store.Tx, id int64) (m Memory, from []chat.Message) {
	m = readMemory(tx, id)
	return m, tx.Conversation(m.Conversation).Messages(tx).At(m.Sources...)
}

// Details is a memory with all that belongs to it.
type Details struct {
	Memory
	Messages []chat.Record `json:"messages" jsonschema:"that it came from"`
	Chain    []Memory      `json:"chain" jsonschema:"what superseded what, oldest first, itself among them; empty: none"`
}

// Details returns a memory in any state; of a conversation, only its own. ErrNotFound: there is no such memory.
func (ms Memories) Details(ctx context.Context, id int64) (Details, error) {
	d := Details{Messages: []chat.Record{}, Chain: []Memory{}}
	err := ms.store.View(ctx, func(tx *store.Tx) {
		var from []chat.Message
		d.Memory, from = readComplete(tx, id)
		if ms.c != nil && d.Conversation != ms.c.Name() {
			tx.Fail(store.ErrNotFound)
		}
		for _, message := range from {
			d.Messages = append(d.Messages, chat.RecordOf(message))
		}
		if linked := tx.Memories().Chain(id); len(linked) > 1 {
			d.Chain = memoriesOf(linked)
		}
	})
	return d, store.Fail(fmt.Sprintf("show memory %d", id), err)
}

// FromMessages returns the active memories that come from messages of a conversation, from one seq to another, in order.
func FromMessages(ctx context.Context, c *store.Conversation, from, to int64) (all []Memory, err error) {
	err = c.View(ctx, "look what messages left in memory", func(tx *store.Tx) { all = memoriesOf(store.MemoriesFrom(c.Memories(tx), from, to)) })
	return all, err
}
