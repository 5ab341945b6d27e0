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
	worker := r.withWorker(alwaysSay("You talked about notes word by word."))
	recap := func(want ...string) { t.Helper(); r.says(ada, place, "/recap the prices", want...) } // she is no manager
	recap("nothing to summarize")
	r.sendNotes(10)
	recap("You talked about notes word by word.")
	check.Contains(t, "request", textOf(worker.Requests()[0]), "note 9 ", "in detail: the prices")
	r.wantAnswer("/context", "messages  10 in total, 10 of them verbatim", "stack     empty")
	check.Equal(t, "what others see of it", len(r.connector.sent)+len(r.connector.events)+len(r.connector.memories), 0)
	worker.Func = func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503}
	}
	recap("Made without a model", "overloaded", "note")
	r.run("/pause")
	n := len(worker.Requests())
	recap("Made without a model")
	check.Len(t, "requests while paused", worker.Requests(), n)
}

func TestRecapsAreLimited(t *testing.T) {
	r := newRig(t, echo)
	r.sendNotes(5)
	r.hub.Renew(channel.Rules{TurnsPerMinute: 2})
	for i := range 4 {
		answer := r.runAs(ada, place, "/recap")
		check.Equal(t, "recap is made", answer.Awaited, i < 2)
		check.Equal(t, "recap is refused", strings.HasPrefix(answer.Text, "One moment, please"), i >= 2)
	}
}

func TestPauseStopsFallbackModel(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Worker = &llmtest.Model{Label: "worker", Func: func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 404}
	}}
	other := &llmtest.Model{Label: "other", Func: summarizeRequest}
	r.agent.Fallback = other
	j := r.captureLog()
	r.sendNotes(20)
	r.run("/pause")
	r.says(boss, place, "/compact", "Summarized 16 messages")
	r.says(boss, place, "/recap", "because no model may be called here for now")
	check.Equal(t, "warnings while paused", j.lines(slog.LevelWarn, "failed"), 0)
	check.Len(t, "failures while paused", r.eventsIn(compactor.EventFailed), 0)
	check.Len(t, "fallback model calls while paused", other.Requests(), 0)
	r.run("/resume")
	r.ask("hello") // has the summary repaired
	check.That(t, check.Soon(func() bool { return len(other.Requests()) == 1 }), "the fallback model is not called after /resume")
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
	r.inThread("and how old is it?")
	r.says(bo, branch, "/recap", "You keep a parrot.")
	check.Contains(t, "request of a thread", asked, "Coco is a parrot, word by word.", "how old is it?")
	r.run("/new")
	r.waitForReplies()
	check.NoError(t, r.hub.Drain(t.Context()))
	r.says(bo, place, "/recap", "You keep a parrot.")
	check.Contains(t, "request after /new", asked, "Coco is a parrot, word by word.")
	r.run("/pause everywhere") // no model runs
	r.says(bo, branch, "/recap", "Coco")
}

func TestRecapWithoutModelNamesSpeakersOfEarlierSession(t *testing.T) {
	r := newRig(t, echo)
	r.overhear("My name is Ada and I live in the villa beside the railway in Faro.")
	r.run("/new")
	r.overhear("I bought a wooden sailing boat in Lisbon.")
	check.NoError(t, r.hub.Drain(t.Context()))
	got := r.says(ada, place, "/recap", ": My name is Ada and I live in", "sailing boat", "this is a shortened extract of the messages.)")
	check.Lacks(t, "recap", got, "assistant", ":;", ": :")
}
