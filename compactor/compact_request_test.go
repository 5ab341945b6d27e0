package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// repairing returns a conversation in which a worker repairs a placeholder, which takes a second,
// and more could be summarized.
func repairing(t *testing.T, tune ...func(*compactor.Options)) *rig {
	t.Helper()
	r := newRig(t, 100_000, &llmtest.Model{Delay: time.Second, Func: goodSummary}, tune...)
	r.chat(40)
	r.resize(3000)
	r.c.Overflow(t.Context(), 1)
	r.resize(100_000)
	r.chat(20)
	r.c.Check(t.Context())
	synctest.Wait() // until the placeholder is filled
	running := r.c.Status().Running
	check.Require(t, running != nil && running.Trigger == compactor.OnRepair, "got running job %+v", running)
	return r
}

// want requests a compaction as a person does, and returns how it began, and its progress.
func (r *rig) want(focus string) (began compactor.Event, progress *compactor.Progress) {
	return r.c.request(compactor.Requested{Trigger: compactor.OnManual, Focus: focus})
}

// wantOutcome returns how a requested compaction has ended.
func (r *rig) wantOutcome(p *compactor.Progress, state compactor.EventState) (ended compactor.Event) {
	r.t.Helper()
	ended = get(r.c, func() compactor.Event { return p.Ended })
	check.Require(r.t, ended.State == state, "got the outcome %+v, want %s", ended, state)
	return ended
}

// refusal requests a compaction that does nothing, and returns the reason.
func (r *rig) refusal(trigger compactor.Trigger) string {
	r.t.Helper()
	e := r.c.Compact(trigger, "")
	check.That(r.t, e.State == compactor.EventNoop && e.ID == 0 && e.Error != "", "got %+v", e)
	return e.Error
}

func TestRequestIsQueuedBehindRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := repairing(t)
		e, ended := r.want("the prices")
		check.Require(t, e.State == compactor.EventScheduled && e.Trigger == compactor.OnManual && e.Error == "", "got %+v", e)
		check.That(t, r.c.Status().Scheduled, "the status does not show the request")
		second, _ := r.want("the dates")
		check.That(t, second.State == compactor.EventNoop, "got %+v", second)
		check.Contains(t, "refusal of the model's request", r.refusal(compactor.OnSelf), "already running")
		check.Equal(t, "outcome before the start", ended.Ended.State, "")
		r.waitIdle()
		applied := r.wantOutcome(ended, compactor.EventApplied)
		check.That(t, applied.Trigger == compactor.OnManual && applied.AfterTokens < applied.BeforeTokens,
			"got the end of %+v reported", applied)
		rows := r.c.Status().Stack
		last := rows[len(rows)-1]
		check.Equal(t, "last row", last.ID, applied.ID)
		check.Equal(t, "focus of the last row", last.Focus, "the prices")
		check.That(t, r.seen(compactor.EventScheduled) == 1 && !r.c.Status().Scheduled, "the request is no longer queued")
	})
}

func TestReportedEndBelongsToRequest(t *testing.T) {
	for failures, state := range []compactor.EventState{compactor.EventApplied, compactor.EventFailed} { // another job lands after it
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 100_000, &llmtest.Model{Delay: time.Second, Func: failing(func(n int) bool { return n <= failures })})
			r.chat(40)
			e, ended := r.want("")
			check.Require(t, e.State == compactor.EventStarted, "got %+v", e)
			r.chat(20)
			synctest.Wait()
			r.resize(1600) // now a level is due after it
			r.waitIdle()
			time.Sleep(2 * time.Minute) // after a failure the next try waits
			r.waitIdle()
			told := r.wantOutcome(ended, state)
			last := r.c.Status().Last
			check.That(t, told.Trigger == compactor.OnManual && told.From == e.From, "got the end of %+v, want that of %+v", told, e)
			check.That(t, last.Trigger != compactor.OnManual, "the last event is the end of the request, %+v: the test proves nothing", last)
		})
	}
}

