package channel_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

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
	if len(some) > 0 {
		t.Errorf("%+v, %v", some, err)
	}
}

func TestDirectMessageGrantsNoOwnerRights(t *testing.T) {
	r := newRig(t, echo)
	// A connector reports everyone as a manager of their own direct messages.
	answer := r.runAs(channel.Person{ID: "stranger", Manager: true}, "test:@me/7", "/pause everywhere")
	r.ask("hello")
	if len(r.connector.texts()) == 0 {
		t.Errorf("a person without rights paused the bot everywhere: %s", answer)
	}
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
