package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/compactor/worker"
	"cairn/testkit/check"
	"cairn/transcript"
)

// lines is a strategy whose summaries have a line with evidence, one without, and a line with a copied mark.
type lines struct{}

func (lines) AsksModel() bool { return false }

func (lines) Summarize(_ context.Context, m worker.Material) (summarize.Summary, error) {
	text := fmt.Sprintf("## Facts\n- what they said (#%d)\n- a guess\n- copied [no evidence]", m.Row.From)
	known := []transcript.Line{{At: 1, Seqs: []int64{m.Row.From, 1 << 40}}, {At: 2}, {At: 3, Seqs: []int64{m.Row.To}}, {At: 9}}
	return summarize.Summary{Text: text, Lines: known, Dropped: 1}, nil
}

func (r *rig) rewrites(number int, text string) compactor.Event {
	r.t.Helper()
	e := check.Must(r.c.Rewrite(r.t.Context(), r.c.Status().Stack[0].ID, number, text))(r.t)
	check.Equal(r.t, "outcome", e.State, compactor.EventRewritten)
	check.Equal(r.t, "tokens", e.AfterTokens, r.c.Status().Used)
	r.verify()
	return e
}

func TestMarksOfLinesWithoutEvidence(t *testing.T) {
	r := newRig(t, 16_000, nil, func(o *compactor.Options) { o.Strategy = func(string) worker.Strategy { return lines{} } })
	r.deliverMany(60, 30)
	r.compactAndWait()
	row := r.c.Status().Stack[0]
	check.Contains(t, "prompt", r.render(), "- a guess [no evidence]\n- copied\n")
	check.Equal(t, "stored text", row.Text, fmt.Sprintf("## Facts\n- what they said (#%d)\n- a guess\n- copied", row.From))
	check.That(t, len(row.Lines) == 3 && len(row.Lines[0].Seqs) == 1 && row.Dropped == 1 && row.Tokens == row.Cost(), "%+v", row)
	before := r.render()
	r.restart()
	check.Equal(t, "prompt after a restart", r.render(), before)
	recap := check.Must(r.c.Recap(t.Context(), ""))(t)
	check.Contains(t, "recap", recap.Text, "- a guess [no evidence]")
	e := r.rewrites(2, "Ada knows it")
	check.Contains(t, "event", e.Summary, "- Ada knows it\n")
	check.Contains(t, "prompt", r.render(), "- Ada knows it\n- copied\n")
	r.undo()
	check.Equal(t, "prompt after an undo", r.render(), before)
}

// A repair that runs while a line of its row is rewritten is dropped, and the next one keeps the line.
func TestRewriteDuringRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		r := newRig(t, 4000, waitingFor(open, goodSummary))
		for i := 0; r.emergencies() == 0 && i < 100; i++ {
			r.deliverNotes(fmt.Sprintf("note %d: the harbour of Bergen opens at %d. %s", i, i, filler(60)))
		}
		synctest.Wait() // all work but the model's is done
		row := r.c.Status().Stack[0]
		check.Require(t, row.By == compactor.ByExtractive && r.c.Busy(), "no extract awaits a model: the test proves nothing")
		r.rewrites(1, "Ada is in Oslo")
		check.Contains(t, "prompt", r.render(), "- Ada is in Oslo")
		close(open)
		r.waitIdle()
		r.repaired()
		check.Contains(t, "prompt after the repair", r.render(), "- Ada is in Oslo")
		check.Contains(t, "prompt after the repair", r.render(), "Summary ")
	})
}

func TestRewriteIsRefused(t *testing.T) {
	r := newRig(t, 4000, nil, func(o *compactor.Options) { o.Strategy = func(string) worker.Strategy { return lines{} } })
	r.deliverMany(60, 30)
	r.compactAndWait()
	id := r.c.Status().Stack[0].ID
	before := r.render()
	for name, test := range map[string]struct {
		id     int64
		number int
		text   string
		want   error
	}{
		"no such summary": {99, 1, "x", compactor.ErrNotApplied}, "no such line": {id, 4, "x", compactor.ErrNoLine},
		"line 0": {id, 0, "x", compactor.ErrNoLine}, "too long": {id, 1, strings.Repeat("x", compactor.MaxLine+1), compactor.ErrLongLine},
	} {
		_, err := r.c.Rewrite(t.Context(), test.id, test.number, test.text)
		check.Error(t, err, test.want)
		check.Equal(t, name, r.render(), before)
	}
	r.set(func(p *compactor.Policy) { p.StackBudget = 0.05 })
	_, err := r.c.Rewrite(t.Context(), id, 1, strings.Repeat("word ", 90))
	full, ok := errors.AsType[*compactor.NoRoomError](err)
	check.That(t, ok && strings.Contains(full.Why, "lines that people wrote"), "%v", err)
}
