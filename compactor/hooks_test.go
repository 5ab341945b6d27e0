package compactor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
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
		var mu sync.Mutex
		asked := map[compactor.Trigger]int{}
		forbid := true
		r := tuned(t, 4000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) {
			o.Before = func(_ context.Context, e compactor.Proposal) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				asked[e.Trigger]++
				if e.State != compactor.EventStarted || e.ID != 0 || e.From == 0 || e.Messages == 0 || e.Window != 4000 || e.BeforeTokens == 0 || e.Trigger != compactor.OnRepair && e.Tokens == 0 {
					t.Errorf("got hook calls %+v", e)
				}
				if forbid {
					return "", errors.New("not during the lecture")
				}
				return "", nil
			}
		})
		for i := 0; r.seen(compactor.EventNoop) == 0 && i < 100; i++ {
			r.deliverNotes(fmt.Sprint("note ", i, " ", filler(60)))
			synctest.Wait()
		}
		e := r.last(compactor.EventNoop)
		if e.Error != "not during the lecture" || e.Trigger != compactor.OnBackground || r.seen(compactor.EventStarted) > 0 {
			t.Fatalf("got veto %+v", e)
		}
		if g := r.c.Status(); g.Paused != "background was forbidden: not during the lecture" || !reflect.DeepEqual(g.Last, e) {
			t.Errorf("got status %q, last event %+v", g.Paused, g.Last)
		}
		for range 3 {
			r.deliverNotes("a word")
			r.waitIdle()
		}
		check.Equal(t, "asked", asked[compactor.OnBackground], 1)
		time.Sleep(time.Duration(r.policy.Cooldown))
		r.deliverNotes("a word")
		r.waitIdle()
		check.Equal(t, "asked", asked[compactor.OnBackground], 2)
		if e := r.c.Compact(compactor.OnManual, ""); e.State != compactor.EventNoop || e.Error != "not during the lecture" {
			t.Errorf("manual request: got %+v", e)
		}

		// Hooks are not asked about compactions that keep the next request within the window.
		r.notesUntil(60, func() bool { r.waitIdle(); return r.seen(compactor.EventApplied) > 0 })
		applied := r.last(compactor.EventApplied)
		r.resize(2000)
		r.c.Overflow(t.Context())
		check.Equal(t, "applied", applied.Trigger, compactor.OnEmergency)
		check.Equal(t, "trigger of the last compaction", r.last(compactor.EventApplied).Trigger, compactor.OnReactive)
		check.That(t, asked[compactor.OnEmergency]+asked[compactor.OnReactive] <= 0, "got hook calls for %v", asked)
		r.resize(4000)

		mu.Lock()
		forbid = false
		mu.Unlock()
		time.Sleep(time.Duration(r.policy.Cooldown))
		r.deliverNotes("a word")
		r.waitIdle()
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
	for range 20 {
		r.deliverNotes("a word " + filler(30))
	}
	r.compactAndWait()
	check.Equal(t, "applied compactions, a stack", r.seen(compactor.EventApplied), 1)
	check.Len(t, "applied compactions, a stack", r.c.Status().Stack, 1)
	r.verify()
}

func TestEventsReachEveryListener(t *testing.T) {
	for _, test := range []struct {
		name   string
		worker func(context.Context, int, llm.Request) (llm.Response, error)
		state  compactor.EventState
	}{{"applied", goodSummary, compactor.EventApplied}, {"failed", brokenSummaries, compactor.EventFailed}} {
		t.Run(test.name, func(t *testing.T) {
			var log journal
			r := tuned(t, 100_000, &llmtest.Model{Func: test.worker}, func(o *compactor.Options) {
				o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			})
			for range 20 {
				r.deliverNotes("a secret " + filler(30))
			}
			r.compactAndWait()
			told := r.last(test.state)
			check.Require(t, told.State != "" && reflect.DeepEqual(r.c.Status().Last, told),
				"got event %+v, status %+v", told, r.c.Status().Last)
			check.That(t, test.state != compactor.EventFailed || strings.HasSuffix(told.Error, "nothing was lost"),
				"got failure %q", told.Error)
			var last map[string]any
			for line := range strings.Lines(log.String()) {
				var entry struct{ Event map[string]any }
				check.NoError(t, json.Unmarshal([]byte(line), &entry))
				if entry.Event["state"] == string(test.state) {
					last = entry.Event
				}
			}
			text, err := json.Marshal(told)
			check.NoError(t, err)
			var want map[string]any
			check.NoError(t, json.Unmarshal(text, &want))
			delete(want, "summary")
			check.That(t, fmt.Sprint(last) == fmt.Sprint(want), "got log\n%v\nwant\n%v", last, want)
			check.Lacks(t, "log", log.String(), "Summary 1 of")
		})
	}
}
