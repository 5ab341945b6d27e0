package compactor_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// repairing returns a conversation in which a worker repairs a placeholder, which takes a second,
// and more could be summarized.
func repairing(t *testing.T, tune func(*compactor.Options)) *rig {
	t.Helper()
	r := tuned(t, 100_000, &llmtest.Model{Delay: time.Second, Func: goodSummary}, tune)
	r.chat(40)
	r.resize(3000)
	r.c.Overflow(t.Context())
	r.resize(100_000)
	r.chat(20)
	r.c.Check(t.Context())
	synctest.Wait() // until the placeholder is filled
	if running := r.c.Status().Running; running == nil || running.Trigger != compactor.OnRepair {
		t.Fatalf("got running job %+v", running)
	}
	return r
}

// want requests a compaction as a person does, and collects how it ended.
func (r *rig) want(focus string) (e compactor.Event, ended *[]compactor.Event) {
	ended = new([]compactor.Event)
	return r.c.CompactThen(compactor.OnManual, focus, func(e compactor.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		*ended = append(*ended, e)
	}), ended
}

// scheduled requests a compaction while a job runs.
func (r *rig) scheduled(focus string) (ended *[]compactor.Event) {
	r.t.Helper()
	e, ended := r.want(focus)
	check.Require(r.t, e.State == compactor.EventScheduled, "got %+v", e)
	return ended
}

func (r *rig) wantOneEvent(ended *[]compactor.Event, state compactor.EventState) (e compactor.Event) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(*ended) != 1 || (*ended)[0].State != state {
		r.t.Fatalf("got outcomes %+v, want one %s", *ended, state)
	}
	return (*ended)[0]
}

func TestRequestIsQueuedBehindRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := repairing(t, nil)
		e, ended := r.want("the prices")
		check.Require(t, e.State == compactor.EventScheduled && e.Trigger == compactor.OnManual && e.Error == "", "got %+v", e)
		check.That(t, r.c.Status().Scheduled, "the status does not show the request")
		if second, _ := r.want("the dates"); second.State != compactor.EventNoop {
			t.Errorf("got %+v", second)
		}
		check.Contains(t, "refusal of the model's request", r.refusal(compactor.OnSelf), "running already")
		check.Len(t, "outcomes before the start", *ended, 0)
		r.waitIdle()
		applied := r.wantOneEvent(ended, compactor.EventApplied)
		if applied.Trigger != compactor.OnManual || applied.AfterTokens >= applied.BeforeTokens {
			t.Errorf("got the end of %+v reported", applied)
		}
		rows := r.c.Status().Stack
		last := rows[len(rows)-1]
		check.Equal(t, "last row", last.ID, applied.ID)
		check.Equal(t, "focus of the last row", last.Focus, "the prices")
		check.That(t, r.seen(compactor.EventScheduled) == 1 && !r.c.Status().Scheduled, "the request is no longer queued")
		r.verify()
	})
}

func TestReportedEndBelongsToRequest(t *testing.T) {
	for name, test := range map[string]struct {
		worker func(context.Context, int, llm.Request) (llm.Response, error)
		state  compactor.EventState
	}{
		"it lands, and another thing is due behind it": {goodSummary, compactor.EventApplied},
		"it fails, and another thing lands behind it": {func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			if n == 1 {
				return llm.Response{}, errWorker
			}
			return goodSummary(ctx, n, req)
		}, compactor.EventFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 100_000, &llmtest.Model{Delay: time.Second, Func: test.worker})
				r.chat(40)
				e, ended := r.want("")
				check.Require(t, e.State == compactor.EventStarted, "got %+v", e)
				r.chat(20)
				synctest.Wait()
				r.resize(1600) // now a level is due after it
				r.waitIdle()
				time.Sleep(2 * time.Minute) // after a failure the next try waits
				r.waitIdle()
				if told := r.wantOneEvent(ended, test.state); told.Trigger != compactor.OnManual || told.From != e.From {
					t.Errorf("got the end of %+v, want that of %+v", told, e)
				}
				if last := r.c.Status().Last; last.Trigger == compactor.OnManual {
					t.Errorf("the last event is the end of the request, %+v: the test proves nothing", last)
				}
			})
		})
	}
}

func TestRequestOverRunningSpanIsNotQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Delay: time.Second, Func: goodSummary})
		r.chat(30)
		first, _ := r.want("")
		for _, focus := range []string{"", "the prices"} {
			e, ended := r.want(focus)
			check.Equal(t, fmt.Sprint(e), e.State, compactor.EventNoop)
			check.Contains(t, fmt.Sprintf("it is %+v e.Error", e), e.Error, "running already")
			check.Equal(t, fmt.Sprintf("it is %+v first.To", e), first.To, 26)
			check.Len(t, "outcomes of requests that never started", *ended, 0)
		}
		r.waitIdle()
		check.Equal(t, "applied compactions", r.seen(compactor.EventApplied), 1)
	})
}

func TestRequestDuringPrepareAppliesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Delay: time.Second, Func: goodSummary})
		r.policy.PrepareThreshold, r.policy.SpanTokens, r.policy.TailTokens = 0.02, 1000, 500
		r.chat(60)
		if running := r.c.Status().Running; running == nil || running.Trigger != compactor.OnPrepare {
			t.Fatalf("got running job %+v", running)
		}
		ended := r.scheduled("")
		r.waitIdle()
		r.wantOneEvent(ended, compactor.EventApplied)
		if g := r.c.Status(); len(g.Prepared) != 0 || len(g.Stack) == 0 {
			t.Errorf("got %d prepared and %d applied rows", len(g.Prepared), len(g.Stack))
		}
		r.verify()
	})
}

func TestQueuedRequestReportsNothingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := repairing(t, nil)
		ended := r.scheduled("")
		r.set(func(p *compactor.Policy) { p.KeepLastN = 500 })
		r.waitIdle()
		if told := r.wantOneEvent(ended, compactor.EventNoop); told.Error == "" {
			t.Errorf("got %+v", told)
		}
	})
}

func TestVetoOfQueuedRequestIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := repairing(t, func(o *compactor.Options) {
			o.Before = func(_ context.Context, e compactor.Proposal) (string, error) {
				if e.Trigger == compactor.OnManual {
					return "", errWorker
				}
				return "", nil
			}
		})
		ended := r.scheduled("")
		if r.waitIdle(); r.wantOneEvent(ended, compactor.EventNoop).Error != errWorker.Error() {
			t.Errorf("got %+v", *ended)
		}
		check.Equal(t, "paused", r.c.Status().Paused, "")
	})
}

func TestScheduledRequestEndsWithProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := repairing(t, nil)
		ended := r.scheduled("")
		r.close()
		check.Contains(t, "outcome", r.wantOneEvent(ended, compactor.EventNoop).Error, "ask again")
		r.open()
		r.waitIdle()
		for _, row := range r.c.Status().Stack {
			check.That(t, row.Trigger != compactor.OnManual, "a request survived the process: %+v", row)
		}
		r.verify()
	})
}
