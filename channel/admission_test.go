package channel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// with restarts the hub with other rules.
func (r *rig) with(rules channel.Rules) *rig {
	r.t.Helper()
	r.stop()
	r.opts.Rules = rules
	r.start()
	return r
}

func responds(how channel.Respond) channel.Rules {
	return channel.Rules{Respond: func(string) channel.Respond { return how }}
}

// deliver sends a message, changed by edit, to a place.
func (r *rig) deliver(where, text string, edit func(*channel.Inbound)) error {
	r.t.Helper()
	m := r.inbound(text, false)
	if edit != nil {
		edit(&m)
	}
	_, err := r.hub.Deliver(r.t.Context(), where, m)
	return err
}

func addressed(m *channel.Inbound) { m.Addressed = true }

func (r *rig) settled(where string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	if err := r.hub.Idle(ctx, where); err != nil {
		r.t.Fatalf("%s does not settle: %v", where, err)
	}
}

func TestRespond(t *testing.T) {
	t.Run("never only listens, also where it is addressed", func(t *testing.T) {
		r := newRig(t, echo).with(responds(channel.RespondNever))
		r.say("hello", true)
		r.idle()
		expect(t, "how often the model was called", len(r.model.Requests()), 0)
		equal(t, "transcript", r.transcript(), []string{"user: hello"})
	})
	t.Run("all answers what nobody addressed to the bot", func(t *testing.T) {
		r := newRig(t, echo).with(responds(channel.RespondAll))
		r.say("it rains", false)
		r.idle()
		equal(t, "sent", r.connector.texts(), []string{"answer 1"})
		last := r.model.Requests()[0].Messages
		contains(t, "the model does not know that it may be silent", last[len(last)-1].Text, "NO_REPLY")
	})
	t.Run("all may stay silent, and nothing of it is shown, sent or stored", func(t *testing.T) {
		r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("NO_REPLY"), nil
		}).with(responds(channel.RespondAll))
		r.say("it rains", false)
		r.idle()
		r.say("it still rains", false)
		r.idle()
		equal(t, "sent", r.connector.texts(), nil)
		equal(t, "shown", r.connector.shown, nil)
		equal(t, "transcript", r.transcript(), []string{"user: it rains", "user: it still rains"})
		expect(t, "writers that were opened, and those canceled", r.connector.opened, r.connector.canceled)
		expect(t, "how often the model was called", len(r.model.Requests()), 2)
	})
	t.Run("who is addressed is not left without a word", func(t *testing.T) {
		r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("NO_REPLY"), nil
		}).with(responds(channel.RespondAll))
		r.say("are you there?", true)
		r.idle()
		if sent := r.connector.texts(); len(sent) != 1 || strings.Contains(sent[0], "NO_REPLY") || !r.connector.sent[0].Failure {
			t.Errorf("sent %q", sent)
		}
	})
	t.Run("a silent token beside words is left out", func(t *testing.T) {
		r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("Tea it is.\nNO_REPLY"), nil
		})
		r.say("tea?", true)
		r.idle()
		equal(t, "sent", r.connector.texts(), []string{"Tea it is."})
		if slices.ContainsFunc(r.connector.shown, func(s string) bool { return strings.Contains(s, "NO_") }) {
			t.Errorf("shown %q", r.connector.shown)
		}
		equal(t, "transcript", r.transcript(), []string{"user: tea?", "assistant: Tea it is."})
	})
}

