package compactor_test

import (
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/transcript"
)

// undoFault says how a faulty disk undoes.
type undoFault struct {
	disk   *faultyDisk
	undoes bool // it undoes the compaction, and then fails
	works  bool // it fails no more
	late   int  // this many undos are stale: people changed something first
}

func (u *undoFault) commit(commit func() (compactor.Head, error)) (head compactor.Head, err error) {
	if u.late > 0 {
		u.late--
		return head, transcript.ErrStale
	}
	if u.undoes {
		head, err = commit()
	}
	if !u.works {
		return compactor.Head{}, errWorker
	}
	return head, err
}

// withLostUndo returns a rig with applied compactions, and an undo that fails on such a disk. view
// is the view before the last compaction.
func withLostUndo(t *testing.T, appliedSets int, u *undoFault) (r *rig, view string) {
	t.Helper()
	r = newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	for range appliedSets {
		r.deliverMany(30, 50)
		view = r.render()
		r.applied()
	}
	u.disk = r.faultyDisk()
	u.disk.undo = u
	if _, err := r.c.Undo(t.Context()); err == nil {
		t.Fatal("the failure is not reported")
	}
	return r, view
}

func TestLostUndoReplyLosesNoMessage(t *testing.T) {
	r, before := withLostUndo(t, 1, &undoFault{undoes: true})
	check.Equal(t, "view", r.render(), before)
	r.verify()
}

// Edits between an undo whose reply was lost and the next read of the disk are shown.
func TestLostUndoRestoresLaterEdits(t *testing.T) {
	r, _ := withLostUndo(t, 1, &undoFault{undoes: true})
	r.edit(2, "something else altogether")
	r.remove(4, 5)
	text := r.render()
	for _, deleted := range []string{"note 1 ", "note 3 ", "note 4 "} {
		check.Lacks(t, "text", text, deleted)
	}
	for _, there := range []string{"note 0 ", "something else altogether", "note 2 ", "note 5 "} {
		check.Contains(t, "text", text, there)
	}
	r.verify()
	r.renderAfterRestart()
}
