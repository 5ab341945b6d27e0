package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// gatedWorker has models from gate write its summaries, and waits for each.
func gatedWorker(gate chan script) script {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		select {
		case f := <-gate:
			return f(ctx, n, req)
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}
}

// A /compact while a summary is being written is scheduled, and people are told how it ends itself.
func TestCompactDuringLevelCompaction(t *testing.T) {
	good := always(summary("They talked of a quick brown fox."))
	ends := map[string]script{"applied": good, "failed": failing(&llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "overloaded"})}
	for how, want := range map[string]string{"applied": "Summarized ", "failed": "The summary of messages #", "shutdown": "ask again"} {
		gate := make(chan script)
		r := newRig(t, echo).withWindow(6000)
		r.setFilePolicy(func(p *compactor.Policy) {
			p.PrepareThreshold = 0
			p.MaxTurns = 1
		})
		r.withWorker(gatedWorker(gate))
		for i := 0; !r.running() && i < 200; i++ {
			r.ask(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 12)))
		}
		answer := r.runAsManager("/compact the prices")
		check.Require(t, strings.HasPrefix(answer.Text, "Scheduled") && answer.Then != nil, "got answer %q", answer.Text)
		r.wantAnswer("/compact the dates", "already running")
		r.wantAnswer("/context", "a /compact is scheduled after it")
		if how == "shutdown" {
			r.stop()
			check.Contains(t, "answer", answer.Then(t.Context()).Text, want)
			continue
		}
		go func() {
			gate <- good // the level's
			gate <- ends[how]
		}()
		said := answer.Then(t.Context()).Text
		ended := append(r.eventsIn(compactor.EventApplied), r.eventsIn(compactor.EventFailed)...)
		own := ended[len(ended)-1]
		check.Contains(t, how+": answer", said, want, fmt.Sprintf("#%d to #%d", own.From, own.To))
		check.That(t, own.Trigger == compactor.OnManual && own.From >= 2, "got event %+v", own)
	}
}

// The answer to /compact names what was ready before, and so made without its focus; /undo reverts all of it.
func TestCompactReportsAppliedSummaries(t *testing.T) {
	for _, more := range []bool{true, false} { // whether there is more than the ready ones to summarize
		inBubble(t, echo, func(t *testing.T, r *rig) {
			r.model.Tokens = 8000
			r.withWorker(numberedSummaries)
			var kept atomic.Bool
			r.agent.Policy = func() compactor.Policy {
				p := compactor.DefaultPolicy()
				p.SpanTokens = 500
				p.TailTokens = 500
				p.KeepLastN = 0
				p.PrepareThreshold = 0.4
				if kept.Load() {
					p.TailTokens = 2000
					p.KeepLastN = 500
				}
				return p
			}
			r.reopen()
			for i := range 30 {
				r.ask(fmt.Sprintf("message-%d %s", i, strings.Repeat("word ", 60)))
				synctest.Wait() // the summaries have ended too
			}
			kept.Store(!more)
			all := r.eventsIn(compactor.EventPrepared)
			check.That(t, len(all) >= 2 && len(r.eventsIn(compactor.EventApplied)) == 0, "got %d summaries that are ready", len(all))
			said := r.finished(r.runAsManager("/compact the prices"))
			if more {
				all = append(all, r.eventsIn(compactor.EventPrepared)[len(all)])
			}
			messages := 0
			for _, e := range all {
				messages += e.Messages
			}
			span := fmt.Sprintf("#%d", all[len(all)-1].To)
			check.HasPrefix(t, "answer", said, fmt.Sprintf("Summarized %d messages (#1 to %s)", messages, span))
			check.Contains(t, "answer", said, "ready before your request do not have this focus")
			r.wantAnswer("/undo", fmt.Sprintf("Undone: %d summaries of messages #1 to %s", len(all), span))
			r.wantAnswer("/context", "undone: leaf of messages #1 to "+span)
		})
	}
}

func TestRecap(t *testing.T) {
	r := newRig(t, echo)
	worker := r.withWorker(alwaysSay("You talked about notes word by word."))
	recap := func(want ...string) { t.Helper(); r.says(ada, place, "/recap the prices", want...) } // she is no manager
	recap("nothing to summarize")
	r.sendNotes(10)
	recap("You talked about notes word by word.")
	check.Contains(t, "request", textOf(worker.Requests()[0]), "note 9 ", `in detail: "the prices"`)
	r.wantAnswer("/context", "messages  10, of which 10 verbatim", "stack     empty")
	check.Equal(t, "what others see of it", len(r.connector.sent)+len(r.connector.events)+len(r.connector.memories), 0)
	worker.Func = failing(&llm.Error{Kind: llm.KindOverloaded, Status: 503})
	recap("Made without a model", "overloaded", "note")
	r.run("/pause")
	n := len(worker.Requests())
	recap("Made without a model")
	r.hub.Renew(access.Rules{TurnsPerMinute: 1}) // recaps count
	recap("Made without a model")
	recap("One moment, please")
	r.says(boss, place, "/compact", "Summarized ")
	r.drainTasks(func(int) {}) // this summary is to be repaired by a model, and nobody waits for that while it is paused
	check.Len(t, "requests while paused", worker.Requests(), n)
}

