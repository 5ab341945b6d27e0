package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// crashDuringTurn leaves the store as if the process was killed after it took up a message.
func crashDuringTurn(t *testing.T, r *rig) *store.Conversation {
	t.Helper()
	conv := check.Must(r.store.Conversation(t.Context(), place))(t)
	m := r.inbound("are you there?", true)
	m.Time = m.Time.Add(-48 * time.Hour) // only the arrival time counts
	check.Len(t, "accepted", storetest.Deliver(t, conv, m), 1)
	return conv
}

func TestUnfinishedTurns(t *testing.T) {
	for crashes, want := range map[int]string{1: "answer 1", 4: "answer 1", 5: "I was interrupted repeatedly"} {
		r := newRig(t, echo)
		conv := crashDuringTurn(t, r)
		for range crashes - 1 {
			check.Must(conv.Turns().Retry(t.Context(), 1))(t)
		}
		r.restart()
		r.waitForReplies()
		check.Len(t, "requests", r.model.Requests(), map[bool]int{true: 1}[crashes < 5])
		check.HasPrefix(t, "sent", r.lastText(), want)
		check.Equal(t, "a failure", r.connector.sent[0].Failure, crashes == 5)
	}
	// An old one has none.
	inBubble(t, echo, func(t *testing.T, r *rig) {
		storetest.DeliverOnly(t, crashDuringTurn(t, r), r.inbound("anybody?", true))
		time.Sleep(2 * time.Hour)
		r.restart()
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: are you there?", "user: anybody?"})
		r.ask("hello")
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
	})
}

func TestUnsentReplyIsResentWithSameID(t *testing.T) {
	r := newRig(t, echo)
	r.connector.failures = 1_000_000
	r.say("hello", true)
	r.connector.until(t, "a failed send", func() bool { return r.connector.failures < 1_000_000 })
	r.stop()
	r.connector.failures = 0
	for range 2 {
		r.restart()
		r.waitForReplies()
		check.Len(t, "pieces sent", r.connector.sent, 1)
	}
	check.That(t, r.connector.sent[0].Reply == "reply-2" && r.connector.sent[0].Sending, "got sent %+v", r.connector.sent)
	check.That(t, r.deliverTo("nowhere:general", "x", addressed) != nil, "a message for no connector was accepted")
}

func TestTurnsDoNotWaitForCompaction(t *testing.T) {
	const reply = 30 * time.Millisecond
	inBubble(t, after(reply, echo), func(t *testing.T, r *rig) {
		r.model.Tokens = 4000
		r.withWorker(after(5*time.Second, numberedSummaries))
		withWorker := 0
		for i := range 60 {
			time.Sleep(300 * time.Millisecond)
			start := time.Now()
			r.ask(fmt.Sprintf("turn %d %s", i, strings.Repeat("the word by word talked ", 12)))
			check.Equal(t, fmt.Sprintf("turn %d took", i), time.Since(start), reply)
			if r.running() {
				withWorker++
			}
		}
		check.That(t, withWorker >= 20, "the worker ran in %d turns only: the test proves little", withWorker)
		check.NoError(t, r.hub.Drain(t.Context()))
		state := check.Must(storetest.Find(t, r.store, place).Compactions().Load(t.Context()))(t)
		covered := len(state.Messages)
		for _, row := range state.Head.Stack {
			covered += row.Messages
			check.That(t, row.Kind != compactor.Placeholder, "messages %d to %d are neither verbatim nor summarized", row.From, row.To)
		}
		check.Equal(t, "messages verbatim or summarized", covered, 120)
	})
}

// running reports whether the last worker event is a start.
func (r *rig) running() (running bool) {
	r.connector.note(func() {
		own := slices.DeleteFunc(slices.Clone(r.connector.events), func(e compactor.Event) bool { return e.By != compactor.ByWorker })
		running = len(own) > 0 && own[len(own)-1].State == compactor.EventStarted
	})
	return running
}

// The turn is not started again, as it would be after a disk failure.
func TestStopAtTurnStart(t *testing.T) {
	r := newRig(t, echo)
	r.withCritic(alwaysSay("No."))
	named := r.opts.Agents
	r.opts.Agents = func(id string) (channel.Agent, bool) { // whom a turn looks up when it starts
		r.wantAnswer("/stop", "Stopped.")
		return named(id)
	}
	r.reopen()
	r.say("@critic what do you think?", true)
	r.waitForReplies()
	check.Len(t, "answers", r.connector.texts(), 0)
}

