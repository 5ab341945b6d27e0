package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

// long is a worker whose summaries fill the stack quickly, and which rejects folds while refuse
// returns true.
func long(refuse func() bool) *llmtest.Model {
	return &llmtest.Model{Tokens: 8000, Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if strings.Contains(req.Messages[1].Text, "<summary from=") && refuse() {
			return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503}
		}
		return summary(fmt.Sprintf("Summary %d. %s", n, filler(150))), nil
	}}
}

func TestFailedRollupDoesNotRereadHistory(t *testing.T) {
	check.SkipUnderRace(t)
	synctest.Test(t, func(t *testing.T) {
		var refuse atomic.Bool
		worker := long(refuse.Load)
		r := newRig(t, 4000, worker)
		r.deliverAndWait(150, 300)
		refuse.Store(true)
		built := func() bool {
			return slices.ContainsFunc(r.c.Status().Stack, func(row compactor.Compaction) bool { return row.By == compactor.ByExtractive })
		}
		for i := 0; !built() && i < 100; i++ {
			r.deliverNotes(fmt.Sprint("more ", i, " ", filler(150)))
			r.waitIdle()
			time.Sleep(time.Hour)
		}
		check.Require(t, built(), "got no extractive fold")
		refuse.Store(false)
		before := len(worker.Requests())
		time.Sleep(time.Hour)
		r.waitIdle()
		read := 0
		for _, req := range worker.Requests()[before:] {
			read += tokens.Estimate(req.Messages[1].Text)
		}
		if built() || read > 4000 {
			t.Errorf("repaired: %v; the worker read %d tokens of a history of 50 000", !built(), read)
		}
		r.verify()
	})
}

func TestWindowFullOfToolsDoesNotCompactEachMessage(t *testing.T) {
	for name, set := range map[string]func(*rig){
		"tools above background": func(r *rig) { r.resize(4000); r.tools[0].Description = filler(2900) },
		"tools above compact_at_tokens": func(r *rig) {
			r.resize(128_000)
			r.policy.CompactAtTokens = 2000
			r.tools[0].Description = filler(2300)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t, dir: t.TempDir(), policy: compactor.DefaultPolicy(), worker: &llmtest.Model{Func: goodSummary}}
			r.tools = []llm.Tool{{Name: "look", Parameters: []byte("{}")}}
			set(r)
			r.open()
			defer r.close()
			r.deliverAndWait(40, 90)
			n := len(r.worker.Requests())
			check.That(t, n <= 20 && r.c.Status().Paused != "", "got %d model calls for 40 messages, paused %q", n, r.c.Status().Paused)
			r.verify()
		})
	}
}

func TestRetriedTurnShowsWholeResults(t *testing.T) {
	r := newRig(t, 4000, nil)
	x := r.begin(r.deliver("look at everything", true))
	first := r.c.History().Next()
	look := func(i int, text string) {
		x.look(fmt.Sprint("call_", i), text)
		r.request()
	}
	for i := range 8 {
		look(i, "big "+filler(700))
	}
	r.c.History().Truncate(first) // the provider failed, and the request is retried
	x.rows = nil
	for i := range 5 {
		look(i, fmt.Sprint("small ", i, strings.Repeat("\nline of a result", 20)))
	}
	check.Equal(t, "shown results", strings.Count(r.render(), "small "), 5)
	check.NoError(t, r.conv.Turns().Finish(t.Context(), store.Outcome{Turn: x.asked.Seq, Messages: x.rows}))
	r.said = append(r.said, x.rows...)
	r.c.Answered()
	r.renderAfterRestart()
}
