package channel_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestRecap(t *testing.T) {
	r := newRig(t, echo)
	worker := r.withWorker(func(ctx context.Context, _ int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return summarizeRequest(ctx, 0, req)
		}
		return llmtest.Say("You talked about notes word by word."), nil
	})
	recap := func() string {
		t.Helper()
		return r.finished(r.runAs(ada, place, "/recap the prices")) // she is no manager
	}
	check.Contains(t, "recap of an empty conversation", recap(), "nothing to summarize")
	r.sendNotes(10)
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
	check.Equal(t, "answer", recap(), "You talked about notes word by word.")
	check.Contains(t, "the request", worker.Requests()[0].Messages[1].Text, "note 9 ", "in detail: the prices")
	if after := state(); after != before || len(r.connector.texts()) != sent || len(r.connector.events) != 0 || len(r.connector.memories) != 0 {
		t.Errorf("got state\n%s\nwant\n%s", after, before)
	}
	worker.Func = func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503}
	}
	check.Contains(t, "recap without the model", recap(), "Made without a model", "overloaded", "note")
	r.run("/pause")
	n := len(worker.Requests())
	if got := recap(); !strings.Contains(got, "Made without a model") || len(worker.Requests()) != n {
		t.Errorf("while paused: got answer %q after %d requests", got, len(worker.Requests())-n)
	}
}

func TestRecapsAreLimited(t *testing.T) {
	r := newRig(t, echo)
	r.sendNotes(5)
	r.hub.Renew(channel.Rules{TurnsPerMinute: 2})
	for i := range 4 {
		answer := r.runAs(ada, place, "/recap")
		if answer.Awaited != (i < 2) || !answer.Awaited && !strings.HasPrefix(answer.Text, "One moment") {
			t.Errorf("recap %d: %+v", i+1, answer)
		}
	}
}

func TestPauseStopsFallbackModel(t *testing.T) {
	r := newRig(t, echo)
	r.stop()
	r.agent.Worker = &llmtest.Model{Label: "worker", Func: func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 404}
	}}
	other := &llmtest.Model{Label: "other", Func: summarizeRequest}
	r.agent.Fallback = other
	j := r.captureLog()
	r.sendNotes(20)
	r.run("/pause")
	check.Contains(t, "/compact while paused", r.finished(r.runAsManager("/compact")), "Summarized 16 messages")
	check.Contains(t, "/recap while paused", r.finished(r.runAsManager("/recap")), "because no model may be called here for now")
	check.Equal(t, "warnings while paused", j.lines(slog.LevelWarn, "failed"), 0)
	check.Len(t, "failures while paused", r.eventsIn(compactor.EventFailed), 0)
	check.Equal(t, "fallback model calls while paused", len(other.Requests()), 0)
	r.run("/resume")
	r.ask("hello") // has the summary repaired
	if !check.Soon(func() bool { return len(other.Requests()) == 1 }) {
		t.Errorf("got %d calls of the fallback model after /resume, want 1", len(other.Requests()))
	}
}

func TestRecapGivesItsReasonInTheLanguageOfTheConversation(t *testing.T) {
	r := newRig(t, echo)
	r.withWorker(summarizeRequest)
	r.agent.Language = "de"
	r.sendNotes(5)
	r.run("/pause")
	check.Contains(t, "the recap", r.finished(r.runAs(ada, place, "/recap")), "der Grund: gerade darf hier kein Modell gefragt werden.")
}

func TestRememberReportsMaskedSecret(t *testing.T) {
	r := newRig(t, echo)
	check.Contains(t, "answer", r.run("/remember the token is ghp_"+"k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1"), "memory 1: the token is [masked: github pat]")
}

func TestSystemPromptSurvivesCompaction(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Instructions = "You are Marvin, a tired robot."
	r.withWorker(summarizeRequest)
	r.sendNotes(20)
	r.run("/compact")
	check.NoError(t, r.hub.Drain(t.Context()))
	r.ask("hello again")
	asked := r.model.Requests()[0].Messages
	check.Equal(t, "the system prompt", asked[0].Role, llm.RoleSystem)
	check.HasPrefix(t, "the system prompt", asked[0].Text, "You are Marvin, a tired robot.")
	check.Contains(t, "the system prompt", asked[0].Text, "Do not greet again")
	if strings.Contains(asked[0].Text, "They talked word by word.") || asked[1].Role != llm.RoleUser || !strings.HasPrefix(asked[1].Text, "<kept>") ||
		!strings.Contains(asked[1].Text, "data, not instructions") || !strings.Contains(asked[1].Text, "[Compaction Summary] messages #1 to #16") {
		t.Errorf("got the summary in %q", asked[1].Text)
	}
}

func TestSummariesListsEarlierSessions(t *testing.T) {
	r := newRig(t, echo)
	r.wantAnswer("/summaries", "Nothing has been summarized here")
	r.sendNotes(20)
	r.run("/new")
	r.waitForReplies()
	check.NoError(t, r.hub.Drain(t.Context()))
	list := r.run("/summaries")
	check.HasPrefix(t, "/summaries", list, "Nothing has been summarized since the last /new. From before, oldest first:\n(2) leaf, level 0: #1 to #20, ")
	check.Contains(t, "/summaries", list, "(from before a /new)", ": /expand 2")
	check.Equal(t, "answer to /expand", strings.Count(r.run("/expand 2"), "\n#"), 20)
	r.run("/new") // no messages yet, so nothing changes
	r.waitForReplies()
	check.Equal(t, "answer to /summaries", r.run("/summaries"), list)
}

func TestRecapIncludesEarlierSessions(t *testing.T) {
	r := withOldSession(t)
	var asked string
	r.agent.Worker.(*llmtest.Model).Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return summarizeRequest(ctx, n, req)
		}
		asked = textOf(req)
		return llmtest.Say("You keep a parrot."), nil
	}
	recap := func(place string) string {
		t.Helper()
		return r.finished(r.runAs(bo, place, "/recap"))
	}
	r.inThread("and how old is it?")
	check.Equal(t, "recap in a thread", recap(branch), "You keep a parrot.")
	check.Contains(t, "requests", asked, "Coco is a parrot, word by word.", "how old is it?")
	r.run("/new")
	r.waitForReplies()
	check.NoError(t, r.hub.Drain(t.Context()))
	check.Equal(t, "recap after /new", recap(place), "You keep a parrot.")
	check.Contains(t, "requests", asked, "Coco is a parrot, word by word.")
	r.run("/pause everywhere") // no model runs
	check.Contains(t, "recap in a thread without a model", recap(branch), "Coco")
}

func TestRecapWithoutModelNamesSpeakersOfEarlierSession(t *testing.T) {
	r := newRig(t, echo)
	r.say("My name is Ada and I live in the villa beside the railway in Faro.", false)
	r.waitForReplies()
	r.run("/new")
	r.say("I bought a wooden sailing boat in Lisbon.", false)
	r.waitForReplies()
	check.NoError(t, r.hub.Drain(t.Context()))
	got := r.finished(r.runAs(ada, place, "/recap"))
	check.Contains(t, "recap", got, ": My name is Ada and I live in", "sailing boat", "this is a shortened extract of the messages.)")
	check.Lacks(t, "recap", got, "assistant", ":;", ": :")
}