func TestThreads(t *testing.T) {
	const thread = "test:server/general/7"
	inThread := func(m *channel.Inbound) { m.Thread = true }
	addressedInThread := func(m *channel.Inbound) { m.Thread, m.Addressed = true, true }
	r := newRig(t, echo)
	say := func(text string, edit func(*channel.Inbound)) {
		t.Helper()
		noError(t, r.deliver(thread, text, edit))
		r.settled(thread)
	}
	say("before", inThread)
	equal(t, "sent before it was addressed", r.connector.texts(), nil)
	say("hello bot", addressedInThread)
	say("and more", inThread)
	equal(t, "sent once it was addressed", r.connector.texts(), []string{"answer 1", "answer 2"})
	r.restart()
	say("after a restart", inThread)
	equal(t, "sent after a restart", r.connector.texts(), []string{"answer 1", "answer 2", "answer 3"})
	if _, _, err := r.hub.Run(t.Context(), thread, channel.Person{ID: "u1"}, "/stop"); err != nil {
		t.Fatal(err)
	}
	say("after /stop", inThread)
	equal(t, "sent after /stop", r.connector.texts(), []string{"answer 1", "answer 2", "answer 3"})
	say("bot?", addressedInThread)
	say("go on", inThread)
	equal(t, "sent when addressed again", r.connector.texts(), []string{"answer 1", "answer 2", "answer 3", "answer 4", "answer 5"})
}

func TestAccess(t *testing.T) {
	by := func(id string) func(*channel.Inbound) {
		return func(m *channel.Inbound) { m.AuthorID, m.Addressed = id, true }
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
			r := newRig(t, echo).with(channel.Rules{Access: map[string]channel.Access{"test": c.access}})
			err := r.deliver(c.where, "hello", by(c.by))
			_, _, run := r.hub.Run(t.Context(), c.where, channel.Person{ID: c.by}, "/help")
			if heard := err == nil; heard != c.heard || !heard && !errors.Is(err, channel.ErrRefused) {
				t.Errorf("the message: %v", err)
			}
			if heard := run == nil; heard != c.heard || !heard && !errors.Is(run, channel.ErrRefused) {
				t.Errorf("the command: %v", run)
			}
			_, err = r.store.Find(t.Context(), c.where)
			if stored := err == nil; stored != c.heard || !stored && !errors.Is(err, memory.ErrNotFound) {
				t.Errorf("stored: %v", err)
			}
		})
	}
	t.Run("who is refused in a direct message is told so once", func(t *testing.T) {
		r := newRig(t, echo).with(channel.Rules{Access: map[string]channel.Access{"test": {Allow: []string{"u2"}}}})
		for range 3 {
			if err := r.deliver("test:@me/d1", "hello", by("u1")); !errors.Is(err, channel.ErrRefused) {
				t.Fatal(err)
			}
		}
		if err := r.deliver("test:s1/c1", "hello", by("u3")); !errors.Is(err, channel.ErrRefused) {
			t.Fatal(err)
		}
		r.connector.until(t, "the hint", func() bool { return len(r.connector.sent) > 0 })
		r.stop()
		if sent := r.connector.texts(); len(sent) != 1 || !strings.Contains(sent[0], "not set up") {
			t.Errorf("sent %q", sent)
		}
	})
}

func TestOtherPrograms(t *testing.T) {
	bot := func(id string) func(*channel.Inbound) {
		return func(m *channel.Inbound) { m.AuthorID, m.Bot, m.Addressed = id, true, true }
	}
	t.Run("are not heard", func(t *testing.T) {
		r := newRig(t, echo)
		if err := r.deliver(place, "hello", bot("b1")); !errors.Is(err, channel.ErrRefused) {
			t.Fatal(err)
		}
	})
	t.Run("two of them end some time", func(t *testing.T) {
		r := newRig(t, echo).with(channel.Rules{Access: map[string]channel.Access{"test": {Bots: []string{"b1"}}}})
		for range 10 {
			noError(t, r.deliver(place, "ping", bot("b1")))
			r.idle()
		}
		expect(t, "answers to a program in a row", len(r.connector.texts()), 3)
		r.say("hello", false) // a person
		noError(t, r.deliver(place, "ping", bot("b1")))
		r.idle()
		expect(t, "answers after a person spoke", len(r.connector.texts()), 4)
	})
	t.Run("are not answered unasked where everything is", func(t *testing.T) {
		rules := responds(channel.RespondAll)
		rules.Access = map[string]channel.Access{"test": {Bots: []string{"b1"}}}
		r := newRig(t, echo).with(rules)
		noError(t, r.deliver(place, "news", func(m *channel.Inbound) { m.AuthorID, m.Bot = "b1", true }))
		r.idle()
		equal(t, "sent", r.connector.texts(), nil)
	})
}

func TestTurnsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo).with(channel.Rules{TurnsPerMinute: 2})
		ask := func(who string) {
			t.Helper()
			noError(t, r.deliver(place, "hello", func(m *channel.Inbound) { m.AuthorID, m.Addressed = who, true }))
			r.idle()
		}
		for range 5 {
			ask("u1")
		}
		sent := r.connector.texts()
		if len(sent) != 3 || !strings.Contains(sent[2], "2 times a minute") || !r.connector.sent[2].Failure {
			t.Fatalf("sent %q", sent)
		}
		ask("u2")
		if sent := r.connector.texts(); len(sent) != 4 || sent[3] != "answer 3" {
			t.Errorf("somebody else was not answered: %q", sent)
		}
		time.Sleep(61 * time.Second)
		ask("u1")
		if sent := r.connector.texts(); len(sent) != 5 || sent[4] != "answer 4" {
			t.Errorf("after a minute: %q", sent)
		}
		if n := len(r.transcript()); n != 7+4 {
			t.Errorf("%d rows in the transcript; what was put off must be kept: %q", n, r.transcript())
		}
		r.stop()
	})
}

func TestRestrictedCommands(t *testing.T) {
	run := func(r *rig, who channel.Person, line string) string {
		r.t.Helper()
		answer, handled, err := r.hub.Run(r.t.Context(), place, who, line)
		if err != nil || !handled {
			r.t.Fatalf("%s: %v, %v", line, handled, err)
		}
		return answer.String()
	}
	access := map[string]channel.Access{"test": {Owners: []string{"boss"}, Managers: []string{"role7", "deputy"}}}
	refused := "for those who manage"
	for _, c := range []struct {
		claim string
		who   channel.Person
		may   bool
	}{
		{"anybody may not", channel.Person{ID: "u1", Roles: []string{"role1"}}, false},
		{"an owner may", channel.Person{ID: "boss"}, true},
		{"a manager may", channel.Person{ID: "deputy"}, true},
		{"who has a manager's role may", channel.Person{ID: "u1", Roles: []string{"role7"}}, true},
		{"whom the platform trusts may", channel.Person{ID: "u1", Manager: true}, true},
	} {
		t.Run(c.claim, func(t *testing.T) {
			r := newRig(t, echo).with(channel.Rules{Access: access})
			for _, line := range []string{"/compact", "/undo", "/new", "/pin", "/unpin 1", "/pause", "/resume"} {
				if got := run(r, c.who, line); strings.Contains(got, refused) == c.may {
					t.Errorf("%s: %s", line, got)
				}
			}
			if got := run(r, c.who, "/context"); strings.Contains(got, refused) {
				t.Errorf("/context: %s", got)
			}
		})
	}
	t.Run("the settings say which", func(t *testing.T) {
		r := newRig(t, echo).with(channel.Rules{Restricted: []string{"memories"}})
		if got := run(r, channel.Person{ID: "u1"}, "/compact"); strings.Contains(got, refused) {
			t.Error(got)
		}
		contains(t, "the result", run(r, channel.Person{ID: "u1"}, "/memories"), refused)
	})
	t.Run("only an owner pauses everything", func(t *testing.T) {
		r := newRig(t, echo).with(channel.Rules{Access: access})
		contains(t, "the result", run(r, channel.Person{ID: "deputy"}, "/pause everywhere"), "owners")
		contains(t, "the result", run(r, channel.Person{ID: "boss"}, "/pause everywhere"), "silent everywhere")
	})
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
	r.stop()
	r.start()
	r.run("/pause")
	r.say("hello", true)
	r.idle()
	if n := len(r.model.Requests()); n != 0 || len(r.connector.texts()) != 0 {
		t.Fatalf("%d calls of the model while paused", n)
	}
	r.restart()
	r.say("still?", true)
	r.idle()
	if n := len(r.model.Requests()); n != 0 {
		t.Fatalf("%d calls of the model after a restart", n)
	}
	noError(t, r.deliver("test:server/other", "hello", addressed))
	r.settled("test:server/other")
	equal(t, "sent elsewhere", r.connector.texts(), []string{"answer 1"})

	r.run("/resume")
	r.say("now?", true)
	r.idle()
	equal(t, "sent after /resume", r.connector.texts(), []string{"answer 1", "answer 2"})

	slow = true
	r.say("a long answer", true)
	<-began
	contains(t, "the result", r.run("/pause everywhere"), "everywhere")
	r.idle()
	slow = false
	r.say("and?", true)
	r.idle()
	equal(t, "sent after /pause everywhere", r.connector.texts(), []string{"answer 1", "answer 2"})
	contains(t, "the result", r.run("/resume"), "still paused everywhere")
	r.run("/resume everywhere")
	r.say("and now?", true)
	r.idle()
	expect(t, "answers", len(r.connector.texts()), 3)
}

