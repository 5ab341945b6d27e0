package channel_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cairn/internal/check"

	"cairn/channel"
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
	if _, err := fmt.Sscan(line, &tokens); err != nil {
		r.t.Fatalf("got used tokens %q in /context: %v", line, err)
	}
	return tokens
}

func responseWithUsage(text string, prompt int) llm.Response {
	resp := llmtest.Say(text)
	resp.Usage = llm.Usage{Prompt: prompt, Completion: 3}
	return resp
}

func TestContextShowsProviderCount(t *testing.T) {
	prompt := 0 // the provider's count; 0: it does not count
	r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
		return responseWithUsage("ok", prompt), nil
	})
	r.ask("hello")
	estimated := r.contextTokens()
	prompt = estimated * 11 / 10
	r.ask("hello again")
	// The reserve of 500 and the answer, without the context block of the question.
	if used, want := r.contextTokens(), prompt+500; used < want-60 || used > want+20 {
		t.Errorf("got %d tokens used; the provider counted %d for the prompt", used, prompt)
	}
}

func TestCountWithoutToolsIsNotReused(t *testing.T) {
	r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) == 0 {
			return responseWithUsage("done", 90_000), nil
		}
		resp := llmtest.Use(llmtest.Call(fmt.Sprint("c", n), "recall", map[string]string{"query": "tea"}))
		return resp, nil
	})
	r.ask("look for tea")
	if used := r.contextTokens(); used > 20_000 {
		t.Errorf("got %d tokens used", used)
	}
}

// A worker that runs in parallel may learn of a refusal before the turn does.
func TestToolRefusalLearnedByWorkerDoesNotFailTurn(t *testing.T) {
	page := new(llm.Notebook).Page("tiny@here")
	r := newRig(t, nil)
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			page.NoTools() // like the worker
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "tiny does not support tools"}
		}
		return echo(ctx, n, req)
	}
	r.agent.Model = learningModel{r.model, page}
	r.ask("hello")
	check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 2"})
}

func TestLearnedFactsSurviveRestart(t *testing.T) {
	var mu sync.Mutex
	writes := 0
	r := newRig(t, nil)
	r.model.Func = func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "tiny does not support tools"}
		}
		size := 0
		for _, m := range req.Messages {
			size += len(m.Text)
		}
		return responseWithUsage("answer", size/3), nil
	}
	open := func() {
		known := check.Must(r.store.Models().List(t.Context()))(t)
		notebook := new(llm.Notebook)
		notebook.Open(known, func(ctx context.Context, model string, f llm.Facts) error {
			mu.Lock()
			writes++
			mu.Unlock()
			return r.store.Models().Keep(ctx, model, f)
		})
		r.agent.Model = learningModel{r.model, notebook.Page("tiny@here")}
	}
	open()
	for range 25 {
		r.ask("hello " + strings.Repeat("word ", 30))
	}
	check.That(t, writes != 0 && writes <= 15, "got %d writes in 25 turns", writes)
	refused := 0
	for _, req := range r.model.Requests() {
		if len(req.Tools) > 0 {
			refused++
		}
	}
	before := r.contextTokens()
	r.reopen()
	open()
	r.ask("hello once more")
	for _, req := range r.model.Requests() {
		if len(req.Tools) > 0 {
			refused--
		}
	}
	check.Equal(t, "requests with tools after a restart", refused, 0)
	conv := check.Must(r.store.Conversation(t.Context(), place))(t)
	look := check.Must(channel.ReadContext(t.Context(), conv, r.agent))(t)
	if look.Used < before*9/10 || look.Used > before*11/10 {
		t.Errorf("got %d tokens used after a restart, want %d", look.Used, before)
	}
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
	}
	for _, sent := range r.connector.sent {
		check.Require(t, !sent.Failure, "got notice %q", sent.Text)
	}
	if f := page.Facts(); f.Window != window || f.Factor < 1.2 {
		t.Errorf("got learned facts %+v", f)
	}
	check.That(t, overflows != 0 && overflows <= 8, "got %d overflows in 40 turns", overflows)
}

func TestSilentOverflowCompacts(t *testing.T) {
	r := newRig(t, nil)
	r.model.Tokens = 6000
	full := true
	r.model.Func = func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		if n > 10 && full {
			full = false
			return responseWithUsage("", 6000), nil
		}
		return responseWithUsage(fmt.Sprint("answer ", n), 0), nil
	}
	for i := range 11 {
		r.ask(fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 100)))
	}
	reqs := r.model.Requests()
	if len(reqs) != 12 || len(reqs[11].Messages) >= len(reqs[10].Messages) {
		t.Errorf("%d requests; the last has %d messages, the one before %d", len(reqs), len(reqs[11].Messages), len(reqs[10].Messages))
	}
	texts := r.connector.texts()
	check.Len(t, "sent", texts, 11)
	check.Equal(t, "last piece sent", texts[10], "answer 12")
	asked := 0
	for _, row := range r.transcript() {
		if strings.HasPrefix(row, "user: question 10 ") {
			asked++
		}
	}
	check.Equal(t, "copies of the question in the transcript", asked, 1)
}
