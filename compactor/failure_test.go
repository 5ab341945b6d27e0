package compactor_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestFailedRollupDoesNotRereadHistory(t *testing.T) {
	slow(t)
	synctest.Test(t, func(t *testing.T) {
		var refuse atomic.Bool
		worker := wordyWorker(filler(150))
		write := worker.Func
		worker.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			if strings.Contains(req.Messages[1].Text, "<summary from=") && refuse.Load() {
				return brokenSummaries(ctx, n, req)
			}
			return write(ctx, n, req)
		}
		r := newRig(t, 4000, worker)
		r.deliverMany(150, 300, r.waitIdle)
		refuse.Store(true)
		built := func() bool {
			return len(r.rows(func(row compactor.Summary) bool { return row.By == compactor.ByExtractive })) > 0
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
		check.That(t, !built() && read <= 4000, "repaired: %v; the worker read %d tokens of a history of 50 000", !built(), read)
	})
}

// TestFailedFoldDoesNotFailItsSummary: what was summarized is applied, and only its fold failed.
func TestFailedFoldDoesNotFailItsSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4000, wordyWorker(filler(150)))
		allow := r.refuse(t, "INSERT ON compactions WHEN new.kind = 'rollup'")
		for range 12 {
			r.deliverMany(5, 300, r.waitIdle)
			time.Sleep(time.Hour)
		}
		states := map[int64]compactor.EventState{}
		folds := 0
		for _, e := range under(&r.mu, &r.events) {
			check.That(t, e.State != compactor.EventFailed || states[e.ID] != compactor.EventApplied, "summary %d was applied, and is said to have failed: %+v", e.ID, e)
			states[e.ID] = e.State
			if e.State == compactor.EventFailed && e.Kind == compactor.Rollup {
				folds++
			}
		}
		check.That(t, folds > 0, "no fold failed")
		allow()
		time.Sleep(time.Hour)
		r.waitIdle()
	})
}

func TestWindowFullOfToolsDoesNotCompactEachMessage(t *testing.T) {
	for name, c := range map[string]struct{ window, compactAt, tools int }{
		"tools above background":        {4000, 0, 2900},
		"tools above compact_at_tokens": {128_000, 2000, 2300},
	} {
		t.Run(name, func(t *testing.T) {
			r := ahead(t, c.window, func(o *compactor.Options) {
				o.Tools = []llm.Tool{{Name: "look", Description: filler(c.tools), Parameters: []byte("{}")}}
			})
			r.policy.CompactAtTokens = c.compactAt
			r.deliverMany(40, 90, r.waitIdle)
			n := len(r.worker.Requests())
			check.That(t, n <= 20 && r.c.Status().Paused != "", "got %d model calls for 40 messages, paused %q", n, r.c.Status().Paused)
		})
	}
}

// The first compactions after such a change leave the window above its limit.
func TestLoweredLimitIsReachedWithoutPause(t *testing.T) {
	slow(t)
	r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
	r.policy.AggressiveFraction = 0.3
	r.notesUntil(300, func() bool { return r.c.Status().Used > 60_000 })
	r.waitIdle()
	r.policy.CompactAtTokens = 10_000
	r.waitIdle()
	g := r.c.Status()
	check.That(t, g.Used <= 10_000 && g.Paused == "", "got %d tokens used, paused %q", g.Used, g.Paused)
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
	x.endWithoutAnswer()
	r.renderAfterRestart()
}

// declining is a worker that declines, in one of several ways, every request that mentions the poison, and counts them.
func declining(how string, declined *int) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if !strings.Contains(req.Messages[1].Text, "the poison") {
			return goodSummary(ctx, n, req)
		}
		*declined++
		switch how {
		case "by its tool":
			return summary("I'm sorry, but I can't assist with that."), nil
		case "in words":
			return llmtest.Say("I'm sorry, but I can't assist with that."), nil
		case "by a filter":
			return llm.Response{}, &llm.Error{Kind: llm.KindFiltered, Status: 400, Message: "content policy"}
		}
		return llmtest.Say(""), nil
	}
}