func TestSuggestions(t *testing.T) {
	r := newRig(t, echo)
	for i := range 30 {
		r.run(fmt.Sprintf("/remember the garden has %d beds", i+100))
	}
	all, err := r.hub.Suggest(t.Context(), place, channel.Person{ID: "u1", Manager: true}, "forget", "")
	if err != nil || len(all) != 25 {
		t.Fatalf("%d, %v", len(all), err)
	}
	some, err := r.hub.Suggest(t.Context(), place, channel.Person{ID: "u1", Manager: true}, "forget", "12")
	if err != nil || len(some) != 1 || some[0].Value != "12" || !strings.Contains(some[0].Label, "111 beds") {
		t.Errorf("%+v, %v", some, err)
	}
	none, err := r.hub.Suggest(t.Context(), place, channel.Person{ID: "u1"}, "context", "")
	if err != nil || len(none) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
}

// Someone who is still typing has not finished the last word.
func TestSuggestionsCompleteWords(t *testing.T) {
	r := newRig(t, echo)
	for _, text := range []string{"the hotel in Bergen is booked", "Café Müller opens at nine", "the train to Berlin leaves at ten"} {
		r.run("/remember " + text)
	}
	for typed, want := range map[string]string{
		"ho": "1", "hot": "1", "hotel": "1", "hotels": "1", "HOTEL ber": "1", "ber": "3 1", "caf": "2", "mül op": "2", "mul": "2", "xyzzy": "", "100%": "", "o_": "", "": "3 2 1",
	} {
		choices, err := r.hub.Suggest(t.Context(), place, channel.Person{ID: "u1", Manager: true}, "forget", typed)
		var numbers []string
		for _, c := range choices {
			numbers = append(numbers, c.Value)
		}
		if got := strings.Join(numbers, " "); err != nil || got != want {
			t.Errorf("%q offers %q, want %q (%v)", typed, got, want, err)
		}
	}
}

func TestPages(t *testing.T) {
	a := channel.Answer{Text: "above"}
	if a.Pages() != 1 || a.Page(0) != "above" || a.Page(7) != "above" {
		t.Errorf("%d pages, %q", a.Pages(), a.Page(0))
	}
	for i := range 21 {
		a.Items = append(a.Items, fmt.Sprint("item ", i))
	}
	if a.Pages() != 3 || !strings.Contains(a.Page(2), "item 20\n(page 3 of 3)") || strings.Contains(a.Page(2), "item 19") || a.Page(-1) != a.Page(0) {
		t.Errorf("%d pages, the last is %q", a.Pages(), a.Page(2))
	}
}

func TestAReplyThatCanNeverBeSentIsDropped(t *testing.T) {
	r := newRig(t, echo)
	r.connector.note(func() { r.connector.gone = 1 })
	want := []string{"I could not send an answer here: this platform refuses it. It is kept in my history; ask again, perhaps in other words.", "answer 2"}
	r.say("one", true)
	r.idle()
	r.say("two", true)
	r.idle()
	equal(t, "sent", r.connector.texts(), want)
	r.restart()
	r.idle()
	equal(t, "sent after a restart", r.connector.texts(), want)
}
