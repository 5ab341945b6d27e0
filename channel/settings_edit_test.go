package channel_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// A compaction applied while a conversation is being reopened is visible once it is open again.
func TestCompactionDuringSettingsEdit(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		var renewing atomic.Bool
		applied := make(chan struct{})
		r.agent.Policy = func() compactor.Policy {
			if renewing.CompareAndSwap(true, false) { // the conversation has been read from disk by now
				go func() {
					defer close(applied)
					r.finished(r.runAsManager("/compact"))
				}()
				select {
				case <-applied:
				case <-time.After(200 * time.Millisecond):
				}
			}
			return compactor.DefaultPolicy()
		}
		r.sendNotes(20)
		renewing.Store(true)
		r.hub.Renew(channel.Rules{})
		r.waitForReplies()
		<-applied
		beside := check.Must(channel.ReadContext(t.Context(), storetest.Find(t, r.store, place), r.agent))(t)
		r.wantAnswer("/context", fmt.Sprintf("%d of them verbatim", beside.Verbatim))
	})
}

func TestSettingsEditDoesNotStopRecap(t *testing.T) {
	r := newRig(t, echo)
	asked, goOn := make(chan struct{}), make(chan struct{})
	r.withWorker(func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		close(asked)
		<-goOn
		return llmtest.Say("You talked about notes word by word."), ctx.Err()
	})
	r.sendNotes(5)
	answer := r.runAs(ada, place, "/recap")
	recap := make(chan string)
	go func() { recap <- answer.Then(t.Context()) }()
	<-asked
	r.hub.Renew(channel.Rules{})
	r.waitForReplies()
	close(goOn)
	check.Equal(t, "answer", <-recap, "You talked about notes word by word.")
}

// opening is a model that runs a function while a conversation is opened with it, once it is armed: after its window
// was looked up, when its learned facts are requested.
type opening struct {
	windowRecorder
	learnt llm.Learnt
	opened func()
}

func (o *opening) Learnt() *llm.Learnt {
	if opened := o.opened; opened != nil {
		o.opened = nil
		opened()
	}
	return &o.learnt
}

// A request made while a conversation is being reopened waits until it is open again.
func TestRequestDuringSettingsEdit(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		answers := make(chan string, 1)
		var model *opening
		model = &opening{windowRecorder: windowRecorder{Model: r.model, do: func() {
			model.opened = func() {
				go func() { answers <- r.run("/compact") }()
				time.Sleep(200 * time.Millisecond)
			}
		}}}
		r.agent.Model = model
		r.withWorker(numberedSummaries)
		r.sendNotes(20)
		model.armed.Store(true)
		r.hub.Renew(channel.Rules{})
		r.waitForReplies()
		check.HasPrefix(t, "/compact", <-answers, "Summarizing 16 messages") // without a request in between, it waits for ever
	})
}

func TestSettingsEdit(t *testing.T) {
	r := newRig(t, echo)
	r.model.Tokens = 8000
	r.ask("I like tea")
	r.agent.ID, r.agent.Instructions = "second", "You are a librarian."
	r.agent.Model = &llmtest.Model{Tokens: 16_000, Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		check.Contains(t, "system prompt", system(req), "librarian")
		check.Contains(t, "request", textOf(req), "I like tea", "what do I like")
		return llmtest.Say("tea, says the librarian"), nil
	}}
	r.hub.Renew(channel.Rules{Access: map[string]channel.Access{"test": {Deny: []string{"u9"}}}, Restricted: []string{}})
	check.Equal(t, "answer", r.ask("what do I like?"), "tea, says the librarian")
	r.wantAnswer("/context", "of 16000 tokens")
	check.Error(t, r.deliverTo(place, "let me in", func(m *channel.Inbound) { m.AuthorID = "u9" }), channel.ErrRefused)
	check.Lacks(t, "answer", r.runAs(bo, place, "/settings").Text, "manage")
}

func TestSettingsEditWaitsForRunningSummary(t *testing.T) {
	gate := make(chan bool)
	r := newRig(t, echo)
	r.withWorker(gatedWorker(gate))
	r.sayTurns(20, 40)
	r.run("/compact")
	r.agent.Model = &llmtest.Model{Func: alwaysSay("the second")}
	r.hub.Renew(channel.Rules{})
	check.Equal(t, "answer", r.ask("who is there?"), "answer 1")
	gate <- true
	r.waitForEvent(compactor.EventApplied)
	check.NoError(t, r.hub.Drain(t.Context()))
	check.Equal(t, "answer after the summary", r.ask("and now?"), "the second")
}
