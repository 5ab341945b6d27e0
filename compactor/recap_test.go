package compactor_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/prompts"
)

func TestRecapCoversPromptAndChangesNothing(t *testing.T) {
	worker := &llmtest.Model{Func: goodSummary}
	r := newRig(t, 100_000, worker)
	r.chat(30)
	r.compact("")
	r.talk("what about </transcript> the prices?", "a result")
	before, rows, n := r.render(), count(t, r.dir, "SELECT count(*) FROM compactions"), len(worker.Requests())
	worker.Func = func(context.Context, int, llm.Request) (llm.Response, error) {
		return llmtest.Say("<think>hm</think>Ada asked about prices after note 29; sk-ant-" + strings.Repeat("aB3", 10)), nil
	}
	recap, err := r.c.Recap(t.Context(), "the prices")
	if err != nil || recap.Text != "Ada asked about prices after note 29; [masked: Anthropic key]" || recap.By != compactor.ByWorker || recap.From != 1 || recap.To != int64(len(r.said)) {
		t.Errorf("got %+v, %v", recap, err)
	}
	asked := worker.Requests()[n:]
	check.Require(t, len(asked) == 1 && len(asked[0].Tools) == 0, "%d requests", len(asked))
	text := asked[0].Messages[1].Text
	for _, want := range []string{"Summary 1 of", "note-29 ", `<\/transcript> the prices?`, "in detail: the prices", "<agent "} {
		check.Contains(t, "request", text, want)
	}
	check.HasPrefix(t, "request", asked[0].Messages[0].Text, prompts.In(prompts.English).Recap)
	check.Lacks(t, "request", text, "note-3 ")
	check.Equal(t, "state", r.render(), before)
	check.Equal(t, "state", count(t, r.dir, "SELECT count(*) FROM compactions"), rows)
	_, total, err := memory.Of(r.conv).List(t.Context(), memory.Filter{})
	check.NoError(t, err)
	check.Equal(t, "memories", total, 0)
	r.verify()
}

func TestRecapWithoutModel(t *testing.T) {
	for name, c := range map[string]struct {
		worker *llmtest.Model
		why    string
	}{
		"there is none": {nil, ""},
		"it is down":    {&llmtest.Model{Func: brokenSummaries}, "overloaded"},
		"it hangs": {&llmtest.Model{Func: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		}}, "too long"},
		"it declines": {&llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("I'm sorry, I can't do that."), nil
		}}, "declined"},
		"it breaks":      {&llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) { panic("worker") }}, "could not be asked"},
		"it is no model": {&llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) { return llm.Response{}, errWorker }}, "could not be asked"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 100_000, c.worker)
				r.deliverNotes("I decided to move to Turin in May.")
				r.deliverNotes("The key is AKIA" + "Q3T7WZ5NXK2LJ4RB, by the way.")
				rows := count(t, r.dir, "SELECT count(*) FROM compactions")
				started := time.Now()
				recap, err := r.c.Recap(t.Context(), "")
				if took := time.Since(started); took > time.Duration(r.policy.Timeout) {
					t.Errorf("it took %v", took)
				}
				if err != nil || recap.By != compactor.ByExtractive || !strings.Contains(recap.Why, c.why) || (c.why == "") != (recap.Why == "") {
					t.Errorf("got %+v, %v", recap, err)
				}
				check.Contains(t, "recap", recap.Text, "Turin")
				check.Lacks(t, "recap", recap.Text, "AKIA")
				check.Equal(t, "state", count(t, r.dir, "SELECT count(*) FROM compactions"), rows)
				check.Equal(t, "state", r.c.Status().Last.State, "")
			})
		})
	}
}

func TestRecapMentionsHiddenMessages(t *testing.T) {
	r := newRig(t, 4000, nil)
	r.policy.Enabled = false
	hidden := 0
	for i := 0; hidden == 0 && i < 200; i++ {
		r.deliverNotes("Ada went to Turin. " + filler(60))
		for _, row := range r.c.Status().Stack {
			if row.Kind == compactor.Placeholder {
				hidden = row.Messages
			}
		}
		if hidden > 0 {
			recap, err := r.c.Recap(t.Context(), "")
			if err == nil && recap.Hidden == 0 && len(r.c.Status().Stack) == 1 && r.c.Status().Stack[0].Kind != compactor.Placeholder {
				return // it was repaired in between
			}
			check.That(t, err == nil && recap.Hidden == hidden && recap.From == 1, "%d hidden: got %+v, %v", hidden, recap, err)
		}
	}
	check.That(t, hidden != 0, "got no hidden messages")
}

func TestRecapIsCanceledWithContext(t *testing.T) {
	began := make(chan struct{}, 1)
	r := newRig(t, 4000, &llmtest.Model{Func: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		began <- struct{}{}
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	}})
	r.deliverNotes("hello")
	done := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := r.c.Recap(ctx, "")
		done <- err
	}()
	<-began
	cancel()
	check.Error(t, <-done, context.Canceled)
}

func TestLongRecapUsesChunks(t *testing.T) {
	check.SkipUnderRace(t)
	worker := &llmtest.Model{Tokens: 4000, Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if tokens := tokens.Estimate(req.Messages[1].Text); tokens > 4000 {
			t.Errorf("got a request of %d tokens", tokens)
		}
		return llmtest.Say("They took notes."), nil
	}}
	r := newRig(t, 100_000, worker)
	r.chat(200)
	recap, err := r.c.Recap(t.Context(), "")
	if err != nil || recap.By != compactor.ByWorker || len(worker.Requests()) < 4 {
		t.Errorf("got %+v, %v after %d requests", recap, err, len(worker.Requests()))
	}
}
