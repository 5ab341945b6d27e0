// Keeping: saving a memory immediately when a person or a model in conversation asks for it; and which memories say the same as
// a draft, or nearly. That calls no model, so when in doubt it keeps two facts.

package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/store"
)

// KeepRequest is what a person asks the bot to remember.
type KeepRequest struct {
	summarize.MemoryDraft        // it may have no messages
	Person, PersonID      string // who asks; PersonID is the platform's, empty if unknown
	Server                bool   // it may be shared where memories are shared; otherwise it stays in the conversation
}

// Keep saves what a person asks the bot to remember. A *ContentError says what is wrong with it, an *OptedOutError who wants to
// be in no memory.
func (ms Memories) Keep(ctx context.Context, w KeepRequest) (Saved, error) {
	d := draftOf(w.MemoryDraft, byPerson)
	d.Speaker = w.Person
	d.SpeakerID = w.PersonID
	if !w.Server {
		d.Reach = "channel"
	}
	s, _, err := remember(ms.c, ctx, d)
	return s, err
}

// remember checks and saves a draft immediately. answer is for a model.
func remember(c *store.Conversation, ctx context.Context, d draft) (s Saved, answer llm.Result, err error) {
	err = c.Store().View(ctx, func(tx *store.Tx) { // the checks may read much, and writers should not wait for them
		tx.Fail(checkDraft(c, tx, &d, 1, c.Messages(tx).Next()-1))
		checkSuperseded(c, tx, &d)
	})
	if err != nil {
		return s, llm.Result{}, err
	}
	err = c.Update(ctx, "remember", func(tx *store.Tx) {
		tx.Fail(recheck(c, tx, &d))
		s = saveDraft(c, tx, d)
		if s.Unwanted {
			return
		}
		s.Memory = readMemory(tx, s.ID)
		if d.Slot != "" {
			d.note.Text = strings.TrimSpace(d.note.Text + " " + outcome(c, tx, s.Memory.Memory))
		}
	})
	return s, s.answer(d.note), err
}

// answer tells a model the outcome of its draft.
func (s Saved) answer(note llm.Result) llm.Result {
	switch {
	case s.Unwanted:
		return llm.Result{Text: fmt.Sprintf("People asked to forget this (memory %d), so it is not saved again.", s.ID)}
	case s.Superseded != 0:
		return llm.Result{Text: fmt.Sprintf("Noted; it supersedes memory %d.", s.Superseded)}
	case !s.Fresh:
		text := fmt.Sprintf("This was already known, as memory %d: %q. There is nothing more to do.", s.ID, s.Content)
		return llm.Result{Text: text, Quotes: llm.Quotes{Memories: []int64{s.ID}}}
	}
	note.Text = strings.TrimSpace("Noted. " + note.Text)
	return note
}

// checkSuperseded makes sure that a draft supersedes only what it may. Its note says if it may not, or shows the memory that a
// draft which names none may supersede.
func checkSuperseded(c *store.Conversation, tx *store.Tx, d *draft) {
	if d.supersedes == 0 {
		if m := closest(c, tx, *d); m.ID != 0 && (d.Slot == "" || m.Slot != d.Slot) { // facts that fill one slot need no model to compare them
			d.note.Text = fmt.Sprintf(`Memory %d says: %q. If what you saved is newer and takes its place, save it again with "supersedes": %d.`,
				m.ID, m.Content, m.ID)
			d.note.Quotes.Memories = []int64{m.ID}
		}
		return
	}
	if !c.Memories(tx).CanSupersede(d.supersedes) {
		d.note.Text = fmt.Sprintf("There is no memory %d in this conversation, or it is pinned, so it supersedes none.", d.supersedes)
		d.supersedes = 0
	}
}

// sameFact reports whether two facts have the same words that count, in the same order.
func sameFact(a, b string) bool {
	is := store.FactWords(a)
	return len(is) > 0 && slices.Equal(is, store.FactWords(b))
}

// sayingTheSame finds the active and forgotten memories about the same person that say what a draft says, oldest first.
func sayingTheSame(c *store.Conversation, tx *store.Tx, d draft) []store.Memory {
	fact := store.FactOf(d.Content)
	if fact == 0 {
		return nil
	}
	found := c.Memories(tx).WithFact(fact, d.About, d.AboutID)
	return slices.DeleteFunc(found, func(m store.Memory) bool { return !sameFact(d.Content, m.Content) }) // two hashes may be equal
}

// Limits of a search for similar memories: where people use few words, a draft shares one with nearly all of them.
const (
	maxPostings = 6000 // entries of the index that are read, of all terms together
	maxCompared = 300  // memories
)

// similar finds active memories about the same person as a draft that have at least a given share of its terms, oldest first.
// It reads the index of the draft's rarest terms, the newest entries if there are many, and compares the memories that have
// most of these terms.
func similar(c *store.Conversation, tx *store.Tx, d draft, share float64) []store.Memory {
	terms := termsOf(d.Content)
	if len(terms) == 0 {
		return nil
	}
	least := max(int(math.Ceil(share*float64(len(terms)))), 1)
	limit := maxPostings / len(terms)
	memories := c.Memories(tx)
	rarest := memories.Rarest(terms, limit, len(terms)-least+1) // what has at least so many terms has one of these
	shared := make(map[int64]int)
	for _, term := range rarest {
		for _, id := range memories.WithTerm(term, limit) {
			shared[id]++
		}
	}
	ids := slices.SortedFunc(maps.Keys(shared), func(a, b int64) int { return cmp.Or(shared[b]-shared[a], cmp.Compare(b, a)) })
	return memories.Sharing(terms, ids[:min(len(ids), maxCompared)], least, d.About, d.AboutID)
}

func termsOf(content string) []string {
	terms := store.MemoryTerms(content, "")
	slices.Sort(terms)
	return slices.Compact(terms)
}

// closest finds the active memory that is most like a draft but says something else: the draft may
// supersede it. Its ID is 0 if none is similar enough.
func closest(c *store.Conversation, tx *store.Tx, d draft) (nearest store.Memory) {
	const minSimilarity = 0.5 // the share of common words at which one fact may supersede another
	is := termsOf(d.Content)
	best := minSimilarity
	for _, m := range similar(c, tx, d, minSimilarity) {
		says := termsOf(m.Content)
		all := len(termsOf(d.Content + "\n" + m.Content))
		if share := float64(len(is)+len(says)-all) / float64(all); share >= best {
			nearest = m
			best = share
		}
	}
	return nearest
}
