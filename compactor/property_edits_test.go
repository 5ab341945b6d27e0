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
	if first := below(rt, len(theirs), "message"); deleted {
		m.remove(rt, theirs[first:min(first+1+below(rt, 5, "deleted at once"), len(theirs))])
	} else {
		m.edit(rt, theirs[first])
		r.c.Check(context.Background())
		m.waitForWorker(rt)
	}
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
	got, err := r.removeWithoutNotice(seqs...)
	if err != nil && m.refusing {
		return
	}
	check.Require(rt, err == nil && len(got) >= len(seqs), "deletion of %v: %v, %v", seqs, got, err)
	for _, seq := range slices.DeleteFunc(slices.Clone(got), func(seq int64) bool { return slices.Contains(seqs, seq) }) {
		emptied, err := r.conv.Transcript().Message(context.Background(), seq) // arguments and results of tools in the turn
		theirs := slices.ContainsFunc(seqs, func(seq int64) bool { return r.said[seq-1].Turn == emptied.Turn })
		check.Require(rt, err == nil && theirs && emptied.Role != llm.RoleUser, "deletion of %v changed %+v, %v", seqs, emptied, err)
		r.said[seq-1] = emptied
	}
	m.last = view{}
	r.apply(got...)
	m.checkNotShown(rt, beginnings(seqs)...)
	m.waitForWorker(rt)
}
