package channel_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestTurnsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo).withRules(channel.Rules{TurnsPerMinute: 2})
		ask := func(who string) {
			t.Helper()
			check.NoError(t, r.deliverTo(place, "hello", func(m *channel.Inbound) { m.AuthorID, m.Addressed = who, true }))
			r.waitForReplies()
		}
		for range 5 {
			ask("u1")
		}
		sent := r.connector.texts()
		if len(sent) != 3 || !strings.Contains(sent[2], "2 times a minute") || !r.connector.sent[2].Failure {
			t.Fatalf("got sent %q", sent)
		}
		ask("u2")
		if sent := r.connector.texts(); len(sent) != 4 || sent[3] != "answer 3" {
			t.Errorf("got no reply to another person: %q", sent)
		}
		time.Sleep(61 * time.Second)
		ask("u1")
		if sent := r.connector.texts(); len(sent) != 5 || sent[4] != "answer 4" {
			t.Errorf("after a minute: got replies %q", sent)
		}
		if n := len(r.transcript()); n != 7+4 {
			t.Errorf("got %d rows in the transcript: %q", n, r.transcript())
		}
		r.stop()
	})
}

func TestRestrictedCommands(t *testing.T) {
	const refused = "for people who manage"
	r := newRig(t, echo).withRules(channel.Rules{Restricted: []string{"memories"}})
	check.Lacks(t, "answer to /compact", r.runAs(ada, place, "/compact").Text, refused)
	check.Contains(t, "answer", r.runAs(ada, place, "/memories").Text, refused)
}

func TestPause(t *testing.T) {
	began := make(chan struct{}, 1)
	slow := false
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if slow {
			began <- struct{}{}
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		}
		return echo(ctx, n, req)
	})
	r.agent.Worker = r.model
	r.reopen()
	r.run("/pause")
	r.ask("hello")
	if n := len(r.model.Requests()); n != 0 || len(r.connector.texts()) != 0 {
		t.Fatalf("%d calls of the model while paused", n)
	}
	r.restart()
	r.ask("still?")
	if n := len(r.model.Requests()); n != 0 {
		t.Fatalf("%d calls of the model after a restart", n)
	}
	check.NoError(t, r.deliverTo("test:server/other", "hello", addressed))
	r.waitIdle("test:server/other")
	check.EqualAll(t, "sent in another channel", r.connector.texts(), []string{"answer 1"})

	r.run("/resume")
	r.ask("now?")
	check.EqualAll(t, "sent after /resume", r.connector.texts(), []string{"answer 1", "answer 2"})

	slow = true
	r.say("a long answer", true)
	<-began
	check.Contains(t, "answer", r.run("/pause Everywhere"), "I am paused everywhere") // phones write capitals
	r.waitForReplies()
	slow = false
	r.ask("and?")
	check.EqualAll(t, "sent after /pause everywhere", r.connector.texts(), []string{"answer 1", "answer 2"})
	r.run("/pause")
	check.Contains(t, "answer to /resume everywhere", r.run("/resume everywhere"), "still paused here; /resume ends that")
	r.run("/pause everywhere")
	check.Contains(t, "answer to /resume", r.run("/resume"), "still paused everywhere; /resume everywhere ends that")
	check.Contains(t, "answer to the last /resume", r.run("/resume everywhere"), "answering again")
	r.ask("and now?")
	check.Equal(t, "answers", len(r.connector.texts()), 3)
}

// Someone who is still typing has not finished the last word.
func TestSuggestions(t *testing.T) {
	r := newRig(t, echo)
	for _, text := range []string{"the hotel in Bergen is booked", "Café Müller opens at nine", "the train to Berlin leaves at ten"} {
		r.run("/remember " + text)
	}
	for typed, want := range map[string]string{
		"ho": "1", "hot": "1", "hotel": "1", "hotels": "", "HOTEL ber": "1", "ber": "3 1", "caf": "2", "mül op": "2", "mul": "2", "xyzzy": "", "100%": "", "o_": "", "": "3 2 1",
	} {
		var numbers []string
		for _, c := range r.suggest("forget", typed) {
			numbers = append(numbers, c.Value)
		}
		check.Equal(t, fmt.Sprintf("suggestions for %q", typed), strings.Join(numbers, " "), want)
	}
	for i := range 30 {
		r.run(fmt.Sprintf("/remember the garden has %d beds", i+100))
	}
	check.Len(t, "suggestions", r.suggest("forget", ""), 25)
	check.Len(t, "suggestions", r.suggest("context", ""), 0)
}