// A declined span is sent to the model only a few times in all, across restarts. Newer messages are summarized as usual.
// /compact tries the span again, and after people delete or edit what the model declined, it may summarize the rest.
func TestDeclinedSpanHasFewAttempts(t *testing.T) {
	slow(t)
	for how, then := range map[string]func(*rig){
		"by its tool":  func(r *rig) { r.compactAndWait() },
		"in words":     func(r *rig) { r.compactAndWait() },
		"with nothing": func(r *rig) { r.remove(1) },
		"by a filter":  func(r *rig) { r.edit(1, "in the film they speak of tea") },
	} {
		onClock(t, how, func(t *testing.T) {
			declined := 0
			r := newRig(t, 8000, &llmtest.Model{Tokens: 8000, Func: declining(how, &declined)})
			emergency := how == "in words" || how == "with nothing"
			r.policy.Enabled = !emergency
			r.talk("in the film they speak of the poison " + filler(20))
			for i := range 30 {
				r.talk(fmt.Sprintf("question %d %s", i, filler(320)))
				r.waitIdle()
				time.Sleep(time.Minute)
			}
			check.Require(t, declined != 0, "got no declined span")
			for i := range 28 { // a short word now and then, for a week
				r.talk(fmt.Sprintf("hm %d", i))
				r.waitIdle()
				time.Sleep(6 * time.Hour)
				if i%10 == 5 {
					r.restart()
				}
			}
			check.That(t, declined <= 8, "got %d paid attempts", declined)
			odd := r.rows(func(row compactor.Summary) bool { return row.NeedsRepair() != row.Covers(1) })
			check.Len(t, "rows that need a repair, except the declined one", odd, 0)
			r.verify()
			before := declined
			then(r)
			for range 4 {
				r.waitIdle()
				time.Sleep(6 * time.Hour)
			}
			if how == "by a filter" || how == "with nothing" {
				r.repaired()
				check.Equal(t, "refusals", declined, before)
			} else {
				check.That(t, declined > before, "/compact does not retry the declined span")
			}
		})
	}
}

// A large placeholder is repaired piece by piece, and a declined piece affects only itself.
func TestLargePlaceholderIsRepairedInPieces(t *testing.T) {
	slow(t)
	synctest.Test(t, func(t *testing.T) {
		declined := 0
		r := newRig(t, 4000, &llmtest.Model{Tokens: 4000, Func: declining("by its tool", &declined)})
		r.policy.Enabled = false
		r.policy.KeepLastN = 10
		r.arriveMany(150, func(i int) string {
			return cmp.Or(map[int]string{75: "they speak of the poison"}[i], fmt.Sprintf("note %d %s", i, filler(120)))
		})
		r.c.Speak()
		r.c.Check(t.Context())
		r.resize(8000) // so that there is room for each piece
		r.waitIdle()
		for range 30 { // for a week
			time.Sleep(6 * time.Hour)
			synctest.Wait()
		}
		left := 0
		for _, row := range r.rows(compactor.Summary.NeedsRepair) {
			left += row.Messages
		}
		n := len(r.worker.Requests())
		check.That(t, left <= 20 && n <= 40 && declined <= 8,
			"after %d requests, %d of them declined: %d of 150 messages are not summarized by the model", n, declined, left)
	})
}

// What the end of the program stops is made at the next start, and is no failure to report.
func TestStoppedSummaryIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4000, &llmtest.Model{Func: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		}})
		r.notesUntil(100, func() bool { return r.seen(compactor.EventStarted) > 0 })
		r.close()
		synctest.Wait()
		e := r.last(compactor.EventFailed)
		check.That(t, e.Stopped && strings.Contains(e.Error, "stopped before the summary was ready"), "got %+v", e)
	})
}

// panickyRecords breaks where a summary is stored.
type panickyRecords struct{ compactor.Records }

func (r panickyRecords) Begin(ctx context.Context, row compactor.Summary) (compactor.Job, error) {
	j, err := r.Records.Begin(ctx, row)
	return panickyJob{j}, err
}

type panickyJob struct{ compactor.Job }

func (panickyJob) Store(context.Context, summarize.Summary) ([]summarize.MemoryDraft, error) {
	panic("store")
}

// A panic behind the summarizer leaves no row that seems to be running.
func TestPanicWhileASummaryIsStored(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) { o.Records = panickyRecords{o.Records} })
	r.chat(40)
	r.compactAndWait()
	check.Equal(t, "failures", r.seen(compactor.EventFailed), 1)
	check.Equal(t, "failed rows", r.count("SELECT count(*) FROM compactions WHERE state = 'failed'"), 1)
	check.Equal(t, "running rows", r.count("SELECT count(*) FROM compactions WHERE state = 'running'"), 0)
}
