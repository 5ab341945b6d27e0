package channel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/prompts"
)

// calling returns a model that makes calls, one per step, and then answers; results collects the
// results it gets.
func calling(results *[]string, calls ...any) func(context.Context, int, llm.Request) (llm.Response, error) {
	step := 0
	return func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.RoleTool {
			*results = append(*results, last.Text)
		}
		if step == len(calls) || !strings.Contains(fmt.Sprint(req.Messages), "go ahead") {
			return llmtest.Say("done"), nil
		}
		step++
		return llmtest.Use(llmtest.Call(fmt.Sprint("c", step), "context", calls[step-1])), nil
	}
}

type windowStatus struct {
	Agent, Model string
	Used         int     `json:"used_tokens"`
	Max          int     `json:"max_tokens"`
	UsedPct      float64 `json:"used_pct"`
	Next         string
	Failure      string   `json:"last_failure"`
	Policy       []string `json:"policy"`
}

func readStatus(t *testing.T, text string) (s windowStatus) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("got error %v in %s", err, text)
	}
	return s
}

func (r *rig) withWorker(f func(context.Context, int, llm.Request) (llm.Response, error)) *llmtest.Model {
	r.stop()
	worker := &llmtest.Model{Label: "worker", Func: f}
	r.agent.ID, r.agent.Worker = "marvin", worker
	r.start()
	return worker
}

func (r *rig) sendNotes(n int) {
	r.t.Helper()
	for i := range n {
		r.say(fmt.Sprintf("note %d %s", i, strings.Repeat("word ", 30)), false)
	}
	r.waitForReplies()
}

func TestModelSeesWindowUsage(t *testing.T) {
	var results []string
	r := newRig(t, calling(&results, map[string]any{"op": "self"}))
	r.withWorker(summarizeRequest)
	r.setFilePolicy(func(p *compactor.Policy) { p.BackgroundThreshold = 0.7 })
	r.reopen()
	r.sendNotes(10)
	r.ask("go ahead")
	check.Len(t, "results", results, 1)
	s := readStatus(t, results[0])
	if !slices.ContainsFunc(s.Policy, func(line string) bool { return strings.HasPrefix(line, "background_threshold = 0.7") }) {
		t.Errorf("got policy %q", s.Policy)
	}
	if s.Agent != "marvin" || s.Model != "scripted" || s.Max != 128_000 || s.Used < 500 || s.Used > 5000 || s.UsedPct <= 0 || s.UsedPct > 5 ||
		!strings.HasPrefix(s.Next, "background at 70 %") {
		t.Errorf("got status %s", results[0])
	}
}

func TestSelfStatusIsShort(t *testing.T) {
	var results []string
	calls := []any{map[string]any{"op": "self"}}
	for topic := range prompts.In(prompts.English).Help {
		calls = append(calls, map[string]any{"op": "help", "topic": topic})
	}
	calls = append(calls, map[string]any{"op": "help"})
	r := newRig(t, calling(&results, calls...))
	r.agent.ID, r.agent.Provider, r.agent.Reasoning = strings.Repeat("marvin", 10), "api.example.com", "high"
	r.agent.Origin = func(key string) string { return "config.toml:120" }
	r.setFilePolicy(func(p *compactor.Policy) { // nothing is at its default
		p.BackgroundThreshold, p.AggressiveThreshold, p.EmergencyThreshold = 0.5, 0.7, 0.9
		p.KeepFirst, p.KeepLastN, p.TargetPct, p.FailureLimit, p.MaxMemories = 3, 9, 44, 7, 3
		p.StackBudget, p.RollupFanIn, p.EarlierSessions, p.ToolResultsKept = 0.3, 3, 1, 9
		p.Economy, p.ExtractMemories, p.Focus = !p.Economy, false, strings.Repeat("the garden and its pond ", 20)
	})
	r.restart()
	r.ask("go ahead")
	check.Len(t, "results", results, len(calls))
	for _, text := range results {
		if n := tokens.Estimate(text); n > 300 {
			t.Errorf("%d tokens: %s", n, text)
		}
	}
	check.Contains(t, "self", results[0], "more; /settings shows them")
	check.Contains(t, "help", results[len(results)-1], "compaction, memory, people, search, tools")
}

