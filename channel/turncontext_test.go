package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/store"
)

func TestDeletedMemoryLeavesPrompt(t *testing.T) {
	const fact = "Ophelia is allergic to honey"
	id := func(r *rig) int64 {
		found, _, err := memory.Of(storetest.Find(r.t, r.store, place)).List(r.t.Context(), memory.Filter{Query: fact, Limit: 1})
		check.Require(r.t, err == nil && len(found) == 1, "%v, %v", found, err)
		return found[0].ID
	}
	for what, gone := range map[string]func(*rig) error{
		"forgotten": func(r *rig) error { return memory.In(r.store).Forget(context.Background(), id(r)) },
		"purged":    func(r *rig) error { return memory.In(r.store).Purge(context.Background(), id(r)) },
	} {
		for _, during := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, during a turn %v", what, during), func(t *testing.T) {
				r := newRig(t, nil)
				r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
					if during && n == 1 {
						check.NoError(t, gone(r))
					}
					return echo(ctx, n, req)
				}
				r.agent.Recall = 600
				r.run("/remember " + fact)
				r.ask("What does Ophelia keep?")
				check.Contains(t, "prompt", r.lastRequestText(), fact)
				if !during {
					check.NoError(t, gone(r))
				}
				r.ask("and what else is there to tell")
				check.Lacks(t, "next prompt", r.lastRequestText(), fact)
			})
		}
	}
	t.Run("if another process purged it, also from what a search found", func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			if n == 1 {
				return llmtest.Use(llmtest.Call("1", "memory_search", map[string]any{"query": "honey"})), nil
			}
			return echo(ctx, n, req)
		})
		r.agent.Recall = 600
		r.run("/remember " + fact)
		r.ask("What does Ophelia keep?")
		check.Contains(t, "prompt", r.lastRequestText(), fact)
		other := check.Must(store.Open(t.Context(), store.Options{Dir: r.dir, Shared: true}))(t)
		defer other.Close()
		check.NoError(t, memory.In(other).Purge(t.Context(), id(r)))
		r.ask("and what else is there to tell")
		check.Lacks(t, "next prompt", r.lastRequestText(), fact)
	})
}

func TestEachRequestExtendsPrevious(t *testing.T) {
	var requests []string
	var says []llm.Response
	r := newRig(t, func(_ context.Context, _ int, req llm.Request) (answer llm.Response, err error) {
		var text strings.Builder
		for _, m := range req.Messages {
			fmt.Fprintf(&text, "\n%s %s %v %s", m.Role, m.CallID, m.Calls, m.Text)
		}
		requests = append(requests, text.String())
		answer, says = says[0], says[1:]
		return answer, nil
	})
	r.agent.Recall = 600
	r.withCritic(echo)
	r.run("/remember Ophelia is allergic to honey")
	turn := func(text string, optional bool, answers ...llm.Response) {
		t.Helper()
		says = answers
		in := r.inbound(text, true)
		in.Optional = optional
		r.post(in)
		check.That(t, len(says) == 0, "got an unexpected reply to %q", text)
	}
	turn("hello", false, llmtest.Say("hi"))
	turn("what is Ophelia allergic to?", false, llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "Ophelia"})), llmtest.Say("to honey"))
	turn("it rains", true, llmtest.Say("NO_REPLY"))
	r.say("nobody is asked this", false)
	turn("@critic, is it true?", false) // it has no turn context
	turn("is Ophelia fine?", false, llmtest.Say("yes"))
	r.restart()
	turn("good", false, llmtest.Say("so it is"))
	turn("and Ophelia?", false, llmtest.Say("she is too"))
	check.Len(t, "requests", requests, 7)
	for i := 1; i < len(requests); i++ {
		check.HasPrefix(t, fmt.Sprintf("request %d", i), requests[i], requests[i-1])
	}
	check.Equal(t, "copies of the memory in the last request", strings.Count(requests[6], "Ophelia is allergic to honey"), 1)
	check.Equal(t, "turn contexts in the last request", strings.Count(requests[6], "\ntime: "), 6)
}

func TestTurnContextWithoutRecallIsSmall(t *testing.T) {
	for _, optional := range []bool{false, true} {
		r := newRig(t, echo)
		in := r.inbound("hello", true)
		in.Optional = optional
		r.post(in)
		_, block, _ := strings.Cut(lastText(r.model.Requests()[0]), "\n\n")
		check.HasPrefix(t, "turn context", block, "<now>")
		check.That(t, tokens.Estimate(block) <= 60, "%d tokens: %s", tokens.Estimate(block), block)
		check.Equal(t, "an answer is optional", strings.Contains(block, "NO_REPLY"), optional)
	}
}