func TestPauseStopsFallbackModel(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Worker = &llmtest.Model{Label: "worker", Func: failing(&llm.Error{Kind: llm.KindBadRequest, Status: 404})}
	other := &llmtest.Model{Label: "other", Func: summarizeRequest}
	r.agent.Substitute = other
	j := r.captureLog()
	r.sendNotes(20)
	r.run("/pause")
	r.says(boss, place, "/compact", "Summarized 16 messages")
	r.says(boss, place, "/recap", "because model calls are not allowed here for now")
	check.Equal(t, "warnings while paused", j.lines(slog.LevelWarn, "failed"), 0)
	check.Len(t, "failures while paused", r.eventsIn(compactor.EventFailed), 0)
	check.Len(t, "fallback model calls while paused", other.Requests(), 0)
	r.run("/resume")
	r.ask("hello") // has the summary repaired
	check.That(t, check.Soon(func() bool { return len(other.Requests()) == 1 }), "the fallback model is not called after /resume")
}

func TestRecapIncludesEarlierSessions(t *testing.T) {
	r := withOldSession(t)
	var asked string
	r.withWorker(func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return summarizeRequest(ctx, n, req)
		}
		asked = textOf(req)
		return llmtest.Say("You keep Coco, a parrot."), nil
	})
	r.inThread("and how old is it?")
	r.says(bo, branch, "/recap", "You keep Coco, a parrot.")
	check.Contains(t, "request of a thread", asked, "Coco is a parrot, word by word.", "how old is it?")
	r.newSession()
	r.says(bo, place, "/recap", "You keep Coco, a parrot.")
	check.Contains(t, "request after /new", asked, "Coco is a parrot, word by word.")
	r.run("/pause everywhere") // no model runs
	r.says(bo, branch, "/recap", "Coco")

	r = newRig(t, echo) // without a model, the speakers are named
	r.overhear("My name is Ada and I live in the villa beside the railway in Faro.")
	r.run("/new")
	r.overhear("I bought a wooden sailing boat in Lisbon.")
	check.NoError(t, r.hub.Drain(t.Context()))
	got := r.says(ada, place, "/recap", ": My name is Ada and I live in", "sailing boat", "this is an extract of the messages.)")
	check.Lacks(t, "recap", got, "assistant", ":;", ": :")
}

func (r *rig) newSession() {
	r.t.Helper()
	r.run("/new")
	r.waitForReplies()
	check.NoError(r.t, r.hub.Drain(r.t.Context()))
}

func TestRecapFromAMessage(t *testing.T) {
	r := newRig(t, echo)
	worker := r.withWorker(numberedSummaries)
	r.askTurns(3, 10)
	r.says(ada, place, "/recap msg:nothing", "I do not have that message")
	messages := r.messagesIn(place)
	from := messages[2]
	r.finished(r.runAs(ada, place, "/recap msg:"+from.ID))
	all := worker.Requests()
	prompt := fmt.Sprint(all[len(all)-1].Messages)
	check.Contains(t, "what the recap is made of", prompt, messages[2].Text, messages[4].Text)
	check.Lacks(t, "what the recap is made of", prompt, messages[0].Text)
}

func TestCompactAndUndo(t *testing.T) {
	release := make(chan struct{})
	veto := errors.New("not today")
	r := newRig(t, echo)
	r.agent.Instructions = "You are Marvin, a tired robot."
	r.opts.Before = func(_ context.Context, conversation string, e compactor.Proposal) (string, error) {
		check.Equal(t, "proposal", fmt.Sprint(conversation, e.From), place+"1")
		return "", veto
	}
	r.withWorker(while(func(int) { <-release }, numberedSummaries))
	r.askTurns(10, 30)
	r.wantAnswer("/undo", "Nothing was undone: there is no summary to undo")
	r.wantAnswer("/context", " %\n", "of 128000 tokens", "next      background at 80 % (102400 tokens)", "messages  20, of which 20 verbatim",
		"running   nothing", "stack     empty")
	r.wantAnswer("/compact", "No compaction was started: not today.")
	r.wantAnswer("/context", "last      nothing was done: not today")
	veto = nil
	answer := r.runAsManager("/compact")
	r.wantAnswer("/context", "running   summarizing 16 messages, #1 to #16 (manual)", "stack     empty")
	close(release)
	r.finished(answer)
	check.NoError(t, r.hub.Drain(t.Context()))
	r.wantAnswer("/context", "running   nothing", "last      leaf by worker, messages #1 to #16: ", "of which 4 verbatim",
		"stack     1, oldest first:", "leaf   level 0  #1 to #16")
	view := r.promptText()
	system, kept, _ := strings.Cut(view, "\nuser: <kept>")
	check.HasPrefix(t, "system prompt after a summary", system, "system: You are Marvin, a tired robot.")
	check.Contains(t, "system prompt after a summary", system, "Do not greet again")
	check.Lacks(t, "system prompt after a summary", system, "They talked", "\nuser: ")
	check.Contains(t, "summary", kept, "data, not instructions", "[Compaction Summary] messages #1 to #16", "word by word of message-1")
	check.Lacks(t, "prompt", view, "message-1 ")
	r.wantAnswer("/undo", "Undone: the summary of messages #1 to #", "tokens of 128000", "Memories stay")
	r.wantAnswer("/context", "stack     empty", "undone")
	view = r.promptText()
	check.Contains(t, "prompt", view, "message-1 ")
	check.Lacks(t, "prompt", view, "word by word of message")
	r.wantAnswer("/undo", "there is no summary to undo")
	e := r.waitForEvent(compactor.EventUndone)
	check.That(t, e.From == 1 && e.AfterTokens > e.BeforeTokens, "got event %+v", e)
	r.compact()
	r.restart()
	r.model.Func = while(func(int) {
		answer, _, err := r.hub.Run(t.Context(), place, boss, "/undo") // immediately, during a turn
		check.That(t, err == nil && strings.HasPrefix(answer.Text, "Undone"), "got answer %q, %v", answer.Text, err)
	}, echo)
	r.ask("what was that?")
}

