package channel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/internal/storetest"
	"cairn/llm"
)

// withRules restarts the hub with other rules.
func (r *rig) withRules(rules channel.Rules) *rig {
	r.t.Helper()
	r.opts.Rules = rules
	r.reopen()
	return r
}

func respondRules(how channel.Respond) channel.Rules {
	return channel.Rules{Respond: func(string) channel.Respond { return how }}
}

// deliverTo sends a message, changed by edit, to a place.
func (r *rig) deliverTo(where, text string, edit func(*channel.Inbound)) error {
	r.t.Helper()
	m := r.inbound(text, false)
	if edit != nil {
		edit(&m)
	}
	_, err := r.hub.Deliver(r.t.Context(), where, m)
	return err
}

// tell sends a message to a place, as deliverTo does, and waits for what follows.
func (r *rig) tell(where, text string, edit func(*channel.Inbound)) {
	r.t.Helper()
	check.NoError(r.t, r.deliverTo(where, text, edit))
	r.waitIdle(where)
}

func addressed(m *channel.Inbound) { m.Addressed = true }

func (r *rig) waitIdle(where string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	if err := r.hub.Idle(ctx, where); err != nil {
		r.t.Fatalf("%s does not settle: %v", where, err)
	}
}

func TestRespond(t *testing.T) {
	t.Run("never: the bot stores messages, and answers none", func(t *testing.T) {
		r := newRig(t, echo).withRules(respondRules(channel.RespondNever))
		r.ask("hello")
		check.Equal(t, "model calls", len(r.model.Requests()), 0)
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: hello"})
	})
	t.Run("all: the bot answers messages not addressed to it", func(t *testing.T) {
		r := newRig(t, echo).withRules(respondRules(channel.RespondAll))
		r.overhear("it rains")
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
		last := r.model.Requests()[0].Messages
		check.Contains(t, "turn context", last[len(last)-1].Text, "NO_REPLY")
	})
	t.Run("all: NO_REPLY is not shown, sent or stored", func(t *testing.T) {
		r := newRig(t, nil)
		r.agent.Model = letterByLetter{r.model}
		r.withRules(respondRules(channel.RespondAll))
		r.overhear("it rains")
		r.overhear("it still rains")
		check.EqualAll(t, "sent", r.connector.texts(), nil)
		check.EqualAll(t, "shown", r.connector.shown, nil)
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: it rains", "user: it still rains"})
		check.Equal(t, "opened writers", r.connector.opened, 2)
		check.Equal(t, "canceled writers", r.connector.canceled, 2)
	})
	t.Run("NO_REPLY to an addressed message is reported as a failure", func(t *testing.T) {
		r := newRig(t, alwaysSay("NO_REPLY")).withRules(respondRules(channel.RespondAll))
		r.ask("are you there?")
		if sent := r.connector.texts(); len(sent) != 1 || strings.Contains(sent[0], "NO_REPLY") || !r.connector.sent[0].Failure {
			t.Errorf("got sent %q", sent)
		}
	})
	t.Run("NO_REPLY beside text is removed", func(t *testing.T) {
		r := newRig(t, alwaysSay("Tea it is.\nNO_REPLY"))
		r.ask("tea?")
		check.EqualAll(t, "sent", r.connector.texts(), []string{"Tea it is."})
		if slices.ContainsFunc(r.connector.shown, func(s string) bool { return strings.Contains(s, "NO_") }) {
			t.Errorf("got shown %q", r.connector.shown)
		}
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: tea?", "assistant: Tea it is."})
	})
}

func TestThreads(t *testing.T) {
	const thread = "test:server/general/7"
	inThread := func(m *channel.Inbound) { m.Thread = true }
	addressedInThread := func(m *channel.Inbound) { m.Thread, m.Addressed = true, true }
	r := newRig(t, echo)
	say := func(text string, edit func(*channel.Inbound)) {
		t.Helper()
		r.tell(thread, text, edit)
	}
	say("before", inThread)
	check.EqualAll(t, "sent before a mention", r.connector.texts(), nil)
	say("hello bot", addressedInThread)
	say("and more", inThread)
	check.EqualAll(t, "sent after a mention", r.connector.texts(), []string{"answer 1", "answer 2"})
	r.restart()
	say("after a restart", inThread)
	check.EqualAll(t, "sent after a restart", r.connector.texts(), []string{"answer 1", "answer 2", "answer 3"})
	r.runAs(channel.Person{ID: "u1"}, thread, "/stop")
	say("after /stop", inThread)
	check.EqualAll(t, "sent after /stop", r.connector.texts(), []string{"answer 1", "answer 2", "answer 3"})
	say("bot?", addressedInThread)
	say("go on", inThread)
	check.EqualAll(t, "sent when addressed again", r.connector.texts(), []string{"answer 1", "answer 2", "answer 3", "answer 4", "answer 5"})
}

func TestStopInThreadEndsWhatWaitsThere(t *testing.T) {
	const thread = "test:server/general/7"
	begun := make(chan struct{})
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n > 1 {
			return echo(ctx, n, req)
		}
		close(begun)
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	})
	for _, addressed := range []bool{true, false, false} {
		m := r.inbound("hello", addressed)
		m.Thread = true
		check.Must(r.hub.Deliver(t.Context(), thread, m))(t)
		if addressed {
			<-begun
		}
	}
	r.runAs(channel.Person{ID: "u1"}, thread, "/stop")
	check.NoError(t, r.hub.Idle(t.Context(), thread))
	check.Len(t, "requests", r.model.Requests(), 1)
}

