package compactor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestScheduledRequestEndsWithProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := repairing(t, nil)
		ended := r.scheduled("")
		r.close()
		check.Contains(t, "outcome", r.wantOneEvent(ended, compactor.EventNoop).Error, "ask again")
		r.open()
		r.waitIdle()
		for _, row := range r.c.Status().Stack {
			if row.Trigger == compactor.OnManual {
				t.Errorf("a request survived the process: %+v", row)
			}
		}
		r.verify()
	})
}

// Many people send /compact while jobs start and end: each accepted request is answered exactly
// once.
func TestEveryRequestEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Delay: 10 * time.Millisecond, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			if n%5 == 0 {
				return llm.Response{}, errWorker
			}
			return goodSummary(ctx, n, req)
		}})
		started, ends := 0, 0
		for i := range 60 {
			r.chat(6)
			if i%7 == 3 {
				r.resize(3000)
				r.c.Overflow(t.Context())
				r.resize(100_000)
				r.c.Check(t.Context())
			}
			for range 3 {
				e := r.c.CompactThen(compactor.OnManual, "", func(compactor.Event) {
					r.mu.Lock()
					defer r.mu.Unlock()
					ends++
				})
				if e.State != compactor.EventNoop {
					started++
				}
				time.Sleep(time.Duration(i) * time.Millisecond / 3)
			}
		}
		r.waitIdle()
		scheduled := r.seen(compactor.EventScheduled)
		r.mu.Lock()
		if ends != started || scheduled < 5 {
			t.Errorf("got %d requests started, %d of them queued; %d ended", started, scheduled, ends)
		}
		r.mu.Unlock()
		r.verify()
	})
}
