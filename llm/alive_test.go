package llm_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestSilenceLimits(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) {
			for range 4 {
				if !x.Wait(60 * time.Millisecond) {
					return
				}
				x.Write(": still reading\n\n")
			}
			x.Use("c", "lookup", `{"word":"fine"}`)
		})
		model := w.model(t, server, openai.Options{IdleTimeout: 30 * time.Millisecond, MaxTime: 100 * time.Millisecond})
		watched := hello
		var signs atomic.Int32
		watched.Alive = func() { signs.Add(1) }
		resp, err := model.Generate(t.Context(), watched, nil)
		if err != nil || len(resp.Message.Calls) != 1 || signs.Load() < 4 {
			t.Errorf("got %+v and %d calls of Alive, %v; want an answer and a call for each piece", resp.Message, signs.Load(), err)
		}
		check.Equal(t, "without Alive the model's own limits did not apply", llm.KindOf(check.ErrorOf(model.Generate(t.Context(), hello, nil))), llm.KindUnreachable)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		check.Error(t, check.ErrorOf(model.Generate(ctx, watched, nil)), context.DeadlineExceeded)
	})
}