// A request made while a conversation is being reopened waits until it is open again, and what it applies is visible then.
func TestRequestDuringSettingsEdit(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		var renewing atomic.Bool
		applied := make(chan struct{})
		r.agent.Policy = func() compactor.Policy {
			if renewing.CompareAndSwap(true, false) { // the conversation has been read from disk by now
				go func() {
					defer close(applied)
					answer := r.runAsManager("/compact")
					check.HasPrefix(t, "/compact", answer.Text, "Summarizing 16 messages") // without a request in between, it waits for ever
					r.finished(answer)
				}()
				select {
				case <-applied:
				case <-time.After(200 * time.Millisecond):
				}
			}
			return compactor.DefaultPolicy()
		}
		r.withWorker(numberedSummaries)
		r.sendNotes(20)
		renewing.Store(true)
		r.hub.Renew(access.Rules{})
		r.waitForReplies()
		<-applied
		beside := check.Must(channel.ReadContext(t.Context(), storetest.Find(t, r.store, place), r.agent))(t)
		r.wantAnswer("/context", fmt.Sprintf("of which %d verbatim", beside.Verbatim))
	})
}

func TestSettingsEditDoesNotStopRecap(t *testing.T) {
	r := newRig(t, echo)
	asked := make(chan struct{})
	goOn := make(chan struct{})
	r.withWorker(while(func(int) { close(asked); <-goOn }, alwaysSay("You talked about notes word by word.")))
	r.sendNotes(5)
	answer := r.runAs(ada, place, "/recap")
	recap := make(chan string)
	go func() { recap <- answer.Then(t.Context()).Text }()
	<-asked
	r.hub.Renew(access.Rules{})
	r.waitForReplies()
	close(goOn)
	check.Equal(t, "answer", <-recap, "You talked about notes word by word.")
}

func TestSettingsEdit(t *testing.T) {
	r := newRig(t, echo).withWindow(8000)
	r.ask("I like tea")
	r.agent.ID = "second"
	r.agent.Instructions = "You are a librarian."
	r.agent.Model = &llmtest.Model{Tokens: 16_000, Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		check.Contains(t, "system prompt", system(req), "librarian")
		check.Contains(t, "request", textOf(req), "I like tea", "what do I like")
		return llmtest.Say("tea, says the librarian"), nil
	}}
	r.hub.Renew(access.Rules{Access: map[string]access.Access{"test": {Deny: []string{"u9"}}}, Restricted: []string{}})
	check.Equal(t, "answer", r.ask("what do I like?"), "tea, says the librarian")
	r.wantAnswer("/context", "of 16000 tokens")
	check.Error(t, r.deliverTo(place, "let me in", func(m *channel.Inbound) { m.AuthorID = "u9" }), channel.ErrRefused)
	check.Lacks(t, "answer", r.runAs(bo, place, "/settings").Text, "manage")
}

func TestSettingsEditWaitsForRunningSummary(t *testing.T) {
	gate := make(chan script)
	r := newRig(t, echo)
	r.withWorker(gatedWorker(gate))
	r.sendNotes(20)
	r.run("/compact")
	r.agent.Model = &llmtest.Model{Func: alwaysSay("the second")}
	r.hub.Renew(access.Rules{})
	check.Equal(t, "answer", r.ask("who is there?"), "answer 1")
	gate <- numberedSummaries
	r.waitForEvent(compactor.EventApplied)
	check.NoError(t, r.hub.Drain(t.Context()))
	check.Equal(t, "answer after the summary", r.ask("and now?"), "the second")
}

