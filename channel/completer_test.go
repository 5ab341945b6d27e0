package channel_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// looked is a model that runs a function when its window is looked up.
type looked struct {
	*llmtest.Model
	do func()
}

func (l *looked) Window(ctx context.Context) llm.Window {
	l.do()
	return l.Model.Window(ctx)
}

func TestAnEditMayMakeAWaitingMessageIncomplete(t *testing.T) {
	p := &reader{}
	r := newRig(t, echo).reads(p)
	var once sync.Once
	armed := atomic.Bool{}
	r.agent.Model = &looked{r.model, func() {
		if armed.Load() {
			once.Do(func() { // between complete and TakeUp
				m := channel.Inbound{ID: "2", Text: "hello @U7", Time: time.Now().Add(time.Second), Incomplete: true}
				if err := r.hub.Edit(t.Context(), place, m); err != nil {
					t.Error(err)
				}
			})
		}
	}}
	r.stop()
	r.start()
	r.hand(past("1", "one", 0, true))
	r.idle()
	armed.Store(true)
	r.hand(past("2", "hello", 0, true))
	r.connector.until(t, "the second message", func() bool { return r.connector.taken() == 2 })
	r.idle()
	contains(t, "the message waits, and nobody looks again", texts(r.transcript()), "@U7")
}

func TestIncompleteWithoutACompleter(t *testing.T) {
	r := newRig(t, echo)
	m := past("1", "one", 0, true)
	m.Incomplete = true
	r.hand(m)
	r.idle()
	r.hand(past("2", "two", 0, true))
	r.idle()
	if len(r.connector.texts()) == 0 {
		t.Error("the conversation is blocked for ever")
	}
}

func TestACompleterThatReturnsNothing(t *testing.T) {
	p := &reader{complete: func(context.Context, channel.Inbound) (channel.Inbound, error) { return channel.Inbound{}, nil }}
	r := newRig(t, echo).reads(p)
	m := past("1", "one", 0, true)
	m.Incomplete = true
	r.hand(m)
	r.idle()
	contains(t, "what was said is lost", texts(r.transcript()), "user: one")
}

func TestOneBadPictureCostsNotTheNext(t *testing.T) {
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
	r.reads(p)
	p.complete = func(_ context.Context, m channel.Inbound) (channel.Inbound, error) {
		m.Attachments = []channel.Attachment{{Kind: "image", Name: m.ID + ".png", Type: "image/png", Data: append(png, m.ID...)}}
		return m, nil
	}
	for _, id := range []string{"1", "2"} {
		m := past(id, "look", 0, true)
		m.Incomplete = true
		r.hand(m)
		r.idle()
	}
	conv := must(r.store.Conversation(t.Context(), place))(t)
	page := must(conv.Transcript().Page(t.Context(), 1, 10))(t)
	for _, m := range page {
		if m.ID == "2" && m.Attachments[0].File == 0 {
			t.Error("the next picture, which is fine, was thrown away for good")
		}
	}
}

func TestACompleterThatPanics(t *testing.T) {
	p := &reader{complete: func(context.Context, channel.Inbound) (channel.Inbound, error) { panic("complete") }}
	r := newRig(t, echo).reads(p)
	m := past("2", "two", 0, true)
	m.Incomplete = true
	r.hand(m)
	r.settles(3 * time.Second)
	expect(t, "answers", len(r.connector.texts()), 1)
}
