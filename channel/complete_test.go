package channel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/store"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// TestMessageThatCrashesProcessIsGivenUp: a killed start leaves its tries on disk.
func TestMessageThatCrashesProcessIsGivenUp(t *testing.T) {
	var mu sync.Mutex
	var active int
	var log []string // each request, and the other requests during it
	p := &platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
		mu.Lock()
		if active++; active > 1 {
			log = append(log, m.ID+" beside another")
		} else {
			log = append(log, m.ID)
		}
		mu.Unlock()
		time.Sleep(10 * time.Millisecond) // so that parallel requests, if any, would overlap with it
		mu.Lock()
		active--
		mu.Unlock()
		m.Text += ", completed"
		return m, nil
	}}
	missing := func(id string, age time.Duration, addressed bool) channel.Inbound {
		m := pastMessage(id, id, age, addressed)
		m.Incomplete = true
		return m
	}
	r := newRig(t, echo)
	c := check.Must(r.store.Conversation(t.Context(), place))(t)
	killed := func(m ...store.Inbound) {
		t.Helper()
		check.NoError(t, c.Inbox().Try(t.Context(), m))
		check.Must(c.Inbox().TryPast(t.Context()))(t)
	}
	bad, innocent, other := missing("bad", 3*time.Minute, false), missing("innocent", 2*time.Minute, false), missing("other", time.Minute, true)
	for _, m := range []channel.Inbound{bad, innocent, other} {
		check.Must(c.Inbox().Deliver(t.Context(), m))(t)
	}
	killed(bad, innocent, other) // all three together, then the bad one alone
	killed(bad)
	p.said = []channel.Inbound{missing("early", time.Hour, false), other}
	r.throughConnector(p)
	check.NoError(t, r.hub.Recover(context.Background(), func(string) bool { return true }))
	r.waitForReplies()
	lines := r.transcript()
	for _, want := range []string{"user: early", "user: bad", "user: innocent, completed", "user: other, completed"} {
		check.That(t, slices.Contains(lines, want), "%q is not in %q", want, lines)
	}
	check.EqualAll(t, "completion requests", log, []string{"innocent", "other"})
	check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
}

// windowRecorder is a model that runs a function when its window is looked up.
type windowRecorder struct {
	*llmtest.Model
	do func()
}

func (l *windowRecorder) Window(ctx context.Context) llm.Window {
	l.do()
	return l.Model.Window(ctx)
}

func TestEditMakesWaitingMessageIncomplete(t *testing.T) {
	p := &reader{}
	r := newRig(t, echo).throughConnector(p)
	var once sync.Once
	armed := atomic.Bool{}
	r.agent.Model = &windowRecorder{r.model, func() {
		if armed.Load() {
			once.Do(func() { // between complete and TakeUp
				m := channel.Inbound{ID: "2", Text: "hello @U7", Time: time.Now().Add(time.Second), Incomplete: true}
				check.NoError(t, r.hub.Edit(t.Context(), place, m))
			})
		}
	}}
	r.reopen()
	r.deliverMessage(pastMessage("1", "one", 0, true))
	r.waitForReplies()
	armed.Store(true)
	r.deliverMessage(pastMessage("2", "hello", 0, true))
	r.connector.until(t, "the second message", func() bool { return r.connector.countTaken() == 2 })
	r.waitForReplies()
	check.Contains(t, "transcript", texts(r.transcript()), "@U7")
}

// sayIncomplete delivers a message that lacks something, and waits for its answer.
func (r *rig) sayIncomplete(id, text string) {
	r.t.Helper()
	m := pastMessage(id, text, 0, true)
	m.Incomplete = true
	r.deliverMessage(m)
	r.waitForReplies()
}

func TestMessageThatCannotBeCompletedIsAnswered(t *testing.T) {
	for claim, complete := range map[string]func(context.Context, channel.Inbound) (channel.Inbound, error){
		"the connector completes nothing": nil,
		"it returns nothing":              func(context.Context, channel.Inbound) (channel.Inbound, error) { return channel.Inbound{}, nil },
		"it fails": func(context.Context, channel.Inbound) (channel.Inbound, error) {
			return channel.Inbound{}, errors.New("no such user")
		},
		"it panics": func(context.Context, channel.Inbound) (channel.Inbound, error) { panic("complete") },
	} {
		t.Run(claim, func(t *testing.T) {
			r := newRig(t, echo)
			if complete != nil {
				r.throughConnector(&reader{complete: complete})
			}
			r.sayIncomplete("1", "one")
			check.EqualAll(t, "the transcript", r.transcript(), []string{"user: one", "assistant: answer 1"})
		})
	}
}

func TestBadPictureDoesNotAffectNext(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n")
	first := true
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		for _, m := range req.Messages {
			if len(m.Images) > 0 && first {
				first = false
				return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "Could not process image"}
			}
		}
		return echo(ctx, n, req)
	})
	p := &reader{}
	r.throughConnector(p)
	p.complete = func(_ context.Context, m channel.Inbound) (channel.Inbound, error) {
		m.Attachments = []channel.Attachment{{Kind: "image", Name: m.ID + ".png", Type: "image/png", Data: append(png, m.ID...)}}
		return m, nil
	}
	for _, id := range []string{"1", "2"} {
		r.sayIncomplete(id, "look")
	}
	conv := check.Must(r.store.Conversation(t.Context(), place))(t)
	page := check.Must(conv.Transcript().Page(t.Context(), 1, 10))(t)
	for _, m := range page {
		check.That(t, m.ID != "2" || m.Attachments[0].File != 0, "the next picture was discarded")
	}
}

func TestRejectedToolsAreReported(t *testing.T) {
	poisoned := func(m llm.Message) bool { return len(m.Calls) > 0 || m.Role == llm.RoleTool || len(m.Native) > 0 }
	var moved, down bool // moved: the conversation has another model; down: that model accepts nothing at all
	refused := 0
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1].Text
		switch {
		case down || moved && slices.ContainsFunc(req.Messages, poisoned):
			refused++
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "tool_call_id must match ^[a-zA-Z0-9]{9}$"}
		case !moved && strings.Contains(last, "look up"):
			return llmtest.Use(llmtest.Call("c", "recall", map[string]string{"query": "tea"})), nil
		}
		return echo(ctx, n, req)
	})
	r.ask("I like green tea")
	r.ask("look up the tea")
	moved = true
	for range 3 {
		r.ask("and now?")
	}
	check.Equal(t, "refused requests", refused, 1)
	for i, p := range r.connector.sent {
		check.That(t, !p.Failure, "reply %d: got %q", i, p.Text)
	}
	all := r.model.Requests()
	check.Contains(t, "request", fmt.Sprint(all[len(all)-1].Messages), `<tool_result tool="recall">`)

	// A request that is also refused as text is not repeated, and the next turn tries it unchanged.
	down = true
	asked := len(r.model.Requests())
	r.ask("hello?")
	if n := len(r.model.Requests()) - asked; n != 1 || !r.connector.sent[len(r.connector.sent)-1].Failure {
		t.Errorf("%d requests, and then %+v", n, r.connector.sent[len(r.connector.sent)-1])
	}
	down, moved = false, false
	r.ask("hello again")
	all = r.model.Requests()
	if last := all[len(all)-1]; !slices.ContainsFunc(last.Messages, poisoned) {
		t.Error("got calls rendered as text")
	}
}
