package compactor_test

import (
	"strconv"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// A repair requests a summary as long as its span warrants, like any other job.
func TestRepairLengthFollowsSpan(t *testing.T) {
	for _, worker := range []*llmtest.Model{{Func: goodSummary}, nil} {
		r := newRig(t, 100_000, worker)
		r.hearNotes(20)
		span := 0
		for _, m := range r.said {
			span += m.Tokens
		}
		r.startSession() // all of it is behind a placeholder, which is repaired
		r.waitIdle()
		rows := r.c.Status().Past.Earlier[0].Rows
		check.Require(t, len(rows) == 1 && rows[0].Kind == compactor.Leaf, "got earlier session %+v", rows)
		want := span * 20 / 100
		if worker == nil { // the transcript has labels, and the summary a line above it
			check.That(t, rows[0].Tokens <= want*3/2+60, "summary of %d tokens: got %d", span, rows[0].Tokens)
			continue
		}
		for _, req := range worker.Requests() {
			got := check.Must(strconv.Atoi(about.FindStringSubmatch(req.Messages[1].Text)[1]))(t)
			check.That(t, got >= want && got <= want*3/2, "span of %d tokens: got a request for %d, want about %d", span, got, want)
		}
	}
}
