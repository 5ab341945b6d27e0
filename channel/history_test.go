package channel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/privacy"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

func pageOf(last string, said ...channel.Inbound) channel.Page {
	return channel.Page{Messages: said, Last: last}
}

// Whatever a history returns, the message after the gap is answered.
func TestFaultyHistory(t *testing.T) {
	stalls := func(look channel.Look) (channel.Page, error) { // always more, from the same message
		return channel.Page{Last: look.After, More: look.Before == ""}, nil
	}
	withoutID := func(channel.Look) (channel.Page, error) {
		return pageOf("", pastMessage("", "no id", time.Minute, false)), nil
	}
	for name, history := range map[string]func(channel.Look) (channel.Page, error){"it stalls": stalls, "a message without an id": withoutID} {
		r := newRig(t, echo).throughConnector(&platform{history: history})
		r.post(pastMessage("1", "one", time.Minute, false))
		r.away()
		r.deliverMessage(pastMessage("2", "two", 0, true))
		_ = r.idle(place, 3*time.Second)
		check.Len(t, name+": answers", r.connector.texts(), 1)
	}
	// A history that panics is one warning.
	r := newRig(t, echo).throughConnector(&platform{history: func(channel.Look) (channel.Page, error) { panic("history") }})
	log := r.captureLog()
	for range 3 {
		r.ask("hello")
	}
	check.Len(t, "answers", r.connector.texts(), 3)
	check.Equal(t, "warnings", log.lines(slog.LevelWarn, "read_earlier_history_failed"), 1)
}

func TestHistoryBeforeFirstMentionIsContext(t *testing.T) {
	p := &platform{}
	for i := range 150 {
		p.messages = append(p.messages, pastMessage(fmt.Sprint(100+i), fmt.Sprint("earlier ", i), time.Hour, i%2 == 0))
		p.messages[i].Thread = true // which the bot follows from the question on
	}
	p.messages = append(p.messages, pastMessage("400", "what were we saying?", 0, true))
	p.messages[150].Thread = true
	r := newRig(t, echo).throughConnector(p)
	r.post(p.messages[149]) // overheard earlier
	check.Len(t, "history requests", p.requests, 0)
	r.post(p.messages[150])
	r.post(pastMessage("500", "and?", 0, true))
	lines := r.transcript()
	check.Len(t, "rows", lines, 100+4)
	check.EqualAll(t, "rows", []string{lines[0], lines[1], lines[99], lines[100]},
		[]string{"user: earlier 149", "user: earlier 50", "user: earlier 148", "user: what were we saying?"})
	check.Equal(t, "answered, sent", fmt.Sprint(r.connector.sent[0].To, r.connector.texts()), "[400] [answer 1 answer 2]")
	check.EqualAll(t, "requests", p.requests, []string{"after  before 400"})
}

func TestBackfilledMessageIsDeliveredAgain(t *testing.T) {
	early := pastMessage("1", "bot, what is up?", time.Second, true)
	r := newRig(t, echo).throughConnector(&platform{history: func(channel.Look) (channel.Page, error) { return pageOf("", early), nil }})
	r.post(pastMessage("2", "bot, hello", 0, true)) // it overtook the first: events may be redelivered in any order
	r.post(early)
	check.EqualAll(t, "answered", r.connector.sent[0].To, []string{"1", "2"})
	check.EqualAll(t, "transcript", r.transcript()[:2], []string{"user: bot, what is up?", "user: bot, hello"})
}

// Authors change messages after their page was read, and before it is stored.
func TestEditsDuringBackfill(t *testing.T) {
	for _, gap := range []bool{false, true} {
		p := &platform{}
		r := newRig(t, echo).throughConnector(p)
		p.history = func(look channel.Look) (page channel.Page, err error) {
			if gap == (look.After != "") {
				check.Error(t, r.hub.Delete(t.Context(), place, "2"), nil)
				check.Error(t, r.hub.Edit(t.Context(), place, channel.Inbound{ID: "3", Text: "typo", Time: time.Now()}), nil)
				page = pageOf("3", pastMessage("2", "the secret is swordfish", time.Minute, false), pastMessage("3", "tyop", time.Minute, false))
			}
			return page, nil
		}
		r.post(pastMessage("1", "one", 5*time.Minute, false))
		if gap {
			r.away()
		}
		r.post(pastMessage("4", "four", 0, true))
		check.Lacks(t, "transcript", texts(r.transcript()), "swordfish", "tyop")
	}
}

