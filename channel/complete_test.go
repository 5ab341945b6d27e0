package channel_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/store"
)

// lacking returns a message that lacks something.
func lacking(id string, age time.Duration, addressed bool) channel.Inbound {
	m := pastMessage(id, id, age, addressed)
	m.Incomplete = true
	return m
}

// TestMessageThatCrashesProcessIsGivenUp: a killed start leaves its tries on disk.
func TestMessageThatCrashesProcessIsGivenUp(t *testing.T) {
	var mu sync.Mutex // guards log: one request at a time
	var log []string
	p := &platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
		check.That(t, mu.TryLock(), "requests run in parallel")
		defer mu.Unlock()
		log = append(log, m.ID)
		time.Sleep(10 * time.Millisecond) // so that parallel requests, if any, would overlap with it
		m.Text += ", completed"
		return m, nil
	}}
	r := newRig(t, echo)
	c := check.Must(r.store.Conversation(t.Context(), place))(t)
	bad, innocent, other := lacking("2", 3*time.Minute, false), lacking("3", 2*time.Minute, false), lacking("4", time.Minute, true)
	storetest.DeliverOnly(t, c, bad, innocent, other)
	for _, tried := range [][]store.Inbound{{bad, innocent, other}, {bad}} { // all three together, then the bad one alone
		check.NoError(t, c.Inbox().Try(t.Context(), tried))
		check.Must(c.Inbox().TryPast(t.Context()))(t)
	}
	p.said = []channel.Inbound{lacking("1", time.Hour, false), other}
	r.throughConnector(p)
	check.NoError(t, r.hub.Recover(context.Background(), func(string) bool { return true }))
	r.waitForReplies()
	lines := slices.Sorted(slices.Values(r.transcript()))
	check.EqualAll(t, "transcript", lines, []string{"assistant: answer 1", "user: 1", "user: 2", "user: 3, completed", "user: 4, completed"})
	check.EqualAll(t, "completion requests", log, []string{"3", "4"})
}

func TestEditMakesWaitingMessageIncomplete(t *testing.T) {
	r := newRig(t, echo).throughConnector(&platform{})
	model := &windowRecorder{Model: r.model, do: func() { // between complete and TakeUp
		m := channel.Inbound{ID: "2", Text: "hello @U7", Time: time.Now().Add(time.Second), Incomplete: true}
		check.Error(t, r.hub.Edit(t.Context(), place, m), nil)
	}}
	r.agent.Model = model
	r.reopen()
	r.post(pastMessage("1", "one", 0, true))
	model.armed.Store(true)
	r.deliverMessage(pastMessage("2", "hello", 0, true))
	r.connector.until(t, "the second message", func() bool { return r.connector.countTaken() == 2 })
	r.waitForReplies()
	check.Contains(t, "transcript", texts(r.transcript()), "@U7")
}

func TestMessageThatCannotBeCompletedIsAnswered(t *testing.T) {
	for claim, complete := range map[string]func(channel.Inbound) (channel.Inbound, error){
		"the connector completes nothing": nil,
		"it returns nothing":              func(channel.Inbound) (m channel.Inbound, err error) { return m, nil },
		"it fails":                        func(channel.Inbound) (m channel.Inbound, err error) { return m, errors.New("no such user") },
		"it panics":                       func(channel.Inbound) (channel.Inbound, error) { panic("complete") },
	} {
		inBubble(t, echo, func(t *testing.T, r *rig) {
			if complete != nil {
				r.throughConnector(&platform{complete: complete})
			}
			r.post(lacking("1", 0, true))
			check.EqualAll(t, claim, r.transcript(), []string{"user: 1", "assistant: answer 1"})
		})
	}
}

func TestCompletionRunsBeforeMessageGetsItsSeq(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, echo).throughConnector(&platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
		<-release
		m.Author, m.Text = "Grace", "ask @Ada"
		return m, nil
	}})
	r.deliverMessage(lacking("1", 0, true))
	r.say("second", false)
	close(release)
	r.waitForReplies()
	check.EqualAll(t, "transcript", r.transcript(), []string{"user: ask @Ada", "user: second", "assistant: answer 1"})
	check.Contains(t, "prompt", r.lastRequestText(), "Grace")
}

func picturesOf(req llm.Request) (all []llm.Image) {
	for _, m := range req.Messages {
		all = append(all, m.Images...)
	}
	return all
}

func TestPictures(t *testing.T) {
	picture := []byte("\x89PNG\r\n\x1a\n and so on")
	for claim, c := range map[string]struct {
		refusal *llm.Error
		refuses func(n, pictures int) bool
		sent    []string
		shown   []int // pictures per request; the bot restarts before the last one
	}{
		"two are shown to a model that can see, also after a restart": {
			nil, nil, []string{"answer 1", "answer 2", "answer 3"}, []int{1, 2, 2},
		},
		"a model without vision gets a description, and is not shown another": {
			&llm.Error{Kind: llm.KindBadRequest, Message: "No endpoints found that support image input", Status: 404},
			func(_, pictures int) bool { return pictures > 0 },
			[]string{"answer 2", "answer 3", "answer 5"},
			[]int{1, 0, 0, 2, 0},
		},
		"a bad one does not affect the next": {
			&llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "Could not process image"}, func(n, _ int) bool { return n == 1 },
			[]string{"answer 2", "answer 3", "answer 4"},
			[]int{1, 0, 1, 2},
		},
	} {
		var shown []int
		r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			all := picturesOf(req)
			shown = append(shown, len(all))
			for _, p := range all {
				check.That(t, p.Type == "image/png" && bytes.HasPrefix(p.Data, picture), "%s: got %+v", claim, p)
			}
			if c.refuses != nil && c.refuses(n, len(all)) {
				return llm.Response{}, c.refusal
			}
			return echo(ctx, n, req)
		})
		r.throughConnector(&platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
			m.Attachments = []channel.Attachment{{Kind: "image", Name: m.ID + ".png", Type: "image/png", Data: slices.Concat(picture, []byte(m.ID))}}
			return m, nil
		}})
		r.post(lacking("1", 0, true))
		r.post(lacking("2", 0, true))
		r.restart()
		r.ask("and now?")
		check.EqualAll(t, claim+": sent", r.connector.texts(), c.sent)
		check.EqualAll(t, claim+": pictures", shown, c.shown)
	}
}

func TestRejectedToolsAreReported(t *testing.T) {
	poisoned := func(m llm.Message) bool { return len(m.Calls) > 0 || m.Role == llm.RoleTool || len(m.Native) > 0 }
	moved, down, refused := false, false, 0 // moved: the conversation has another model; down: that model accepts nothing at all
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		switch {
		case down || moved && slices.ContainsFunc(req.Messages, poisoned):
			refused++
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "tool_call_id must match ^[a-zA-Z0-9]{9}$"}
		case !moved && strings.Contains(lastText(req), "look up"):
			return useTool("recall", map[string]any{"query": "tea"}), nil
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
	for _, p := range r.connector.sent {
		check.That(t, !p.Failure, "got %q", p.Text)
	}
	check.Contains(t, "request", r.lastRequestText(), `<tool_result tool="recall">`)

	// A request that is also refused as text is not repeated, and the next turn tries it unchanged.
	down = true
	r.ask("hello?")
	check.Equal(t, "refused requests", refused, 2)
	check.That(t, r.connector.sent[len(r.connector.sent)-1].Failure, "got %q", r.lastText())
	down, moved = false, false
	r.ask("hello again")
	all := r.model.Requests()
	check.That(t, slices.ContainsFunc(all[len(all)-1].Messages, poisoned), "got calls rendered as text")
}
