package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// learningModel is a scripted model that counts the tokens it is sent and remembers what is learned
// about it.
type learningModel struct {
	*llmtest.Model
	page *llm.Learnt
}

func (c learningModel) Learnt() *llm.Learnt { return c.page }

// contextTokens returns the number that /context shows.
func (r *rig) contextTokens() (tokens int) {
	r.t.Helper()
	_, line, _ := strings.Cut(r.run("/context"), "\nused")
	check.Must(fmt.Sscan(line, &tokens))(r.t)
	return tokens
}

// withoutTools returns a model that refuses tools.
func withoutTools(f script) script {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "tiny does not support tools"}
		}
		return f(ctx, n, req)
	}
}

func TestContextShowsProviderCount(t *testing.T) {
	prompt := 0 // the provider's count; 0: it does not count
	r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
		return withBilledTokens(llmtest.Say("ok"), prompt, 0, 0, 3), nil
	})
	r.ask("hello")
	prompt = r.contextTokens() * 11 / 10
	r.ask("hello again")
	// The reserve of 500 and the answer, without the context block of the question.
	used, want := r.contextTokens(), prompt+500
	check.That(t, used >= want-60 && used <= want+20, "got %d tokens used; the provider counted %d for the prompt", used, prompt)
	r.model.Func = func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) == 0 {
			return withBilledTokens(llmtest.Say("done"), 90_000, 0, 0, 3), nil
		}
		return llmtest.Use(llmtest.Call(fmt.Sprint("c", n), "recall", map[string]string{"query": "tea"})), nil
	}
	r.ask("look for tea")
	used = r.contextTokens()
	check.That(t, used <= 20_000, "got %d tokens used after a request without tools, whose count says nothing about others", used)
}

// A worker that runs in parallel may learn of a refusal before the turn does.
func TestToolRefusalLearnedByWorkerDoesNotFailTurn(t *testing.T) {
	page := new(llm.Notebook).Page("tiny@here")
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			page.NoTools() // like the worker
		}
		return withoutTools(echo)(ctx, n, req)
	})
	r.agent.Model = learningModel{r.model, page}
	check.Equal(t, "answer", r.ask("hello"), "answer 2")
}

func TestLearnedFactsSurviveRestart(t *testing.T) {
	r := newRig(t, withoutTools(func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		return withBilledTokens(llmtest.Say("answer"), len(textOf(req))/3, 0, 0, 3), nil
	}))
	open := func() {
		notebook := new(llm.Notebook)
		notebook.Open(check.Must(r.store.Models().List(t.Context()))(t), r.store.Models().Keep)
		r.agent.Model = learningModel{r.model, notebook.Page("tiny@here")}
	}
	open()
	for range 10 {
		r.ask("hello " + strings.Repeat("word ", 30))
	}
	before := r.contextTokens()
	r.reopen()
	open()
	r.ask("hello once more")
	check.Len(t, "requests, with one for what it learned", r.model.Requests(), 12)
	used := r.contextTokens()
	check.That(t, used >= before*9/10 && used <= before*11/10, "got %d tokens used after a restart, want %d", used, before)
}

func TestOverflowTeachesWindowAndFactor(t *testing.T) {
	const window, size = 12_000, 2 // real tokens per estimated token
	r := newRig(t, nil)
	var page llm.Learnt
	overflows := 0
	r.model.Func = func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		real := req.MaxTokens
		for _, m := range req.Messages {
			real += len(m.Text) / 5 * size
		}
		if real <= window {
			return llmtest.Say(fmt.Sprint("answer ", n)), nil
		}
		overflows++
		page.Limit(window)
		r.model.Tokens = window
		return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long", Limit: window, Prompt: real - req.MaxTokens}
	}
	r.agent.Model = learningModel{r.model, &page}
	r.reopen()
	for i := range 40 {
		r.ask(fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 200)))
		check.Require(t, !r.connector.sent[i].Failure, "got notice %q", r.connector.sent[i].Text)
	}
	f := page.Facts()
	check.That(t, f.Window == window && f.Factor >= 1.2, "got learned facts %+v", f)
	check.That(t, overflows != 0 && overflows <= 8, "got %d overflows in 40 turns", overflows)
}

func TestSilentOverflowCompacts(t *testing.T) {
	r := newRig(t, nil)
	r.model.Tokens = 6000
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 11 {
			return withBilledTokens(llm.Response{}, 6000, 0, 0, 3), nil
		}
		return echo(ctx, n, req)
	}
	for i := range 11 {
		r.ask(fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 100)))
	}
	reqs := r.model.Requests()
	check.Len(t, "requests", reqs, 12)
	check.That(t, len(reqs[11].Messages) < len(reqs[10].Messages), "the request was repeated as it was")
	check.Len(t, "sent", r.connector.texts(), 11)
	check.Equal(t, "last piece sent", r.lastText(), "answer 12")
	check.Equal(t, "copies of the question in the transcript", strings.Count(texts(r.transcript()), "user: question 10 "), 1)
}
