package compactor_test

import (
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/llm/llmtest"
	"cairn/transcript"
)

// undoing says how a faulty disk undoes.
type undoing struct {
	disk   *faultyDisk
	undoes bool // it takes the compaction back, and fails then
	works  bool // it fails no more
	late   int  // so many undoes come too late: people changed something first
}

func (u *undoing) commit(commit func() (compactor.Head, error)) (head compactor.Head, err error) {
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

// lostUndo has some applied compactions, and an undo that fails on such a disk. view is what the
// view was before the last of them.
func lostUndo(t *testing.T, appliedSets int, u *undoing) (r *rig, view string) {
	t.Helper()
	r = newRig(t, 8000, &llmtest.Model{Func: good})
	for range appliedSets {
		r.hearMany(30, 50)
		view = r.render()
		r.applied()
	}
	u.disk = r.faultyDisk()
	u.disk.undo = u
	if _, err := r.c.Undo(t.Context()); err == nil {
		t.Fatal("the failure is not told")
	}
	return r, view
}

func TestAnUndoWhoseAnswerIsLostLosesNoMessage(t *testing.T) {
	r, before := lostUndo(t, 1, &undoing{undoes: true})
	if after := r.render(); after != before {
		t.Errorf("the view is\n%s", after)
	}
	r.verify()
}

func TestANewSessionBringsNothingBackOfARefusedUndo(t *testing.T) {
	r, _ := lostUndo(t, 1, &undoing{})
	r.startSession()
	if g := r.c.Status(); g.Lines != 0 {
		t.Errorf("%d messages of the session that has ended are verbatim", g.Lines)
	}
	r.hear("something new")
	if err := r.checkShown(); err != nil {
		t.Error(err)
	}
	r.verify()
}

// What people change at the same time keeps nobody from taking the latest summary back.
func TestAnUndoIsTriedAgain(t *testing.T) {
	u := &undoing{}
	r, before := lostUndo(t, 1, u)
	u.undoes, u.works, u.late = true, true, 2
	if e, err := r.c.Undo(t.Context()); err != nil || e.State != compactor.EventUndone || u.late != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if after := r.render(); after != before {
		t.Errorf("the view is\n%s", after)
	}
	r.verify()
}

// What people change between an undo whose answer was lost and the next look at the
// disk is shown as they changed it.
func TestALostUndoBringsBackWhatPeopleChangedMeanwhile(t *testing.T) {
	r, _ := lostUndo(t, 1, &undoing{undoes: true})
	r.edit(2, "something else altogether")
	r.remove(4, 5)
	text := r.render()
	for _, deleted := range []string{"note 1 ", "note 3 ", "note 4 "} {
		if strings.Contains(text, deleted) {
			t.Errorf("%q was taken away and is in the view", deleted)
		}
	}
	for _, there := range []string{"note 0 ", "something else altogether", "note 2 ", "note 5 "} {
		if !strings.Contains(text, there) {
			t.Errorf("%q is not in the view", there)
		}
	}
	r.verify()
	r.asRestarted()
}

// What a lost undo has uncovered is at hand until the disk was read again: nothing else
// is undone before.
func TestNoUndoBehindOneWhoseAnswerIsLost(t *testing.T) {
	u := &undoing{undoes: true}
	r, _ := lostUndo(t, 2, u)
	u.works, u.disk.blind = true, true
	if e, err := r.c.Undo(t.Context()); err == nil {
		t.Errorf("%+v", e)
	}
	u.disk.blind = false
	r.render()
	if err := r.checkShown(); err != nil {
		t.Error(err)
	}
	r.verify()
	r.asRestarted()
}