// A requested summary that waits for a fold is reported when it is applied, once.
func TestRequestIsReportedAfterItsFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4000, wordyWorker(filler(150)))
		for range 12 {
			r.deliverMany(5, 300)
			if e, ended := r.want(""); e.State == compactor.EventStarted {
				r.waitIdle()
				r.wantOutcome(ended, compactor.EventApplied)
			}
		}
		folds := r.rows(func(row compactor.Summary) bool { return row.Kind == compactor.Rollup })
		check.That(t, len(folds) > 0, "got no fold: the test proves nothing")
	})
}

func TestRequestDuringPrepareAppliesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Delay: time.Second, Func: goodSummary})
		r.policy.PrepareThreshold = 0.02
		r.policy.SpanTokens = 1000
		r.policy.TailTokens = 500
		r.chat(60)
		running := r.c.Status().Running
		check.Require(t, running != nil && running.Trigger == compactor.OnPrepare, "got running job %+v", running)
		_, ended := r.want("")
		r.waitIdle()
		r.wantOutcome(ended, compactor.EventApplied)
		g := r.c.Status()
		check.That(t, len(g.Prepared) == 0 && len(g.Stack) != 0, "got %d prepared and %d applied rows", len(g.Prepared), len(g.Stack))
	})
}

func TestQueuedRequestReportsWhyItDoesNotStart(t *testing.T) {
	veto := func(_ context.Context, e compactor.Proposal) (string, error) {
		return "", map[compactor.Trigger]error{compactor.OnManual: errWorker}[e.Trigger]
	}
	for reason, c := range map[string]struct {
		before func(context.Context, compactor.Proposal) (string, error)
		do     func(*rig)
	}{
		"nothing old enough": {nil, func(r *rig) { r.set(func(p *compactor.Policy) { p.KeepLastN = 500 }) }},
		errWorker.Error():    {veto, func(*rig) {}},
		"ask again":          {nil, func(r *rig) { r.restart() }},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := repairing(t, func(o *compactor.Options) { o.Before = c.before })
			_, ended := r.want("")
			c.do(r)
			r.waitIdle()
			check.Contains(t, "outcome", r.wantOutcome(ended, compactor.EventNoop).Error, reason)
			check.Equal(t, "paused", r.c.Status().Paused, "")
			started := r.rows(func(row compactor.Summary) bool { return row.Trigger == compactor.OnManual })
			check.Len(t, "rows of the request", started, 0)
		})
	}
}

func TestManualCompactionReplacesLevelCompaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Delay: time.Second, Func: goodSummary})
		r.chat(150)
		r.resize(10_000) // now a level is reached, but not yet checked
		check.Equal(t, "outcome", r.c.Compact(compactor.OnManual, "").State, compactor.EventStarted)
		e, ended := r.want("the prices") // of the same span
		check.That(t, e.State == compactor.EventNoop && strings.Contains(e.Error, "already running") && ended.Ended.State == "", "got %+v, %+v", e, ended)
		r.c.Check(t.Context())
		r.waitIdle()
		n := r.seen(compactor.EventApplied)
		asked := len(r.worker.Requests())
		check.That(t, n == 1 && asked <= 3, "%d applied compactions, %d requests", n, asked)
	})
}

func TestModelCompactsOncePerTurn(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
	for range 2 {
		r.chat(30)
		x := r.begin(r.deliver("a question", true))
		r.request()
		check.Equal(t, "outcome of the first call", r.c.Compact(compactor.OnSelf, "the prices").State, compactor.EventStarted)
		check.NoError(t, r.c.Wait(t.Context()))
		for range 4 { // on every step
			check.Contains(t, "refusal of the next call", r.refusal(compactor.OnSelf), "just compacted")
		}
		x.finish("so it is")
		r.talk("another")
	}
}

