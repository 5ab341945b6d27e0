// The memories of the extractive summarizer: what people say about themselves, decide, plan or prefer, in their own words.

package summarize

import (
	"cmp"
	"slices"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
)

const (
	maxMemory = 80 // max tokens of one memory: it is one thing, not a page
	perMemory = 20 // messages of people for each memory
	minTeam   = 3  // speakers
	perCode   = 10 // people talk about code if one of so many messages has some
)

// statement is a sentence of a person that may become a memory.
type statement struct {
	worth
	of     *chat.Message
	text   string
	before *statement // the person's sentence just before, if nobody spoke between them; nil: none
	after  *statement
	taken  bool // by a memory
}

// Memories returns the memories in messages, best first: sentences of people that somebody could want weeks later. There are at
// most limit, and at most one for each 20 messages of people, rounded up; what says who somebody is does not count there.
// Where nothing is worth it there is none.
func Memories(messages []chat.Message, limit int) (drafts []MemoryDraft) {
	statements := statementsOf(messages)
	slices.SortStableFunc(statements, func(a, b *statement) int { return cmp.Compare(b.points, a.points) })
	budget := (peopleIn(messages) + perMemory - 1) / perMemory
	said := map[string]int{} // index of the draft, by speaker and text
	for _, s := range statements {
		if s.points < minWorth || limit <= 0 {
			break
		}
		key := s.of.AuthorID + "\n" + s.of.Author + "\n" + words.Fold(s.text)
		if i, again := said[key]; again {
			drafts[i].Messages = withSeq(drafts[i].Messages, s.of.Seq)
			continue
		}
		if len(drafts) >= limit {
			continue
		}
		if s.kind != "identity" && budget == 0 {
			continue
		}
		d, ok := s.draft()
		if !ok {
			continue
		}
		if s.kind != "identity" {
			budget--
		}
		said[key] = len(drafts)
		drafts = append(drafts, d)
	}
	return drafts
}

func withSeq(seqs []int64, seq int64) []int64 {
	if slices.Contains(seqs, seq) {
		return seqs
	}
	return append(seqs, seq)
}

func peopleIn(messages []chat.Message) (n int) {
	for _, m := range messages {
		if m.Role == llm.RoleUser {
			n++
		}
	}
	return n
}

// statementsOf returns the sentences of people, weighed.
func statementsOf(messages []chat.Message) (all []*statement) {
	of := talkOf(messages)
	var last *statement
	for i := range messages {
		m := &messages[i]
		if m.Role != llm.RoleUser || m.Unremembered {
			last = nil
			continue
		}
		if last != nil && (last.of.AuthorID != m.AuthorID || last.of.Author != m.Author) {
			last = nil
		}
		for _, text := range words.Sentences(withoutFences(m.Text)) {
			text = trimTalk(oneLine(text), of.names)
			if text == "" {
				continue
			}
			s := &statement{worth: worthOf(text, of), of: m, text: text, before: last}
			if last != nil {
				last.after = s
			}
			if s.loose && (s.canBegin() || s.shown()) {
				s.points -= looseWorth
			}
			last = s
			all = append(all, s)
		}
	}
	return all
}

// talkOf returns what messages are like.
func talkOf(messages []chat.Message) talk {
	speakers := map[[2]string]bool{}
	technical := 0
	for _, m := range messages {
		if m.Role != llm.RoleUser {
			continue
		}
		speakers[[2]string{m.AuthorID, m.Author}] = true
		if hasCode(m.Text) {
			technical++
		}
	}
	return talk{names: namesOf(messages), team: len(speakers) >= minTeam, shop: perCode*technical >= len(messages)}
}

// canBegin reports whether the sentence before can name what this one means.
func (s *statement) canBegin() bool {
	return s.before != nil && !s.before.taken && !s.before.loose && !s.before.empty && !s.before.asks
}

// completes reports whether a sentence adds to the one before it.
func (s *statement) completes() bool { return s.loose && !s.empty && !s.asks && !s.taken }

// shown reports whether a sentence points at an attachment of its message.
func (s *statement) shown() bool { return s.shows && len(s.of.Attachments) > 0 }

// draft returns a statement as a memory, with the sentence that it needs before it, or that completes it; false if it cannot be
// understood alone, is part of another memory, or is too long.
func (s *statement) draft() (MemoryDraft, bool) {
	parts := []*statement{s}
	switch {
	case s.taken:
		return MemoryDraft{}, false
	case s.loose && s.canBegin():
		parts = []*statement{s.before, s}
	case s.loose && !s.shown():
		return MemoryDraft{}, false
	case s.after != nil && s.after.completes():
		parts = append(parts, s.after)
	}
	size := 0
	for _, p := range parts {
		p.text = withDates(p.text, p.of.Time, false)
		size += tokens.Estimate(p.text)
	}
	if size > maxMemory && parts[0] == s {
		parts = parts[:1]
		size = tokens.Estimate(s.text)
	}
	if size > maxMemory {
		return MemoryDraft{}, false
	}
	return s.written(parts, maxMemory-size), true
}

// written returns parts as a memory, with what they show while there is room.
func (s *statement) written(parts []*statement, room int) MemoryDraft {
	d := MemoryDraft{Kind: s.kind, Importance: s.importance, About: s.of.Author, Content: speakerOf(*s.of) + ":"}
	for _, p := range parts {
		p.taken = true
		if !words.EndsInMark(d.Content) {
			d.Content += "."
		}
		d.Content += " " + p.text
		d.Messages = withSeq(d.Messages, p.of.Seq)
	}
	if !s.shown() {
		return d
	}
	for _, a := range s.of.Attachments {
		text := oneLine(a.Words())
		if room -= tokens.Estimate(text); room >= 0 {
			d.Content += " " + text
		}
	}
	return d
}