func TestPages(t *testing.T) {
	a := channel.Answer{Text: "above"}
	check.Equal(t, "pages", a.Pages(), 1)
	check.Equal(t, "pages", a.Page(0), "above")
	check.Equal(t, "page 7", a.Page(7), "above")
	for i := range 21 {
		a.Items = append(a.Items, fmt.Sprint("item ", i))
	}
	if a.Pages() != 3 || !strings.Contains(a.Page(2), "item 20\n(page 3 of 3)") || strings.Contains(a.Page(2), "item 19") || a.Page(-1) != a.Page(0) {
		t.Errorf("got %d pages, the last is %q", a.Pages(), a.Page(2))
	}
}

func TestRateLimitIsSilentWhilePaused(t *testing.T) {
	r := newRig(t, echo).withRules(channel.Rules{TurnsPerMinute: 1})
	r.run("/pause")
	r.say("one", true)
	r.ask("two")
	r.ask("three")
	check.Equal(t, "answers while paused", len(r.connector.texts()), 0)
}

func TestRateLimitNoticeIsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo).withRules(channel.Rules{TurnsPerMinute: 1})
		for range 7 { // one every fifty seconds: every other one is within the limit
			r.ask("hello")
			time.Sleep(50 * time.Second)
		}
		answers := 0
		for _, text := range r.connector.texts() {
			if strings.HasPrefix(text, "answer") {
				answers++
			}
		}
		if answers < 3 {
			t.Errorf("got %d replies in six minutes, want at most one a minute: %q", answers, r.connector.texts())
		}
		r.stop()
	})
}

func TestAddressedPersonSeesRateLimit(t *testing.T) {
	rules := respondRules(channel.RespondAll)
	rules.TurnsPerMinute = 1
	r := newRig(t, echo).withRules(rules)
	r.overhear("talk")
	r.overhear("more talk") // over the limit, and not addressed to the bot
	r.ask("bot, help me")
	check.Equal(t, "replies and notices", len(r.connector.texts()), 2)
}

func TestSuggestionsOfARestrictedCommand(t *testing.T) {
	r := newRig(t, echo).withRules(channel.Rules{Restricted: []string{"memories", "forget"}})
	r.run("/remember the door code is 4711")
	some, err := r.hub.Suggest(t.Context(), place, channel.Person{ID: "stranger"}, "forget", "")
	check.That(t, len(some) == 0, "%+v, %v", some, err)
}

func TestDirectMessageGrantsNoOwnerRights(t *testing.T) {
	r := newRig(t, echo)
	// A connector reports everyone as a manager of their own direct messages.
	answer := r.runAs(channel.Person{ID: "stranger", Manager: true}, "test:@me/7", "/pause everywhere")
	r.ask("hello")
	check.That(t, len(r.connector.texts()) != 0, "a person without rights paused the bot everywhere: %s", answer)
}

func TestRedeliveredBotMessageCountsOnce(t *testing.T) {
	r := newRig(t, echo).withRules(channel.Rules{Access: map[string]channel.Access{"test": {Bots: []string{"b1"}}}})
	m := channel.Inbound{ID: "1", AuthorID: "b1", Author: "Bot", Text: "hello", Time: time.Now(), Addressed: true, Bot: true}
	for range 4 { // Slack delivers it again
		r.deliverMessage(m)
	}
	r.waitForReplies()
	m.ID = "2"
	r.post(m)
	check.Equal(t, "replies to two messages", len(r.connector.texts()), 2)
}

// letterByLetter answers NO_REPLY letter by letter.
type letterByLetter struct{ *llmtest.Model }

func (letterByLetter) Generate(_ context.Context, _ llm.Request, show func(string)) (llm.Response, error) {
	for _, letter := range "NO_REPLY" {
		show(string(letter))
	}
	return llmtest.Say("NO_REPLY"), nil
}

func TestUnaskedFailureIsReportedOnce(t *testing.T) {
	r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindAuth, Status: 401, Message: "no"}
	}).withRules(respondRules(channel.RespondAll))
	r.overhear("talk among people")
	r.overhear("more talk")
	if n := len(r.connector.texts()); n != 1 {
		t.Errorf("got %d notices, want 1: %q", n, r.connector.texts())
	}
}

func TestDraftWaitsForUnsentReplies(t *testing.T) {
	var block atomic.Bool
	began := make(chan struct{}, 4)
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if block.Load() {
			began <- struct{}{}
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		}
		return llmtest.Say(fmt.Sprintf("answer %d in words", n)), nil
	})
	r.connector.delay = time.Hour // no reply gets out
	r.say("one", true)
	r.connector.until(t, "the first turn", func() bool { return r.connector.countTaken() == 1 })
	r.becomesIdle(200 * time.Millisecond)
	block.Store(true)
	r.say("two", true)
	<-began
	r.stop()
	block.Store(false)
	r.connector.note(func() { r.connector.seen, r.connector.delay = nil, 0 })
	r.restart()
	r.waitForReplies()
	check.Equal(t, "first piece people see", r.connector.seen[0], "sent answer 1 in words")
}
