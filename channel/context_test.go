package channel_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/report"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/prompts"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

type call map[string]any

// calling returns a model that makes one call of the tool context per step; results collects the results.
func calling(results *[]string, calls ...call) script {
	return func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if req.Messages[len(req.Messages)-1].Role == llm.RoleTool {
			*results = append(*results, lastText(req))
		}
		if n > len(calls) {
			return llmtest.Say("done"), nil
		}
		return llmtest.Use(llmtest.Call(fmt.Sprint("c", n), "context", calls[n-1])), nil
	}
}

func (r *rig) withWorker(f script) *llmtest.Model {
	worker := &llmtest.Model{Label: "worker", Func: f}
	r.agent.ID = "marvin"
	r.agent.Worker = worker
	r.reopen()
	return worker
}

func TestModelSeesWindowUsage(t *testing.T) {
	var results []string
	self := call{"op": "self"}
	r := newRig(t, calling(&results, self, self, self, self, self))
	r.setFilePolicy(func(p *compactor.Policy) {
		p.BackgroundThreshold = 0.7
		p.KeepLastN = 40
	})
	r.withWorker(summarizeRequest)
	r.sendNotes(50)
	r.ask("go ahead")
	check.Contains(t, "status", results[0], `"agent":"marvin"`, `"model":"scripted"`, `"max_tokens":128000`, `"next":"background at 70 %`, "background_threshold = 0.7")
	_, used, _ := strings.Cut(results[0], `"used_tokens":`)
	n := check.Must(strconv.Atoi(used[:strings.Index(used, ",")]))(t)
	check.That(t, n >= 500 && n <= 9000 && strings.Contains(results[0], fmt.Sprintf(`"used_pct":%d.`, n/1280)), "got status %s", results[0])
	r.run("/compact")
	check.NoError(t, r.hub.Drain(t.Context()))
	prompt := r.promptText()
	check.Equal(t, "results left in the prompt after the head changed", strings.Count(prompt, "used_tokens"), 5)
	check.Contains(t, "prompt", prompt, "They talked word by word.")
}

func TestSelfStatusIsShort(t *testing.T) {
	var results []string
	calls := []call{{"op": "self"}, {"op": "help"}}
	for topic := range prompts.In(prompts.English).Help {
		calls = append(calls, call{"op": "help", "topic": topic})
	}
	r := newRig(t, calling(&results, calls...))
	r.agent.ID = strings.Repeat("marvin", 10)
	r.agent.Provider = "api.example.com"
	r.agent.Reasoning = "high"
	r.agent.Origin = func(key string) string { return "config.toml:120" }
	r.setFilePolicy(func(p *compactor.Policy) { // nothing is at its default
		p.BackgroundThreshold = 0.5
		p.AggressiveThreshold = 0.7
		p.EmergencyThreshold = 0.9
		p.KeepFirst = 3
		p.KeepLastN = 9
		p.TargetPct = 44
		p.FailureLimit = 7
		p.MaxMemories = 3
		p.StackBudget = 0.3
		p.RollupFanIn = 3
		p.EarlierSessions = 1
		p.ToolResultsKept = 9
		p.Economy = !p.Economy
		p.ExtractMemories = false
		p.Focus = strings.Repeat("the garden and its pond ", 20)
	})
	r.restart()
	r.ask("go ahead")
	check.Len(t, "results", results, len(calls))
	for _, text := range results {
		n := tokens.Estimate(text)
		check.That(t, n <= 300, "%d tokens: %s", n, text)
	}
	check.Contains(t, "self", results[0], "more; /settings shows them")
	check.Contains(t, "help", results[1], "compaction, memory, people, search, tools")
}