func TestVeto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[compactor.Trigger]int{} // synctest.Wait orders the worker's writes and the test's reads
		var allows atomic.Bool
		r := newRig(t, 4000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) {
			o.Before = func(_ context.Context, e compactor.Proposal) (string, error) {
				asked[e.Trigger]++
				check.That(t, e.State == compactor.EventStarted && e.ID == 0 && e.From != 0 && e.Messages != 0 && e.Window == 4000 &&
					e.BeforeTokens != 0 && (e.Trigger == compactor.OnRepair || e.Tokens != 0), "got hook call %+v", e)
				return "", map[bool]error{false: errors.New("not during the lecture")}[allows.Load()]
			}
		})
		word := func(after time.Duration) {
			time.Sleep(after)
			r.deliverNotes("a word")
			r.waitIdle()
			synctest.Wait()
		}
		r.notesUntil(60, func() bool { synctest.Wait(); return r.seen(compactor.EventNoop) > 0 })
		e := r.last(compactor.EventNoop)
		check.Require(t, e.Error == "not during the lecture" && e.Trigger == compactor.OnBackground && r.seen(compactor.EventStarted) == 0, "got veto %+v", e)
		g := r.c.Status()
		check.That(t, g.Paused == "background was vetoed: not during the lecture" && reflect.DeepEqual(g.Last, e), "got status %q, last event %+v", g.Paused, g.Last)
		for range 3 {
			word(0)
		}
		check.Equal(t, "asked", asked[compactor.OnBackground], 1)
		word(time.Duration(r.policy.Cooldown))
		check.Equal(t, "asked", asked[compactor.OnBackground], 2)
		check.Equal(t, "answer to a manual request", r.c.Compact(compactor.OnManual, "").Error, "not during the lecture")

		// Hooks are not asked about compactions that keep the next request within the window.
		r.notesUntil(60, func() bool { r.waitIdle(); return r.seen(compactor.EventApplied) > 0 })
		check.Equal(t, "applied", r.last(compactor.EventApplied).Trigger, compactor.OnEmergency)
		r.resize(2000)
		r.c.Overflow(t.Context(), 1)
		check.Equal(t, "trigger of the last compaction", r.last(compactor.EventApplied).Trigger, compactor.OnReactive)
		synctest.Wait()
		check.That(t, asked[compactor.OnEmergency]+asked[compactor.OnReactive] == 0, "got hook calls for %v", asked)
		r.resize(4000)
		allows.Store(true)
		time.Sleep(time.Duration(r.policy.Cooldown)) // and nobody says a word
		synctest.Wait()
		check.Equal(t, "afterwards the last compaction", r.last(compactor.EventApplied).Trigger, compactor.OnRepair)
	})
}

// Hooks, the status and the log get the same event, and the log no text of a summary. A hook that panics changes nothing.
func TestEventsReachEveryListener(t *testing.T) {
	for state, worker := range map[compactor.EventState]func(context.Context, int, llm.Request) (llm.Response, error){
		compactor.EventApplied: goodSummary, compactor.EventFailed: brokenSummaries,
	} {
		t.Run(string(state), func(t *testing.T) {
			var log journal
			r := newRig(t, 100_000, &llmtest.Model{Func: worker}, func(o *compactor.Options) {
				o.Log, o.Before = log.logger(), func(context.Context, compactor.Proposal) (string, error) { panic("before") }
			})
			r.deliverMany(20, 30)
			r.compactAndWait()
			check.Equal(t, "compactions", r.seen(state), 1)
			check.Equal(t, "one row", len(r.c.Status().Stack) == 1, state == compactor.EventApplied)
			told := r.last(state)
			check.Require(t, told.State == state && reflect.DeepEqual(r.c.Status().Last, told), "got event %+v, status %+v", told, r.c.Status().Last)
			check.That(t, state == compactor.EventApplied || strings.HasSuffix(told.Error, "nothing was lost"), "got failure %q", told.Error)
			check.Contains(t, "log", log.String(), fmt.Sprintf("event.state=%s ", state), fmt.Sprintf("event.before_tokens=%d ", told.BeforeTokens))
			check.Lacks(t, "log", log.String(), "Summary 1 of")
		})
	}
}
