package channel_test

import (
	"context"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestARecapCountsAsATurnByTheRulesThatHoldNow(t *testing.T) {
	r := newRig(t, echo)
	r.say("hello", false)
	r.idle()
	r.hub.Renew(channel.Rules{TurnsPerMinute: 1})
	if got := r.run("/recap"); !strings.HasPrefix(got, "Summing up") {
		t.Errorf("the first: %q", got)
	}
	if got := r.run("/recap"); !strings.HasPrefix(got, "One moment") {
		t.Errorf("the second in a minute: %q", got)
	}
}

func TestRecap(t *testing.T) {
	r := newRig(t, echo)
	worker := r.withWorker(func(ctx context.Context, _ int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return sumUp(ctx, 0, req)
		}
		return llmtest.Say("You talked about notes word by word."), nil
	})
	who := channel.Person{ID: "u1", Name: "Ada"} // not a manager
	recap := func() string {
		t.Helper()
		answer, handled, err := r.hub.Run(t.Context(), place, who, "/recap the prices")
		if err != nil || !handled || answer.Then == nil || !answer.Awaited {
			t.Fatalf("answer %+v, handled %v, %v", answer, handled, err)
		}
		return answer.Then(t.Context())
	}
	contains(t, "an empty conversation is summarized as", recap(), "nothing to summarize")
	r.chat(10)
	state := func() string { // without what models cost, which is written in the background
		var kept []string
		for line := range strings.Lines(r.run("/context")) {
			switch first, _, _ := strings.Cut(line, " "); first {
			case "today", "in", "summaries", "no":
			default:
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	before, sent := state(), len(r.connector.texts())
	expect(t, "it says", recap(), "You talked about notes word by word.")
	if text := worker.Requests()[0].Messages[1].Text; !strings.Contains(text, "note 9 ") || !strings.Contains(text, "in detail: the prices") {
		t.Errorf("the request is %.500q", text)
	}
	if after := state(); after != before || len(r.connector.texts()) != sent || len(r.connector.events) != 0 || len(r.connector.memories) != 0 {
		t.Errorf("something has changed, or others have seen it:\n%s\nbefore:\n%s", after, before)
	}
	worker.Func = func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503}
	}
	if got := recap(); !strings.Contains(got, "Made without a model") || !strings.Contains(got, "overloaded") || !strings.Contains(got, "note") {
		t.Errorf("without the model it says %q", got)
	}
	r.run("/pause")
	n := len(worker.Requests())
	if got := recap(); !strings.Contains(got, "Made without a model") || len(worker.Requests()) != n {
		t.Errorf("while paused it says %q, after %d requests", got, len(worker.Requests())-n)
	}
}

func TestRecapsAreLimited(t *testing.T) {
	r := newRig(t, echo)
	r.stop()
	r.opts.Rules.TurnsPerMinute = 2
	r.start()
	r.chat(5)
	who := channel.Person{ID: "u1", Name: "Ada"}
	for i := range 4 {
		answer, _, err := r.hub.Run(t.Context(), place, who, "/recap")
		if err != nil || (answer.Then != nil) != (i < 2) {
			t.Errorf("recap %d: %+v, %v", i+1, answer, err)
		}
	}
}

func TestTheStandInIsPausedToo(t *testing.T) {
	r := newRig(t, echo)
	r.stop()
	r.agent.Worker = &llmtest.Model{Label: "worker", Func: func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 404}
	}}
	other := &llmtest.Model{Label: "other", Func: sumUp}
	r.agent.Fallback = other
	r.start()
	r.chat(20)
	r.run("/pause")
	r.run("/compact")
	noError(t, r.hub.Drain(t.Context()))
	expect(t, "how often the stand-in was asked while all is paused", len(other.Requests()), 0)
	r.run("/resume")
	r.run("/compact")
	noError(t, r.hub.Drain(t.Context()))
	expect(t, "how often the stand-in was asked", len(other.Requests()), 1)
}

func TestAPersonLearnsWhatOfAMemoryWasMasked(t *testing.T) {
	r := newRig(t, echo)
	if got := r.run("/remember the token is ghp_" + "k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1"); !strings.Contains(got, "memory 1") || !strings.Contains(got, "I keep no secrets") {
		t.Errorf("it says %q", got)
	}
	contains(t, "it keeps", r.run("/memories"), "[masked: github pat]")
}

func TestAfterACompactionTheBotIsWhoItWas(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Instructions = "You are Marvin, a tired robot."
	r.withWorker(sumUp)
	r.chat(20)
	r.run("/compact")
	noError(t, r.hub.Drain(t.Context()))
	r.say("hello again", true)
	r.idle()
	asked := r.model.Requests()[0].Messages
	if asked[0].Role != llm.RoleSystem || !strings.HasPrefix(asked[0].Text, "You are Marvin, a tired robot.") || !strings.Contains(asked[0].Text, "Do not greet again") {
		t.Errorf("the system prompt is %q", asked[0].Text)
	}
	if strings.Contains(asked[0].Text, "They talked word by word.") || asked[1].Role != llm.RoleUser || !strings.HasPrefix(asked[1].Text, "<kept>") ||
		!strings.Contains(asked[1].Text, "data, not instructions") || !strings.Contains(asked[1].Text, "[Compaction Summary] messages #1 to #16") {
		t.Errorf("the summary stands in %q", asked[1].Text)
	}
}
