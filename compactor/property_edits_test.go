// What people change and delete.

package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cairn/llm"
	"cairn/privacy"
	"cairn/store"

	"pgregory.net/rapid"
)

// change has people edit or delete some of what they said, whether it is verbatim,
// being summarized, or behind summaries.
func (m *machine) change(rt *rapid.T, deleted bool) {
	r := m.r
	var theirs []int64
	for _, said := range r.left() {
		if said.Role == llm.RoleUser && int(said.Seq) < len(r.said) { // the newest may be the running turn's question
			theirs = append(theirs, said.Seq)
		}
	}
	if len(theirs) == 0 {
		return
	}
	first := below(rt, len(theirs), "message")
	if !deleted {
		m.edit(rt, theirs[first])
		r.c.Check(context.Background())
		m.levelNone(rt)
		return
	}
	m.remove(rt, theirs[first:min(first+1+below(rt, 5, "deleted at once"), len(theirs))])
}

func (m *machine) edit(rt *rapid.T, seq int64) {
	m.edits++
	said := &m.r.said[seq-1]
	text := fmt.Sprintf("edited %d %d %s", seq-1, m.edits, heavy(one(rt, "edited size", 1, 30, 400)))
	got, changed, err := m.r.conv.Transcript().Edit(context.Background(), store.Inbound{ID: said.ID, Text: text, Time: said.Time.Add(time.Duration(m.edits) * time.Hour)})
	if err != nil && m.refusing {
		return // the transcript is held to what it was
	}
	if err != nil || !changed || got != seq {
		rt.Fatalf("edit of %d: %d, changed %v, %v", seq, got, changed, err)
	}
	said.Text = text
	m.last = view{}
	m.apply(rt, seq)
}

func (m *machine) remove(rt *rapid.T, seqs []int64) {
	r := m.r
	var ids, texts []string
	for _, seq := range seqs {
		ids = append(ids, r.said[seq-1].ID)
		for _, word := range firstWords {
			texts = append(texts, fmt.Sprintf("%s %d ", word, seq-1))
		}
	}
	got, err := privacy.Of(r.conv).Delete(context.Background(), ids)
	if err != nil && m.refusing {
		return
	}
	if err != nil || len(got) < len(seqs) {
		rt.Fatalf("deletion of %v: %v, %v", seqs, got, err)
	}
	if r.gone == nil {
		r.gone = make(map[int64]bool)
	}
	turns := map[int64]bool{}
	for _, seq := range seqs {
		r.gone[seq] = true
		turns[r.said[seq-1].Turn] = true
	}
	for _, seq := range got {
		if slices.Contains(seqs, seq) {
			continue
		}
		emptied, err := r.conv.Transcript().Message(context.Background(), seq) // what a tool was given or answered in the turn
		if err != nil || !turns[emptied.Turn] || emptied.Role == llm.RoleUser {
			rt.Fatalf("deletion of %v changed %+v, %v", seqs, emptied, err)
		}
		r.said[seq-1] = emptied
	}
	m.last = view{}
	m.apply(rt, got...)
	m.shows(rt, texts...)
	m.levelNone(rt)
}

// apply brings into the view what was changed on disk.
func (m *machine) apply(rt *rapid.T, seqs ...int64) {
	for _, seq := range seqs {
		switch said, err := m.r.conv.Transcript().Message(context.Background(), seq); {
		case errors.Is(err, store.ErrNotFound):
			m.r.c.Deleted([]int64{seq})
		case err != nil:
			rt.Fatal(err)
		default:
			m.r.c.Edited(said)
		}
	}
}