func TestSelfCompactOptions(t *testing.T) {
	var results []string
	r := newRig(t, calling(&results,
		map[string]any{"op": "compact", "keep_last_n": 501},
		map[string]any{"op": "compact", "compaction": map[string]any{"model": "dearer"}},
		map[string]any{"op": "compact", "compaction": map[string]any{"target_percentage": 99}},
		map[string]any{"op": "compact", "keep_last_n": 12, "compaction": map[string]any{"strategy": "window"}}))
	r.withWorker(summarizeRequest)
	r.sendNotes(20)
	r.ask("go ahead")
	check.Len(t, "results", results, 4)
	check.Contains(t, "too many to keep", results[0], "from 0 to 500")
	check.Contains(t, "a setting of the file", results[1], "in the settings file only")
	check.Contains(t, "an impossible value", results[2], "from 10 to 50")
	check.Contains(t, "valid values", results[3], `"to_seq":15`)
	check.Contains(t, "what is applied", r.waitForEvent(compactor.EventApplied).Summary, "without a summary")
	check.Contains(t, "the setting", r.run("/settings compaction.strategy"), `"worker" (built in)`)
}

func TestModelMayOnlyCompactItself(t *testing.T) {
	var results []string
	compact := map[string]any{"op": "compact", "focus": "the prices"}
	r := newRig(t, calling(&results, compact, compact,
		map[string]any{"op": "compact", "policy": map[string]any{"background_threshold": 0.1}},
		map[string]any{"op": "set", "focus": "x"}, map[string]any{"op": "self"}))
	worker := r.withWorker(summarizeRequest)
	r.sendNotes(20)
	before := r.agent.Policy().Hash()
	r.ask("go ahead")
	check.Equal(t, "why it is applied", r.waitForEvent(compactor.EventApplied).Trigger, compactor.OnSelf)
	check.Len(t, "results", results, 5)
	check.Contains(t, "first answer", results[0], `"started":true`, `"from_seq":1`)
	if !strings.Contains(results[1], `"started":false`) || !strings.Contains(results[1], "running already") && !strings.Contains(results[1], "just compacted") {
		t.Errorf("got second answer %s", results[1])
	}
	check.HasPrefix(t, fmt.Sprintf("other wishes are answered %q", results[2:4]), results[2], "Error: ")
	check.Contains(t, fmt.Sprintf("other wishes are answered %q results[2]", results[2:4]), results[2], "for people to change")
	check.HasPrefix(t, fmt.Sprintf("other wishes are answered %q results[3]", results[2:4]), results[3], "Error: ")
	if s := readStatus(t, results[4]); len(s.Policy) > 0 || r.agent.Policy().Hash() != before {
		t.Error("the policy has changed")
	}
	check.Contains(t, "worker request", worker.Requests()[0].Messages[1].Text, "in detail: the prices")
	check.Equal(t, "worker requests", len(worker.Requests()), 1)
}

func TestModelSeesCompactionFailure(t *testing.T) {
	var results []string
	r := newRig(t, nil)
	r.withWorker(func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "internal words"}
	})
	failed := make(chan struct{})
	first := calling(&results, map[string]any{"op": "compact"}, map[string]any{"op": "self"})
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if req.Messages[len(req.Messages)-1].Role == llm.RoleTool && len(results) == 0 {
			<-failed
		}
		return first(ctx, n, req)
	}
	r.sendNotes(20)
	r.say("go ahead", true)
	r.waitForEvent(compactor.EventFailed)
	close(failed)
	r.waitForReplies()
	check.Len(t, "results", results, 2)
	s := readStatus(t, results[1])
	check.Contains(t, "status", s.Failure, "(self)", "overloaded")
	check.Lacks(t, "status", s.Failure, "internal words")
}

func TestWindowStatusStaysInPrompt(t *testing.T) {
	var results []string
	r := newRig(t, calling(&results, map[string]any{"op": "self"}, map[string]any{"op": "self"}, map[string]any{"op": "self"}, map[string]any{"op": "self"},
		map[string]any{"op": "self"}))
	r.withWorker(summarizeRequest)
	r.setFilePolicy(func(p *compactor.Policy) { p.KeepLastN = 40 })
	r.reopen()
	r.sendNotes(50)
	r.ask("go ahead")
	r.run("/compact")
	check.NoError(t, r.hub.Drain(t.Context()))
	r.ask("and now?")
	asked := r.model.Requests()
	n := 0
	for _, m := range asked[len(asked)-1].Messages {
		if m.Role == llm.RoleTool && strings.Contains(m.Text, "used_tokens") {
			n++
		}
	}
	check.Equal(t, "results left in the prompt after the head changed", n, 5)
	check.Contains(t, "last request", fmt.Sprint(asked[len(asked)-1].Messages), "They talked word by word.")
}
