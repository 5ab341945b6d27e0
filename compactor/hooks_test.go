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
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func (r *rig) last(state compactor.EventState) (last compactor.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.State == state {
			last = e
		}
	}
	return last
}

func TestVeto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[compactor.Trigger]int{} // synctest.Wait orders the worker's writes and the test's reads
		var allows atomic.Bool
		r := tuned(t, 4000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) {
			o.Before = func(_ context.Context, e compactor.Proposal) (string, error) {
				asked[e.Trigger]++
				if e.State != compactor.EventStarted || e.ID != 0 || e.From == 0 || e.Messages == 0 || e.Window != 4000 || e.BeforeTokens == 0 || e.Trigger != compactor.OnRepair && e.Tokens == 0 {
					t.Errorf("got hook call %+v", e)
				}
				if !allows.Load() {
					return "", errors.New("not during the lecture")
				}
				return "", nil
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
		check.That(t, g.Paused == "background was forbidden: not during the lecture" && reflect.DeepEqual(g.Last, e), "got status %q, last event %+v", g.Paused, g.Last)
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
		r.c.Overflow(t.Context())
		check.Equal(t, "trigger of the last compaction", r.last(compactor.EventApplied).Trigger, compactor.OnReactive)
		synctest.Wait()
		check.That(t, asked[compactor.OnEmergency]+asked[compactor.OnReactive] == 0, "got hook calls for %v", asked)
		r.resize(4000)
		allows.Store(true)
		word(time.Duration(r.policy.Cooldown))
		check.Equal(t, "afterwards the last compaction", r.last(compactor.EventApplied).Trigger, compactor.OnRepair)
		r.verify()
	})
}

func TestPanickingHooks(t *testing.T) {
	r := tuned(t, 100_000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) {
		after := o.After
		o.Before = func(context.Context, compactor.Proposal) (string, error) { panic("before") }
		o.After = func(e compactor.Event) { after(e); panic("after") }
	})
	r.deliverMany(20, 30)
	r.compactAndWait()
	check.Equal(t, "applied compactions", r.seen(compactor.EventApplied), 1)
	check.Len(t, "stack", r.c.Status().Stack, 1)
	r.verify()
}

// Hooks, the status and the log get the same event, and the log no text of a summary.
func TestEventsReachEveryListener(t *testing.T) {
	for state, worker := range map[compactor.EventState]func(context.Context, int, llm.Request) (llm.Response, error){
		compactor.EventApplied: goodSummary, compactor.EventFailed: brokenSummaries,
	} {
		t.Run(string(state), func(t *testing.T) {
			var log journal
			r := tuned(t, 100_000, &llmtest.Model{Func: worker}, func(o *compactor.Options) { o.Log = log.logger() })
			r.deliverMany(20, 30)
			r.compactAndWait()
			told := r.last(state)
			check.Require(t, told.State == state && reflect.DeepEqual(r.c.Status().Last, told), "got event %+v, status %+v", told, r.c.Status().Last)
			check.That(t, state == compactor.EventApplied || strings.HasSuffix(told.Error, "nothing was lost"), "got failure %q", told.Error)
			check.Contains(t, "log", log.String(), fmt.Sprintf("event.state=%s ", state), fmt.Sprintf("event.before_tokens=%d ", told.BeforeTokens))
			check.Lacks(t, "log", log.String(), "Summary 1 of")
		})
	}
}
