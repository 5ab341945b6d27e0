package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/llm"
)

func TestTurnsPerMinute(t *testing.T) {
	t.Run("each person has their own, and one notice a minute", func(t *testing.T) {
		inBubble(t, echo, func(t *testing.T, r *rig) {
			r.withRules(channel.Rules{TurnsPerMinute: 2})
			ask := func(times int, who string) {
				for range times {
					r.post(by(who, "Ada", r.inbound("hello", true)))
				}
			}
			ask(5, "u1")
			check.Len(t, "sent", r.connector.sent, 3)
			check.That(t, r.connector.sent[2].Failure, "got %+v", r.connector.sent[2])
			check.Contains(t, "the notice", r.lastText(), "2 times a minute")
			ask(1, "u2")
			check.EqualAll(t, "sent to another person", r.connector.texts()[3:], []string{"answer 3"})
			time.Sleep(61 * time.Second)
			ask(1, "u1")
			check.EqualAll(t, "sent a minute later", r.connector.texts()[4:], []string{"answer 4"})
			check.Len(t, "transcript", r.transcript(), 7+4)
		})
	})
	t.Run("a notice is no turn", func(t *testing.T) {
		inBubble(t, echo, func(t *testing.T, r *rig) {
			r.withRules(channel.Rules{TurnsPerMinute: 1})
			for range 7 { // one every fifty seconds: every other one is within the limit
				r.ask("hello")
				time.Sleep(50 * time.Second)
			}
			check.That(t, len(r.model.Requests()) >= 3, "got %q in six minutes", r.connector.texts())
		})
	})
	t.Run("there is no notice while the bot is paused", func(t *testing.T) {
		r := newRig(t, echo).withRules(channel.Rules{TurnsPerMinute: 1})
		r.run("/pause")
		r.say("one", true)
		r.ask("two")
		r.ask("three")
		check.Len(t, "sent", r.connector.texts(), 0)
	})
	t.Run("who addresses the bot sees the notice, and others do not", func(t *testing.T) {
		rules := respondRules(channel.RespondAll)
		rules.TurnsPerMinute = 1
		r := newRig(t, echo).withRules(rules)
		r.overhear("talk")
		r.overhear("more talk") // over the limit, and not addressed to the bot
		r.ask("bot, help me")
		check.Len(t, "replies and notices", r.connector.texts(), 2)
	})
}

func TestRestrictedCommands(t *testing.T) {
	const refused = "for people who manage"
	r := newRig(t, echo).withRules(channel.Rules{Restricted: []string{"memories", "forget"}})
	check.Lacks(t, "answer to /compact", r.runAs(ada, place, "/compact").Text, refused)
	check.Contains(t, "answer", r.runAs(ada, place, "/memories").Text, refused)
	r.run("/remember the door code is 4711")
	check.Len(t, "suggestions", check.Must(r.hub.Suggest(t.Context(), place, channel.Person{ID: "stranger"}, "forget", ""))(t), 0)
	// A connector reports everyone as a manager of their own direct messages.
	r.runAs(channel.Person{ID: "stranger", Manager: true}, "test:@me/7", "/pause everywhere")
	r.ask("hello")
	check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
}

func TestPause(t *testing.T) {
	began := make(chan struct{}, 1)
	slow := false
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if slow {
			began <- struct{}{}
			return blockUntilCanceled(ctx, n, req)
		}
		return echo(ctx, n, req)
	})
	sent := func(when string, want ...string) {
		t.Helper()
		check.EqualAll(t, "sent "+when, r.connector.texts(), want)
	}
	r.agent.Worker = r.model
	r.reopen()
	r.run("/pause")
	r.ask("hello")
	r.restart()
	r.ask("still?")
	check.Len(t, "calls of the model while paused", r.model.Requests(), 0)
	r.tell("test:server/other", "hello", addressed)
	sent("in another channel", "answer 1")

	r.run("/resume")
	r.ask("now?")
	sent("after /resume", "answer 1", "answer 2")

	slow = true
	r.say("a long answer", true)
	<-began
	r.wantAnswer("/pause Everywhere", "I am paused everywhere") // phones write capitals
	r.waitForReplies()
	slow = false
	r.ask("and?")
	sent("after /pause everywhere", "answer 1", "answer 2")
	r.run("/pause")
	r.wantAnswer("/resume everywhere", "still paused here; /resume ends that")
	r.run("/pause everywhere")
	r.wantAnswer("/resume", "still paused everywhere; /resume everywhere ends that")
	r.wantAnswer("/resume everywhere", "answering again")
	r.ask("and now?")
	check.Len(t, "answers", r.connector.texts(), 3)
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
	for i := range 23 {
		r.run(fmt.Sprintf("/remember the garden has %d beds", i+100))
	}
	check.Len(t, "suggestions", r.suggest("forget", ""), 25)
	check.Len(t, "suggestions", r.suggest("context", ""), 0)
}

func TestDraftWaitsForUnsentReplies(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		r.model.Func = alwaysSay("answer in words")
		r.connector.delay = time.Hour // no reply gets out
		r.say("one", true)
		synctest.Wait()
		r.model.Func = blockUntilCanceled
		r.say("two", true)
		synctest.Wait()
		r.stop()
		r.model.Func = alwaysSay("another answer")
		r.connector.seen, r.connector.delay = nil, 0
		r.restart()
		r.waitForReplies()
		check.Equal(t, "first piece people see", r.connector.seen[0], "sent answer in words")
	})
}