func TestModelMayOnlyCompactItself(t *testing.T) {
	table := []struct {
		call call
		want []string
	}{
		{call{"op": "compact", "focus": "the prices", "keep_last_n": 12}, []string{`"started":true`, `"from_seq":1`, `"to_seq":9`}},
		{call{"op": "compact"}, []string{`"started":false`}},
		{call{"op": "compact", "keep_last_n": 501}, []string{"from 0 to 500"}},
		{call{"op": "compact", "compaction": call{"model": "dearer"}}, []string{"in the settings file only"}},
		{call{"op": "compact", "compaction": call{"target_percentage": 99}}, []string{"from 10 to 50"}},
		{call{"op": "compact", "policy": call{"background_threshold": 0.1}}, []string{"Error: ", "for people to change"}},
		{call{"op": "set", "focus": "x"}, []string{"Error: "}},
		{call{"op": "self"}, []string{`"used_tokens"`}},
	}
	var results []string
	var calls []call
	for _, row := range table {
		calls = append(calls, row.call)
	}
	r := newRig(t, calling(&results, calls...))
	worker := r.withWorker(summarizeRequest)
	r.sendNotes(20)
	before := r.run("/settings")
	r.ask("go ahead")
	check.Equal(t, "why it is applied", r.waitForEvent(compactor.EventApplied).Trigger, compactor.OnSelf)
	check.Len(t, "results", results, len(table))
	for i, row := range table {
		check.Contains(t, fmt.Sprint(row.call), results[i], row.want...)
	}
	check.Lacks(t, "status", results[len(table)-1], "background_threshold")
	check.Equal(t, "settings", r.run("/settings"), before)
	check.Len(t, "worker requests", worker.Requests(), 1)
	check.Contains(t, "worker request", textOf(worker.Requests()[0]), `in detail: "the prices"`)
}

func TestModelSeesCompactionFailure(t *testing.T) {
	var results []string
	r := newRig(t, nil)
	r.withWorker(failing(&llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "internal words"}))
	r.model.Func = while(func(n int) {
		if n == 2 {
			check.That(t, check.Soon(func() bool { return len(r.eventsIn(compactor.EventFailed)) > 0 }), "the compaction does not fail")
		}
	}, calling(&results, call{"op": "compact"}, call{"op": "self"}))
	r.sendNotes(20)
	r.ask("go ahead")
	check.Len(t, "results", results, 2)
	_, failure, _ := strings.Cut(results[1], `"last_failure":`)
	check.Contains(t, "status", failure, "(self)", "overloaded")
	check.Lacks(t, "status", results[1], "internal words")
}

type learningModel struct {
	*llmtest.Model
	page *llm.Learned
}

func (c learningModel) Learned() *llm.Learned { return c.page }

func (r *rig) contextTokens() (tokens int) {
	r.t.Helper()
	_, line, _ := strings.Cut(r.run("/context"), "\nused")
	check.Must(fmt.Sscan(line, &tokens))(r.t)
	return tokens
}

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
		return withBilledTokens(llmtest.Say("ok"), llm.Usage{Prompt: prompt, Completion: 3}), nil
	})
	r.ask("hello")
	prompt = r.contextTokens() * 11 / 10
	r.ask("hello again")
	// The reserve of 500 and the answer, without the context block of the question.
	used := r.contextTokens()
	want := prompt + 500
	check.That(t, used >= want-60 && used <= want+20, "got %d tokens used; the provider counted %d for the prompt", used, prompt)
	r.model.Func = func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) == 0 {
			return withBilledTokens(llmtest.Say("done"), llm.Usage{Prompt: 90_000, Completion: 3}), nil
		}
		return useTool("recall", map[string]any{"query": "tea"}), nil
	}
	r.ask("look for tea")
	used = r.contextTokens()
	check.That(t, used <= 20_000, "got %d tokens used after a request without tools, whose count says nothing about others", used)
	// An overfull window is shown as such, and the bar keeps its length.
	for percent, want := range map[float64]string{125: "] 125.0 % (over)\n", 100: "] 100.0 %\n"} {
		c := report.Context{Fill: report.Fill{Used: int(40 * percent), Max: 4000, UsedPct: percent}}
		check.HasPrefix(t, "answer", c.String(), "["+strings.Repeat("█", 20)+want)
	}
}

// A worker that runs in parallel may learn of a refusal before the turn does.
func TestToolRefusalLearnedByWorkerDoesNotFailTurn(t *testing.T) {
	page := new(llm.Notebook).Page("tiny@here")
	r := newRig(t, while(func(int) { page.NoTools() }, withoutTools(echo))) // like the worker
	r.agent.Model = learningModel{r.model, page}
	check.Equal(t, "answer", r.ask("hello"), "answer 2")
}

