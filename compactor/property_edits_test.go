// Edits and deletions by people.

package compactor_test

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/check"

	"cairn/llm"

	"pgregory.net/rapid"
)

// editOrDelete edits or deletes some messages, whether verbatim, being summarized, or summarized.
func (m *machine) editOrDelete(rt *rapid.T, deleted bool) {
	r := m.r
	var theirs []int64
	for _, said := range r.remainingMessages() {
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
		m.waitForWorker(rt)
		return
	}
	m.remove(rt, theirs[first:min(first+1+below(rt, 5, "deleted at once"), len(theirs))])
}

func (m *machine) edit(rt *rapid.T, seq int64) {
	r := m.r
	err := r.editWithoutNotice(seq, fmt.Sprintf("edited %d %d %s", seq-1, r.edits+1, heavy(one(rt, "edited size", 1, 30, 400))))
	if err != nil && m.refusing {
		return // the transcript is compared with it
	}
	check.NoError(r.t, err)
	m.last = view{}
	r.apply(seq)
}

func (m *machine) remove(rt *rapid.T, seqs []int64) {
	r := m.r
	var texts []string
	for _, seq := range seqs {
		for _, word := range firstWords {
			texts = append(texts, fmt.Sprintf("%s %d ", word, seq-1))
		}
	}
	got, err := r.removeWithoutNotice(seqs...)
	if err != nil && m.refusing {
		return
	}
	check.Require(rt, err == nil && len(got) >= len(seqs), "deletion of %v: %v, %v", seqs, got, err)
	turns := map[int64]bool{}
	for _, seq := range seqs {
		turns[r.said[seq-1].Turn] = true
	}
	for _, seq := range got {
		if slices.Contains(seqs, seq) {
			continue
		}
		emptied, err := r.conv.Transcript().Message(context.Background(), seq) // arguments and results of tools in the turn
		check.Require(rt, err == nil && turns[emptied.Turn] && emptied.Role != llm.RoleUser,
			"deletion of %v changed %+v, %v", seqs, emptied, err)
		r.said[seq-1] = emptied
	}
	m.last = view{}
	r.apply(got...)
	m.checkNotShown(rt, texts...)
	m.waitForWorker(rt)
}
