package compactor_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

var aimed = regexp.MustCompile(`about (\d+) tokens`)

// A repair requests a summary as long as its span warrants, like any other job.
func TestRepairLengthFollowsSpan(t *testing.T) {
	for _, model := range []bool{true, false} {
		t.Run(fmt.Sprintf("with a model: %v", model), func(t *testing.T) {
			var worker *llmtest.Model
			if model {
				worker = &llmtest.Model{Func: goodSummary}
			}
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
			if !model {
				if rows[0].Tokens > want*3/2+60 { // the transcript has labels, and the summary a line above it
					t.Errorf("summary of %d tokens: got %d", span, rows[0].Tokens)
				}
				return
			}
			for _, req := range worker.Requests() {
				got, err := strconv.Atoi(aimed.FindStringSubmatch(req.Messages[1].Text)[1])
				if err != nil || got > want*3/2 || got < want {
					t.Errorf("span of %d tokens: got a request for %d, want about %d", span, got, want)
				}
			}
		})
	}
}