func TestLearnedFactsSurviveRestart(t *testing.T) {
	r := newRig(t, withoutTools(func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		return withBilledTokens(llmtest.Say("answer"), llm.Usage{Prompt: len(textOf(req)) / 3, Completion: 3}), nil
	}))
	open := func() {
		notebook := new(llm.Notebook)
		notebook.Open(check.Must(r.store.Models().List(t.Context()))(t), r.store.Models().Keep)
		r.agent.Model = learningModel{r.model, notebook.Page("tiny@here")}
	}
	open()
	r.askTurns(10, 30)
	before := r.contextTokens()
	r.reopen()
	open()
	r.ask("hello once more")
	check.Len(t, "requests, with one for what it learned", r.model.Requests(), 12)
	used := r.contextTokens()
	check.That(t, used >= before*9/10 && used <= before*11/10, "got %d tokens used after a restart, want %d", used, before)
}

func TestAuthorSeesThatMessageWasShortened(t *testing.T) {
	r := newRig(t, echo).withWindow(4000)
	long := strings.Repeat("The tide at the old harbour wall rises twice a day. ", 27_200/52)
	r.ask("hello")
	r.ask(long)
	r.ask("and now?")

	sent := r.connector.sent
	check.Len(t, "pieces sent", sent, 4)
	notice := sent[1]
	check.That(t, notice.Failure && channel.IsNotice(notice), "the notice would be taken for the beginning of the answer: %+v", notice)
	check.EqualAll(t, "messages it is about", notice.To, sent[2].To)
	var first, last, all int
	check.Must(fmt.Sscanf(notice.Text, "(Your message is too long for the model's context window: the model sees the first %d and the last %d of %d characters. All of it is stored.)",
		&first, &last, &all))(t)
	check.Equal(t, "characters in the notice", all, len(long))
	check.Contains(t, "prompt", r.lastRequestText(), long[:first]+"\n[… "+strconv.Itoa(len(long)-first-last)+" characters", "…]\n"+long[len(long)-last:])
	r.wantAnswer("/context", "messages  6, of which 5 verbatim, 1 message shown in part")
	r.restart()
	r.ask("and after a restart?")
	check.Equal(t, "notices", strings.Count(texts(r.connector.texts()), "sees the first"), 1)
}

func TestEachRequestExtendsPrevious(t *testing.T) {
	var requests []string
	var says []llm.Response
	r := newRig(t, func(_ context.Context, _ int, req llm.Request) (answer llm.Response, err error) {
		text := ""
		for _, m := range req.Messages {
			text += fmt.Sprintf("\n%s %s %v %s", m.Role, m.CallID, m.Calls, m.Text)
		}
		requests = append(requests, text)
		answer = says[0]
		says = says[1:]
		return answer, nil
	})
	r.agent.Recall = 600
	r.withCritic(echo)
	r.run("/remember Ophelia is allergic to honey")
	turn := func(text string, optional bool, answers ...llm.Response) {
		t.Helper()
		says = answers
		r.tell(place, text, func(m *channel.Inbound) {
			m.Addressed = true
			m.Optional = optional
		})
		check.That(t, len(says) == 0, "got an unexpected reply to %q", text)
	}
	turn("hello", false, llmtest.Say("hi"))
	turn("what is Ophelia allergic to?", false, useTool("recall", map[string]any{"query": "Ophelia"}), llmtest.Say("to honey"))
	turn("it rains", true, llmtest.Say("NO_REPLY"))
	r.say("nobody is asked this", false)
	turn("@critic, is it true?", false) // it has no turn context
	turn("is Ophelia fine?", false, llmtest.Say("yes"))
	r.restart()
	turn("good", false, llmtest.Say("so it is"))
	turn("and Ophelia?", false, llmtest.Say("she is too"))
	check.Len(t, "requests", requests, 7)
	for i := range 6 {
		check.HasPrefix(t, fmt.Sprintf("request %d", i+1), requests[i+1], requests[i])
	}
	check.Equal(t, "copies of the memory in the last request", strings.Count(requests[6], "Ophelia is allergic to honey"), 1)
	check.Equal(t, "turn contexts in the last request", strings.Count(requests[6], "\ntime: "), 6)
}

func TestTurnContextWithoutRecallIsSmall(t *testing.T) {
	for _, optional := range []bool{false, true} {
		r := newRig(t, echo)
		r.tell(place, "hello", func(m *channel.Inbound) {
			m.Addressed = true
			m.Optional = optional
		})
		_, block, _ := strings.Cut(lastText(r.model.Requests()[0]), "\n\n")
		check.HasPrefix(t, "turn context", block, "<now>")
		check.That(t, tokens.Estimate(block) <= 60, "%d tokens: %s", tokens.Estimate(block), block)
		check.Equal(t, "an answer is optional", strings.Contains(block, "NO_REPLY"), optional)
	}
}
