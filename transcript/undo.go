package transcript

import (
	"errors"
	"slices"

	"cairn/chat"
)

// The reasons why nothing can be undone.
var (
	ErrNothingApplied = errors.New("there is no summary to undo")
	ErrChangedSince   = errors.New("the last summary has changed since: messages in it were edited or deleted, or it was hidden or replaced")
	ErrHiddenSince    = errors.New("messages after the last summary have been hidden since")
)

// Undoable is the latest act of the session, as far as it is in the session: a compaction that people, the
// model or a level set off, or a line that a person rewrote. The store has it; a State does not.
type Undoable struct {
	Version int64  // of the current head
	Why     string // why nothing can be undone, in words for people; empty: see Undo
	Steps   []Step // newest first; the last is the act, the others folded or repaired its summaries since
}

// Step is what one change of the head applied.
type Step struct {
	Rows      []Summary      // its new summaries, by From
	Ended     []Summary      // the summaries that ended with it, by From; includes some of Rows if they were rolled up immediately
	Freed     []chat.Message // what was verbatim before, by seq
	ClearedTo int64          // of the state without it
	Changed   bool           // one of its messages was edited or deleted since
}

// Act returns the oldest step: what was set off. The zero value if there is nothing to undo.
func (l Undoable) Act() (act Step) {
	if n := len(l.Steps); n > 0 {
		act = l.Steps[n-1]
	}
	return act
}

// Freed returns the messages that an undo makes verbatim again.
func (l Undoable) Freed() (freed []chat.Message) {
	for _, step := range l.Steps {
		freed = append(freed, step.Freed...)
	}
	return freed
}

// ActIn returns, of the steps from the newest to the latest act, those that an undo of the act undoes: the act, and
// what folded or repaired its summaries. The others, of summaries beside it, stay. Where no step is an act, it is the newest.
func ActIn(steps []Step) []Step {
	if len(steps) == 0 {
		return nil
	}
	act := steps[len(steps)-1]
	if !act.isAct() {
		return steps[:1]
	}
	return slices.DeleteFunc(steps, func(step Step) bool { return !step.overlaps(act) })
}

// Upkeep are the triggers of folds and repairs: nobody set them off, they follow what is applied.
var Upkeep = [...]Trigger{OnRollup, OnRepair}

// IsUpkeep reports whether t is one of Upkeep.
func (t Trigger) IsUpkeep() bool { return slices.Contains(Upkeep[:], t) }

// isAct reports whether people, the model or a level set the step off: it is not only a fold or a repair.
func (step Step) isAct() bool {
	return slices.ContainsFunc(step.Rows, func(row Summary) bool { return !row.Trigger.IsUpkeep() })
}

func (step Step) overlaps(other Step) bool {
	return slices.ContainsFunc(step.Rows, func(row Summary) bool {
		return slices.ContainsFunc(other.Rows, func(o Summary) bool { return row.Overlaps(o.Span) })
	})
}

// IsRewrite reports whether a person rewrote a line of a summary, which is all that happened.
func (step Step) IsRewrite() bool { return len(step.Rows) == 1 && step.Rows[0].Trigger == OnRewrite }

// Undo returns the change of s that undoes it: what it hid is verbatim again, and the summaries that
// it rolled up or replaced are applied again. Prepared summaries and jobs over the same messages
// become stale, and what came back is spared, unless only a line was rewritten. Memories stay. ErrChangedSince, ErrHiddenSince: it
// cannot be undone.
func (l Undoable) Undo(s *State) (Change, error) {
	d := s.draft()
	var restored []Message
	for _, step := range l.Steps {
		if err := step.undo(d); err != nil {
			return s.none(), err
		}
		for _, m := range step.Freed {
			restored = append(restored, MessageOf(m))
		}
	}
	c := d.headChange()
	c.Restored = restored
	return c, nil
}

// undo undoes the step in a draft of the state that it led to.
func (step Step) undo(d *draft) error {
	isOf := func(id int64) bool { return indexOf(step.Rows, id) >= 0 }
	ended := func(row Summary) bool { return indexOf(d.Summaries, row.ID) < 0 && indexOf(step.Ended, row.ID) < 0 }
	if step.Changed || slices.ContainsFunc(step.Rows, ended) {
		return ErrChangedSince
	}
	for _, row := range d.Summaries {
		within := func(other Summary) bool { return row.Within(other.Span) }
		if len(step.Freed) > 0 && row.From > step.Freed[0].Seq && !isOf(row.ID) && !slices.ContainsFunc(step.Rows, within) {
			return ErrHiddenSince
		}
	}
	for _, row := range step.Rows {
		if i := indexOf(d.Summaries, row.ID); i >= 0 {
			d.put(d.Summaries[i].retire(Undone))
		}
	}
	for _, row := range step.Ended {
		if isOf(row.ID) { // it was rolled up immediately
			d.put(row.retire(Undone))
			continue
		}
		if row.State == Replaced && !step.IsRewrite() {
			d.Spared = d.Spared.hull(row.Span)
		}
		row.State = Applied
		if row.Text == "" { // it repeated text deleted elsewhere
			row = row.emptied()
		}
		d.put(row)
	}
	for _, m := range step.Freed {
		d.Spared = d.Spared.hull(Span{m.Seq, m.Seq})
	}
	for _, row := range step.Rows {
		d.dropPrepared(row.Span)
	}
	d.ClearedTo = step.ClearedTo
	return nil
}

// Cancel returns the change of s that cancels a job before its summary is applied: the job, and what is
// prepared over its messages, becomes stale, and the messages are spared, unless some are hidden meanwhile.
func (s *State) Cancel(sp Span) Change {
	d := s.draft()
	d.dropPrepared(sp)
	if len(d.covering(sp)) == 0 { // otherwise what summarizes the hidden ones would wait
		d.Spared = d.Spared.hull(sp)
	}
	return d.headChange()
}

// dropPrepared makes prepared summaries and jobs stale that overlap a span.
func (d *draft) dropPrepared(sp Span) {
	for _, row := range slices.Concat(d.Prepared, d.Running) {
		if sp.Overlaps(row.Span) {
			d.put(row.retire(Stale))
		}
	}
}