func by(id, name string, m channel.Inbound) channel.Inbound {
	m.AuthorID = id
	m.Author = name
	return m
}

// What a person said before /forget me does not come back with a page that is stored later, nor in quotes.
func TestForgetMeDuringBackfill(t *testing.T) {
	for _, which := range []string{"gap", "gap after a restart", "earlier", "earlier question"} {
		p := &platform{}
		r := newRig(t, echo).throughConnector(p)
		gap := strings.HasPrefix(which, "gap")
		read := false
		restart := which == "gap after a restart"
		secret := pastMessage("2", "the secret is swordfish", time.Minute, which == "earlier question")
		quoting := by("u2", "Bo", pastMessage("3", "I like tea", time.Minute, false))
		quoting.ReplyTo = "2"
		quoting.Quote = "Ada: the secret is swordfish"
		p.history = func(look channel.Look) (page channel.Page, err error) {
			if gap != (look.After != "") {
				return page, nil
			}
			page = pageOf("5", secret, quoting)
			if gap {
				page.Messages = append(page.Messages, pastMessage("5", "I am back", -time.Minute, false))
			}
			if !read { // the author wants to be forgotten before the page is stored
				read = true
				check.HasPrefix(t, "answer", r.finished(r.runAs(ada, place, "/forget me yes")), "Deleted: everything of yours")
				if restart {
					return page, errors.New("503")
				}
			}
			return page, nil
		}
		r.post(pastMessage("1", "one", 5*time.Minute, false))
		if gap {
			r.away()
		}
		r.post(by("u2", "Bo", pastMessage("4", "four", 0, true)))
		if restart {
			r.restart()
			r.catchUp()
		}
		all := texts(r.transcript())
		check.Contains(t, which+": transcript", all, "four")
		check.Equal(t, which+": the others' messages are stored", strings.Contains(all, "I like tea") && strings.Contains(all, "I am back"), gap)
		check.Equal(t, which+": messages with the text",
			storetest.Number(t, r.store, "SELECT count(*) FROM messages WHERE text || quote LIKE '%swordfish%'"), 0)
		r.restart() // which ends the erasure
		r.post(by("u2", "Bo", pastMessage("6", "six", 0, false)))
		r.erased()
		if gap { // whose pages may come again
			r.post(secret)
			check.Lacks(t, which+": transcript", texts(r.transcript()), "swordfish")
		}
	}
}

func (r *rig) erased() {
	r.t.Helper()
	ended := func() bool { return len(check.Must(privacy.In(r.store).Erasures(r.t.Context()))(r.t)) == 0 }
	check.That(r.t, check.Soon(ended), "the erasure does not end")
}

// windowRecorder is a model that runs a function when its window is looked up, once it is armed.
type windowRecorder struct {
	*llmtest.Model
	armed atomic.Bool
	do    func()
}

func (l *windowRecorder) Window(ctx context.Context) llm.Window {
	if l.armed.CompareAndSwap(true, false) {
		l.do()
	}
	return l.Model.Window(ctx)
}

