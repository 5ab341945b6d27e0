package compactor_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// hanging is a model that answers nobody until open is closed.
func hanging(open chan struct{}) *llmtest.Model {
	return &llmtest.Model{Tokens: 4000, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		select {
		case <-open:
			return good(ctx, n, req)
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}}
}

func TestAPlaceholderIsFilledWhileTheModelHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		r := newRig(t, 4000, hanging(open))
		begun := time.Now()
		for i := 0; r.emergencies() == 0 && i < 100; i++ {
			r.hear(fmt.Sprintf("note %d: the harbour of Bergen opens at %d. %s", i, i, filler(60)))
		}
		synctest.Wait() // all is done but what waits for the model
		if r.emergencies() == 0 || !r.c.Busy() {
			t.Fatal("the model does not hang in an emergency, so nothing is tried here")
		}
		stack := r.c.Gauge().Stack
		if len(stack) == 0 {
			t.Fatal("nothing stands for what was hidden")
		}
		for _, row := range stack {
			if row.Kind == compactor.Marker || row.By != compactor.ByBuiltIn {
				t.Errorf("a %s by %s stands for %d to %d", row.Kind, row.By, row.From, row.To)
			}
		}
		if waited := time.Since(begun); waited >= time.Second {
			t.Errorf("it took %v", waited)
		}
		r.verify()
		close(open)
		r.settle()
		for _, row := range r.c.Gauge().Stack {
			if row.NeedsHealing() {
				t.Errorf("the model is back, and a %s by %s stands for %d to %d", row.Kind, row.By, row.From, row.To)
			}
		}
		r.verify()
		r.close()
	})
}

// emergencies is how many have taken effect.
func (r *rig) emergencies() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.State == compactor.EventLanded && e.Trigger == compactor.OnEmergency {
			n++
		}
	}
	return n
}