// Deliver does not wait for the turn.
func TestBurstBecomesOneTurn(t *testing.T) {
	inBubble(t, after(5*time.Second, echo), func(t *testing.T, r *rig) {
		r.say("one", true)
		synctest.Wait()
		for i := range 5 {
			r.say(fmt.Sprint("more ", i), i != 2)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		check.EqualAll(t, "accepted during the first turn", slices.Sorted(slices.Values(r.connector.accepted)), []string{"m1=1", "m2=0", "m3=0", "m4=0", "m5=0", "m6=0"})
		r.waitForReplies()
		synctest.Wait()
		check.EqualAll(t, "accepted after it", r.connector.accepted[6:], []string{"m2=3", "m3=4", "m4=5", "m5=6", "m6=7"})
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1", "answer 2"})
		check.EqualAll(t, "transcript", r.transcript(), []string{
			"user: one", "assistant: answer 1", "user: more 0", "user: more 1", "user: more 2", "user: more 3", "user: more 4", "assistant: answer 2",
		})
		check.Equal(t, "id of the reply", r.connector.sent[1].Reply, "reply-8")
		check.EqualAll(t, "answered", r.connector.sent[1].To, []string{"m2", "m3", "m5", "m6"})
	})
}

func TestStop(t *testing.T) {
	r := newRig(t, alwaysSay("word "+strings.Repeat("word ", 1000)))
	r.model.Delay = 5 * time.Millisecond
	r.wantAnswer("/stop", "There is nothing to stop.")
	r.say("tell me everything", true)
	r.connector.until(t, "some words", func() bool { return len(r.connector.shown) > 2 })
	r.wantAnswer("/stop", "Stopped.")
	r.waitForReplies()
	stored := r.transcript()
	check.Len(t, "rows", stored, 2)
	check.That(t, strings.HasPrefix(stored[1], "assistant: word word") && len(stored[1]) < 4000,
		"got stored %d characters of the answer", len(stored[1]))
	r.model.Func = echo
	r.model.Delay = 0
	check.HasPrefix(t, "reply after /stop", r.ask("and now?"), "answer")
}

func TestIdleConversationIsEvictedAndReloaded(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) { // shorter than an idle time, exactly as long, and longer
		r.opts.Idle = 10 * time.Minute
		r.reopen()
		for i := range 12 {
			r.ask(fmt.Sprint("m", i))
			time.Sleep(time.Duration(i%4) * r.opts.Idle / 2)
		}
		check.Len(t, "rows", r.transcript(), 24)
	})
	inBubble(t, echo, func(t *testing.T, r *rig) { // not while its worker runs
		r.opts.Idle = time.Second
		r.withWorker(after(time.Minute, summarizeRequest))
		r.sendNotes(10)
		r.run("/compact")
		time.Sleep(2 * time.Minute)
		r.stop()
		check.Len(t, "applied summaries", r.eventsIn(compactor.EventApplied), 1)
	})
}

// splitting is a connector whose first calls of Split panic.
type splitting struct {
	*connector
	panicked chan time.Time
}

func (c *splitting) wrap(inner *connector) { c.connector = inner }

func (c *splitting) Split(text string) []string {
	select {
	case c.panicked <- time.Now():
		panic("split")
	default:
		return c.connector.Split(text)
	}
}

func TestConversationThatPanicsAgainWaitsLonger(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		c := &splitting{panicked: make(chan time.Time, 3)}
		r.throughConnector(c)
		r.say("this opens the conversation, which also starts its work", false)
		r.waitForReplies()
		r.say("hello", true)
		time.Sleep(time.Minute)
		first := <-c.panicked
		second := <-c.panicked
		third := <-c.panicked
		check.EqualAll(t, "pauses", []time.Duration{second.Sub(first), third.Sub(second)}, []time.Duration{5 * time.Second, 10 * time.Second})
		check.Contains(t, "sent after two attempts", r.lastText(), "I was interrupted repeatedly")
	})
}

func TestNoticeOutlastsUnreadableSettings(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		r.setFilePolicy(func(p *compactor.Policy) { p.Notify = compactor.NotifyMessage })
		r.agent.Worker = &llmtest.Model{Func: summarizeRequest}
		r.throughConnector(&silentConnector{})
		r.askTurns(10, 30)
		r.execute("ALTER TABLE overrides RENAME TO elsewhere")
		r.hub.Renew(access.Rules{})
		synctest.Wait()
		r.run("/compact")
		time.Sleep(time.Minute)
		r.execute("ALTER TABLE elsewhere RENAME TO overrides")
		time.Sleep(time.Minute)
		check.Contains(t, "sent", r.lastText(), "I summarized")
		buttons := channel.Buttons(r.connector.sent[len(r.connector.sent)-1])
		check.Len(t, "buttons", buttons, 2)
		check.Contains(t, buttons[0].Label, r.run(buttons[0].Line), "leaf")
		check.Contains(t, buttons[1].Label, r.run(buttons[1].Line), "Undone: the summary of messages")
	})
}
