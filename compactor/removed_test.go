package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/transcript"
)

// A model that summarizes again what people corrected reads what they wrote, and what they removed does not come back.
func TestSummaryThatPeopleCorrectedIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		var again string // the text of each summary
		model := &llmtest.Model{}
		model.Func = func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			select {
			case <-open:
				return summary(again), nil
			case <-ctx.Done():
				return llm.Response{}, ctx.Err()
			}
		}
		r := newRig(t, 4000, model)
		for i := 0; r.emergencies() == 0 && i < 100; i++ {
			said := fmt.Sprintf("note %d: the harbour of Bergen opens at %d. %s", i, i, filler(60))
			r.arrive(store.Inbound{Text: said, Time: time.Date(2026, 1, i+1, 0, 0, 0, 0, time.UTC)}) // a line for each
			r.c.Speak()
			r.c.Check(t.Context())
		}
		synctest.Wait() // all work but the model's is done
		lines := r.c.Status().Stack[0].Claims()
		check.Require(t, len(lines) > 3 && r.c.Busy(), "no extract awaits a model: the test proves nothing")
		removed := lines[1].Text
		for _, l := range lines[1:] {
			again += "- " + l.Text + "\n"
		}
		r.rewrites(1, "Ada is in Oslo")
		r.rewrites(2, "")
		close(open)
		r.waitIdle()
		r.repaired()
		row := r.c.Status().Stack[0]
		check.Require(t, row.By == compactor.ByWorker, "got %+v", row)
		check.Contains(t, "text", row.Text, lines[2].Text, "- Ada is in Oslo")
		check.Lacks(t, "text", row.Text, removed)
		check.That(t, slices.ContainsFunc(row.DroppedLines, func(l transcript.DroppedLine) bool { return l.Text == removed && l.By == "Ada" }), "%+v", row.DroppedLines)
		requests := model.Requests()
		check.Contains(t, "the last request", fmt.Sprint(requests[len(requests)-1].Messages), "<corrections", "Ada corrected: Ada is in Oslo\n</corrections>")
		check.Equal(t, "contradicted lines", row.Dropped, 0)
	})
}