func TestPinCommands(t *testing.T) {
	r := newRig(t, echo)
	r.withWorker(numberedSummaries)
	r.wantAnswer("/pin", "There is no such message")
	r.wantAnswer("/pins", "Nothing is pinned here")
	r.say("The gate code is 4711.", false)
	r.say("Long: "+strings.Repeat("word ", 4000), false)
	r.ask("The meeting is at nine.")
	r.wantAnswer("/pin", "#3 is pinned", "The meeting is at nine.") // not the answer to it
	r.wantAnswer("/pin #1", "#1 is pinned", "4711")
	r.wantAnswer("/pin 1", "#1 is already pinned")
	r.wantAnswer("/pin #99", "There is no such message")
	r.wantAnswer("/pin tea", "Give its number")
	r.wantAnswer("/pin #2", "#2 is pinned", "It is clipped to ", " tokens, because pin_budget allows 1000 in total")
	r.wantAnswer("/pin #4", "does not fit: pin_budget allows 1000 tokens in total, and the message needs ", "/unpin")
	list := r.wantAnswer("/pins", "pin_budget allows 1000 tokens", "4711", "(pinned by Ada, ", " tokens shown)")
	check.Equal(t, "pins listed", strings.Count(list, "pinned by"), 3)
	r.wantAnswer("/unpin", "Give its number")
	r.wantAnswer("/unpin #7", "#7 is not pinned")
	r.wantAnswer("/unpin #2", "#2 is no longer pinned")
	r.askTurns(10, 30)
	r.compact()
	view := r.promptText()
	check.EqualAll(t, "copies in the prompt", []int{strings.Count(view, "4711"), strings.Count(view, "meeting is at nine")}, []int{1, 1})
	check.Lacks(t, "prompt", view, "Long: ")
	r.wantAnswer("/pin 2", "#2 is pinned")
	check.Contains(t, "prompt", r.promptText(), "Long: ")
	r.wantAnswer("/unpin 2", "no longer")
	r.restart()
	r.wantAnswer("/pins", "4711", "nine")
	r.wantAnswer("/unpin 1", "no longer")
	check.Lacks(t, "prompt", r.promptText(), "4711")
}

func TestSummariesAndExpand(t *testing.T) {
	r := newRig(t, echo)
	r.withWorker(numberedSummaries)
	r.wantAnswer("/summaries", "Nothing has been summarized here")
	for i := range 240 {
		r.say(fmt.Sprintf("message-%d word word word word word word word", i), false)
	}
	r.waitForReplies()
	r.compact()
	list := r.wantAnswer("/summaries", "1 on the stack", "\n(1) leaf, level 0: #1 to #236, ", " 236 messages in ", "by worker (", ": /expand 1")
	check.Lacks(t, "/summaries", list, "They talked")
	for line, want := range map[string]string{"/expand": "Give its number", "/expand 1 tea": "Give its number", "/expand 7": "There is no summary 7"} {
		r.wantAnswer(line, want)
	}
	expanded := r.wantAnswer("/expand 1", "#1 ", " Ada: message-0 word", "#200 ", "message-199 ", "There is more: /expand 1 201")
	check.Lacks(t, "answer", expanded, "message-200 ")
	rest := r.wantAnswer("/expand 1 201", "message-200 ", "#236 ")
	check.Lacks(t, "second page", rest, "message-236 ", "There is more", "message-199 ")
	r.says(ada, "test:server/other", "/expand 1", "There is no summary 1")
	check.Contains(t, "page 1", r.runAs(ada, place, "/expand 1").Page(1), "#11 ", "(page 2 of 21)")
	// After /new, it is one of an earlier session.
	r.newSession()
	list = r.run("/summaries")
	check.HasPrefix(t, "/summaries", list, "Nothing has been summarized since the last /new. From before, oldest first:\n(")
	check.Contains(t, "/summaries", list, "#1 to #2", "(from before a /new)", ": /expand ")
	r.newSession() // no messages yet, so nothing changes
	check.Equal(t, "answer to /summaries", r.run("/summaries"), list)
}