// A message may arrive after the owner has checked what it missed, and before it takes up messages.
func TestDeliveriesWaitForBackfill(t *testing.T) {
	for name, c := range map[string]struct {
		look   channel.Look // the only request with an answer
		said   channel.Inbound
		during func(r *rig)
		want   []string
	}{
		"an addressed message, before earlier ones are read": {
			channel.Look{Before: "4"},
			pastMessage("1", "one", 4*time.Minute, false),
			func(r *rig) { r.deliverMessage(pastMessage("4", "bot, hello", 0, true)) },
			[]string{"user: two", "user: three", "user: one", "user: bot, hello", "assistant: answer 1"},
		},
		"a message after an older gap": {
			channel.Look{After: "1"}, // from before the known messages
			pastMessage("5", "five", time.Second, false),
			func(r *rig) { r.away(); r.deliverMessage(pastMessage("6", "six", 0, false)) },
			[]string{"user: two", "user: three", "user: five", "user: six"},
		},
	} {
		r := newRig(t, echo)
		model := &windowRecorder{Model: r.model, do: func() { c.during(r) }}
		r.agent.Model = model
		r.throughConnector(&platform{history: func(look channel.Look) (page channel.Page, err error) {
			if look.After == c.look.After && look.Before == c.look.Before {
				page = pageOf(c.said.ID, c.said)
			}
			return page, nil
		}})
		r.post(pastMessage("2", "two", 5*time.Minute, false))
		model.armed.Store(true)
		r.deliverMessage(pastMessage("3", "three", 4*time.Minute, false))
		r.connector.until(t, "the last message", func() bool { return r.connector.countTaken() >= 3 })
		r.waitForReplies()
		check.EqualAll(t, name, r.transcript(), c.want)
	}
}

func TestNew(t *testing.T) {
	r := newRig(t, echo)
	r.wantAnswer("/new", "already new")
	r.ask("my parrot is called Coco")
	r.wantAnswer("/new", "A new session. ")
	r.waitForReplies()
	check.NoError(t, r.hub.Drain(t.Context()))
	shown := r.wantAnswer("/context", "last      leaf by extractive, messages #1 to #2\n")
	check.Lacks(t, "/context", shown, "→", "emergency")
	r.wantAnswer("/new", "already new")
	r.model.Func = inSteps(nil, always(useTool("recall", map[string]any{"query": "parrot"})), repeatLast)
	check.Contains(t, "recall", r.ask("what is its name?"), "Coco")
	asked := r.model.Requests()[1]
	check.Lacks(t, "prompt", textOf(asked), "] my parrot is called Coco")
	check.That(t, !slices.ContainsFunc(asked.Messages, func(m llm.Message) bool { return m.Text == "answer 1" }), "got an earlier answer in the prompt")
	check.Equal(t, "the transcript", r.transcript()[0], "user: my parrot is called Coco")
	r.wantAnswer("/context", "earlier   sessions before the last /new: 1; rows shown: 1 of 1", "#1 to #2")
	past := check.Must(channel.ReadContext(t.Context(), storetest.Find(t, r.store, place), r.agent))(t).Past
	check.Contains(t, "JSON", string(check.Must(json.Marshal(past))(t)), `"sessions":1`)
	check.That(t, len(past.Earlier) == 1 && past.Earlier[0].Session == 1 && !past.Earlier[0].Hidden, "got %+v", past)
}

func TestNewDuringATurn(t *testing.T) {
	for _, crash := range []bool{false, true} {
		release := make(chan struct{})
		answer := func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
			text := lastText(req) // which ends with what a person wrote, and the turn context
			word, _, _ := strings.Cut(text[strings.LastIndex(text, "] ")+2:], "\n")
			return llmtest.Say("answer to " + word), nil
		}
		r := newRig(t, inSteps(waitingFor(release, answer), answer))
		r.say("first", true)
		check.Require(t, check.Soon(func() bool { return len(r.model.Requests()) == 1 }), "no turn has started")
		r.say("second", true)
		r.wantAnswer("/new", "A new session starts once the earlier messages are answered")
		r.say("third", true)
		if crash {
			r.restart()
		} else {
			close(release)
		}
		r.waitForReplies()
		check.Equal(t, fmt.Sprint("the transcript, with a crash ", crash), texts(r.transcript()),
			"user: first | assistant: answer to first | user: second | assistant: answer to second | user: third | assistant: answer to third")
		requests := r.model.Requests()
		last := textOf(requests[len(requests)-1])
		before := textOf(requests[len(requests)-2])
		check.Contains(t, "second request", before, "first", "second")
		check.Lacks(t, "second request", before, "third")
		check.Lacks(t, "third request", last, "] first", "] second")
		r.wantAnswer("/context", "#1 to #4")
	}
}
