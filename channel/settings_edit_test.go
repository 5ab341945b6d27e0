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
	"cairn/llm"
	"cairn/llm/llmtest"
)

// A compaction applied while a conversation is being reopened is visible once it is open again.
func TestCompactionDuringSettingsEdit(t *testing.T) {
	r := newRig(t, echo)
	var renewing atomic.Bool
	applied := make(chan struct{})
	r.agent.Policy = func() compactor.Policy {
		if renewing.CompareAndSwap(true, false) { // the conversation has been read from disk by now
			go func() {
				defer close(applied)
				answer, _, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u1", Manager: true}, "/compact")
				if err == nil && answer.Then != nil {
					answer.Then(t.Context())
				}
			}()
			select {
			case <-applied:
			case <-time.After(200 * time.Millisecond):
			}
		}
		return compactor.DefaultPolicy()
	}
	r.sayTurns(20, 40)
	renewing.Store(true)
	r.hub.Renew(channel.Rules{})
	r.waitForReplies()
	<-applied
	conv := check.Must(r.store.Conversation(t.Context(), place))(t)
	beside := check.Must(channel.ReadContext(t.Context(), conv, r.agent))(t)
	check.Contains(t, fmt.Sprintf("on disk %d messages stand as they were said; /context", beside.Verbatim), r.run("/context"), fmt.Sprintf("%d of them verbatim", beside.Verbatim))
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

// slowWindow is a model that runs opened while a conversation is opened with it: after its window was
// looked up, when its learned facts are requested.
type slowWindow struct {
	*llmtest.Model
	learnt llm.Learnt
	armed  atomic.Bool
	looked atomic.Bool
	opened func()
}

func (o *slowWindow) Window(ctx context.Context) llm.Window {
	o.looked.Store(o.armed.Load())
	return o.Model.Window(ctx)
}

func (o *slowWindow) Learnt() *llm.Learnt {
	if o.looked.CompareAndSwap(true, false) {
		o.armed.Store(false)
		o.opened()
	}
	return &o.learnt
}

// A request made while a conversation is being reopened waits until it is open again.
func TestRequestDuringSettingsEdit(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Worker = &llmtest.Model{Func: numberedSummaries}
	answers := make(chan string, 1)
	model := &slowWindow{Model: r.model, opened: func() {
		go func() {
			answer, _, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u1", Manager: true}, "/compact")
			answers <- fmt.Sprint(answer.Text, err)
		}()
		select {
		case early := <-answers:
			answers <- early
		case <-time.After(200 * time.Millisecond):
		}
	}}
	r.agent.Model = model
	r.reopen()
	r.sayTurns(20, 40)
	model.armed.Store(true)
	r.hub.Renew(channel.Rules{})
	r.waitForReplies()
	check.Require(t, !model.armed.Load(), "got no request in between: the test proves nothing")
	check.HasPrefix(t, "/compact", <-answers, "Summarizing 16 messages")
}

func TestSettingsEdit(t *testing.T) {
	var agent atomic.Pointer[channel.Agent]
	r := newRig(t, echo)
	r.model.Tokens = 8000
	r.stop()
	first := channel.Agent{ID: "first", Model: r.model, MaxOutput: 500, Policy: compactor.DefaultPolicy}
	agent.Store(&first)
	r.opts.Agent = func(string) channel.Agent { return *agent.Load() }
	r.start()
	r.ask("I like tea")

	second := first
	second.ID, second.Instructions = "second", "You are a librarian."
	second.Model = &llmtest.Model{Tokens: 16_000, Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		check.Contains(t, "requests", req.Messages[0].Text, "librarian")
		check.Contains(t, "last message of the request", req.Messages[len(req.Messages)-1].Text, "what do I like")
		check.Contains(t, "request", fmt.Sprint(req.Messages), "I like tea")
		return llmtest.Say("tea, says the librarian"), nil
	}}
	agent.Store(&second)
	r.hub.Renew(channel.Rules{Access: map[string]channel.Access{"test": {Deny: []string{"u9"}}}, Restricted: []string{}})
	r.ask("what do I like?")
	texts := r.connector.texts()
	check.Equal(t, "last piece sent", texts[len(texts)-1], "tea, says the librarian")
	check.Contains(t, "answer to /context", r.run("/context"), "of 16000 tokens")
	m := r.inbound("let me in", true)
	m.AuthorID = "u9"
	check.Error(t, check.ErrorOf(r.hub.Deliver(t.Context(), place, m)), channel.ErrRefused)
	check.Lacks(t, "answer", r.runAs(bo, place, "/settings").Text, "manage")
}

func TestSettingsEditWaitsForRunningSummary(t *testing.T) {
	var agent atomic.Pointer[channel.Agent]
	gate := make(chan bool)
	r := newRig(t, echo)
	r.stop()
	first := channel.Agent{ID: "first", Model: r.model, MaxOutput: 500, Policy: compactor.DefaultPolicy}
	first.Worker = gatedWorker(gate)
	agent.Store(&first)
	r.opts.Agent = func(string) channel.Agent { return *agent.Load() }
	r.start()
	r.sayTurns(20, 40)
	r.run("/compact")
	second := first
	second.Model = &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("the second"), nil }}
	agent.Store(&second)
	r.hub.Renew(channel.Rules{})
	r.ask("who is there?")
	gate <- true
	r.waitForEvent(compactor.EventApplied)
	check.NoError(t, r.hub.Drain(t.Context()))
	r.ask("and now?")
	check.EqualAll(t, "answer", r.connector.texts(), []string{"answer 1", "the second"})
}
