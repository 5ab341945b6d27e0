package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/store"
)

// showsText reports whether any message of a request has the text.
func showsText(req llm.Request, text string) bool {
	for _, m := range req.Messages {
		if strings.Contains(m.Text, text) {
			return true
		}
	}
	return false
}

func TestDeletedMemoryLeavesPrompt(t *testing.T) {
	const fact = "Ophelia is allergic to honey"
	setup := func(t *testing.T, during func(r *rig)) (r *rig, last func() llm.Request) {
		var req llm.Request
		r = newRig(t, func(_ context.Context, n int, asked llm.Request) (llm.Response, error) {
			if req = asked; during != nil {
				during(r)
				during = nil
			}
			return llmtest.Say("ok"), nil
		})
		r.agent.Recall = 600
		r.run("/remember " + fact)
		r.ask("What does Ophelia keep?")
		check.Require(t, showsText(req, fact), "got no recalled message")
		return r, func() llm.Request { return req }
	}
	id := func(r *rig) int64 {
		conv := check.Must(r.store.Conversation(r.t.Context(), place))(r.t)
		found, _, err := memory.Of(conv).List(r.t.Context(), memory.Filter{Query: fact, Limit: 1})
		check.Require(r.t, err == nil && len(found) == 1, "%v, %v", found, err)
		return found[0].ID
	}
	for what, gone := range map[string]func(*rig) error{
		"forgotten": func(r *rig) error { return memory.In(r.store).Forget(context.Background(), id(r)) },
		"purged":    func(r *rig) error { return memory.In(r.store).Purge(context.Background(), id(r)) },
	} {
		t.Run("after a turn in which it was "+what, func(t *testing.T) {
			r, last := setup(t, func(r *rig) {
				check.NoError(t, gone(r))
			})
			r.ask("and what else is there to tell")
			check.That(t, !showsText(last(), fact), "got the deleted memory in the next request")
		})
		t.Run("between turns: "+what, func(t *testing.T) {
			r, last := setup(t, nil)
			check.NoError(t, gone(r))
			r.ask("and what else is there to tell")
			check.That(t, !showsText(last(), fact), "got the deleted memory in the next request")
		})
	}
	t.Run("if another process purged it, also from what a search found", func(t *testing.T) {
		r := newRig(t, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
			if n == 1 {
				return llmtest.Use(llmtest.Call("1", "memory_search", map[string]any{"query": "honey"})), nil
			}
			return llmtest.Say("ok"), nil
		})
		r.agent.Recall = 600
		r.run("/remember " + fact)
		r.ask("What does Ophelia keep?")
		other := check.Must(store.Open(t.Context(), store.Options{Dir: r.dir, Shared: true}))(t)
		defer other.Close()
		check.NoError(t, memory.In(other).Purge(t.Context(), id(r)))
		r.ask("and what else is there to tell")
		requests := r.model.Requests()
		check.Len(t, "requests", requests, 3)
		check.Equal(t, "shown before", showsText(requests[1], fact), true)
		check.Equal(t, "shown in the next turn", showsText(requests[2], fact), false)
	})
}

func TestEachRequestExtendsPrevious(t *testing.T) {
	var requests []string
	var says []llm.Response
	r := newRig(t, func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		var text strings.Builder
		for _, m := range req.Messages {
			fmt.Fprintf(&text, "\n%s %s %v %s", m.Role, m.CallID, m.Calls, m.Text)
		}
		requests = append(requests, text.String())
		answer := says[0]
		says = says[1:]
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
	for i := 1; i < len(requests); i++ {
		check.HasPrefix(t, fmt.Sprintf("request %d", i), requests[i], requests[i-1])
	}
	if last := requests[len(requests)-1]; len(requests) != 7 || strings.Count(last, "Ophelia is allergic to honey") != 1 || strings.Count(last, "\ntime: ") != 6 {
		t.Errorf("%d requests, the last one is %s", len(requests), last)
	}
}

func TestTurnContextWithoutRecallIsSmall(t *testing.T) {
	for name, optional := range map[string]bool{"of a turn that must be answered": false, "of a turn that may stay without an answer": true} {
		t.Run(name, func(t *testing.T) {
			var block string
			r := newRig(t, func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
				_, block, _ = strings.Cut(req.Messages[len(req.Messages)-1].Text, "\n\n")
				return llmtest.Say("ok"), nil
			})
			in := r.inbound("hello", true)
			in.Optional = optional
			r.post(in)
			if cost := tokens.Estimate(block); !strings.HasPrefix(block, "<now>") || cost > 60 || strings.Contains(block, "NO_REPLY") != optional {
				t.Errorf("%d tokens: %s", cost, block)
			}
		})
	}
}