func TestAccess(t *testing.T) {
	by := func(id string) func(*channel.Inbound) {
		return func(m *channel.Inbound) { m.AuthorID, m.Addressed = id, true }
	}
	r := newRig(t, echo)
	rows := func() int {
		return storetest.Number(t, r.store, "SELECT (SELECT count(*) FROM messages WHERE role = 'user') + (SELECT count(*) FROM inbox)")
	}
	for _, c := range []struct {
		claim  string
		access channel.Access
		where  string
		by     string
		heard  bool
	}{
		{"without lists everybody is heard", channel.Access{}, "test:s1/c1", "u1", true},
		{"who is denied is not", channel.Access{Deny: []string{"u1"}}, "test:s1/c1", "u1", false},
		{"others are", channel.Access{Deny: []string{"u1"}}, "test:s1/c1", "u2", true},
		{"nobody is in a denied channel", channel.Access{Deny: []string{"c1"}}, "test:s1/c1", "u1", false},
		{"nor in its threads", channel.Access{Deny: []string{"c1"}}, "test:s1/c1/t1", "u1", false},
		{"an allowed person is", channel.Access{Allow: []string{"u1"}}, "test:s1/c1", "u1", true},
		{"others are not then", channel.Access{Allow: []string{"u1"}}, "test:s1/c1", "u2", false},
		{"an allowed server lets its people in", channel.Access{Allow: []string{"s1"}}, "test:s1/c1", "u2", true},
		{"denied goes before allowed", channel.Access{Allow: []string{"s1"}, Deny: []string{"u2"}}, "test:s1/c1", "u2", false},
		{"owners need not be allowed", channel.Access{Allow: []string{"s2"}, Owners: []string{"u1"}}, "test:s1/c1", "u1", true},
		{"a name that only begins like one on the list is not on it", channel.Access{Allow: []string{"u1"}}, "test:s1/c1", "u11", false},
	} {
		t.Run(c.claim, func(t *testing.T) {
			r.hub.Renew(channel.Rules{Access: map[string]channel.Access{"test": c.access}})
			before := rows()
			err := r.deliverTo(c.where, "hello", by(c.by))
			_, _, run := r.hub.Run(t.Context(), c.where, channel.Person{ID: c.by}, "/help")
			for what, err := range map[string]error{"the message": err, "the command": run} {
				if heard := err == nil; heard != c.heard || !heard && !errors.Is(err, channel.ErrRefused) {
					t.Errorf("%s: %v", what, err)
				}
			}
			r.waitIdle(c.where)
			check.Equal(t, "stored", rows()-before == 1, c.heard)
		})
	}
	t.Run("a person refused in a direct message gets one notice", func(t *testing.T) {
		r := newRig(t, echo).withRules(channel.Rules{Access: map[string]channel.Access{"test": {Allow: []string{"u2"}}}})
		for range 3 {
			if err := r.deliverTo("test:@me/d1", "hello", by("u1")); !errors.Is(err, channel.ErrRefused) {
				t.Fatal(err)
			}
		}
		if err := r.deliverTo("test:s1/c1", "hello", by("u3")); !errors.Is(err, channel.ErrRefused) {
			t.Fatal(err)
		}
		r.connector.until(t, "the hint", func() bool { return len(r.connector.sent) > 0 })
		r.stop()
		sent := r.connector.texts()
		check.Len(t, "sent", sent, 1)
		check.Contains(t, "first piece sent", sent[0], "not set up")
	})
}

func TestOtherPrograms(t *testing.T) {
	bot := func(id string) func(*channel.Inbound) {
		return func(m *channel.Inbound) { m.AuthorID, m.Bot, m.Addressed = id, true, true }
	}
	t.Run("messages of bots are refused", func(t *testing.T) {
		r := newRig(t, echo)
		if err := r.deliverTo(place, "hello", bot("b1")); !errors.Is(err, channel.ErrRefused) {
			t.Fatal(err)
		}
	})
	t.Run("at most three answers in a row go to a bot", func(t *testing.T) {
		r := newRig(t, echo).withRules(channel.Rules{Access: map[string]channel.Access{"test": {Bots: []string{"b1"}}}})
		for range 10 {
			r.tell(place, "ping", bot("b1"))
		}
		check.Equal(t, "answers to a program in a row", len(r.connector.texts()), 3)
		r.say("hello", false) // a person
		r.tell(place, "ping", bot("b1"))
		check.Equal(t, "answers after a person spoke", len(r.connector.texts()), 4)
	})
	t.Run("unaddressed messages of bots are not answered", func(t *testing.T) {
		rules := respondRules(channel.RespondAll)
		rules.Access = map[string]channel.Access{"test": {Bots: []string{"b1"}}}
		r := newRig(t, echo).withRules(rules)
		r.tell(place, "news", func(m *channel.Inbound) { m.AuthorID, m.Bot = "b1", true })
		check.EqualAll(t, "sent", r.connector.texts(), nil)
	})
}

func TestRejectedReplyIsDropped(t *testing.T) {
	r := newRig(t, echo)
	r.connector.note(func() { r.connector.permanentFailures = 1 })
	want := []string{"I could not send an answer here, or a part of it: the platform rejected it. It is kept in my history; ask again, perhaps in other words.", "answer 2"}
	r.ask("one")
	r.ask("two")
	check.EqualAll(t, "sent", r.connector.texts(), want)
	r.restart()
	r.waitForReplies()
	check.EqualAll(t, "sent after a restart", r.connector.texts(), want)
}
