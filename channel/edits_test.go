package channel_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/chat"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestHistoryBeforeFirstMentionIsContext(t *testing.T) {
	p := &platform{}
	for i := range 150 {
		p.said = append(p.said, pastMessage(fmt.Sprint("e", i), fmt.Sprint("earlier ", i), time.Hour, i%2 == 0))
	}
	call := pastMessage("now", "what were we saying?", 0, true)
	p.said = append(p.said, call)
	r := newRig(t, echo).throughConnector(p)
	r.post(p.said[149]) // overheard earlier
	check.Len(t, "history requests", p.asked, 0)
	for _, m := range []channel.Inbound{call, pastMessage("more", "and?", 0, true)} {
		r.post(m)
	}
	lines := r.transcript()
	check.Len(t, "rows", lines, 100+4)
	if lines[0] != "user: earlier 149" || lines[1] != "user: earlier 50" || lines[99] != "user: earlier 148" || lines[100] != "user: what were we saying?" {
		t.Errorf("%q … %q", lines[:3], lines[98:])
	}
	check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1", "answer 2"})
	check.EqualAll(t, "requests", p.asked, []string{"after  before now"})
}

func TestCompletion(t *testing.T) {
	incomplete := func(m *channel.Inbound) { m.Incomplete, m.Addressed = true, true }
	t.Run("completion runs before the message gets its seq, and keeps the order", func(t *testing.T) {
		release := make(chan struct{})
		p := &platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
			<-release
			m.Author, m.Text = "Grace", strings.ReplaceAll(m.Text, "@U1", "@Ada")
			return m, nil
		}}
		r := newRig(t, echo).throughConnector(p)
		check.NoError(t, r.deliverTo(place, "ask @U1", incomplete))
		r.say("second", false)
		close(release)
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: ask @Ada", "user: second", "assistant: answer 1"})
		last := r.model.Requests()[0].Messages
		check.Contains(t, "prompt", last[len(last)-1].Text, "Grace")
	})
	t.Run("a picture is shown to a model that can see, also after a restart", func(t *testing.T) {
		picture := []byte("\x89PNG\r\n\x1a\n and so on")
		r := newRig(t, echo).throughConnector(&platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
			m.Attachments[0].Data = picture
			return m, nil
		}})
		withPicture := func(m *channel.Inbound) {
			incomplete(m)
			m.Attachments = []chat.Attachment{{Kind: "image", Name: "cat.png", Type: "image/png", Size: int64(len(picture))}}
		}
		r.tell(place, "what is this?", withPicture)
		r.restart()
		r.ask("and now?")
		for i, req := range r.model.Requests() {
			var images []llm.Image
			for _, m := range req.Messages {
				images = append(images, m.Images...)
			}
			if len(images) != 1 || images[0].Type != "image/png" || !bytes.Equal(images[0].Data, picture) {
				t.Errorf("request %d shows %d pictures", i, len(images))
			}
		}
	})
	t.Run("a model without vision gets a description", func(t *testing.T) {
		r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
			for _, m := range req.Messages {
				if len(m.Images) > 0 {
					return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Message: "No endpoints found that support image input", Status: 404}
				}
			}
			return llmtest.Say("a cat, I am told"), nil
		}).throughConnector(&platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
			m.Attachments[0].Data = []byte("\x89PNG\r\n\x1a\n")
			return m, nil
		}})
		for range 2 {
			check.NoError(t, r.deliverTo(place, "what is this?", func(m *channel.Inbound) {
				incomplete(m)
				m.Attachments = []chat.Attachment{{Kind: "image", Name: "cat.png", Type: "image/png"}}
			}))
			r.waitForReplies()
		}
		check.EqualAll(t, "sent", r.connector.texts(), []string{"a cat, I am told", "a cat, I am told"})
		check.Equal(t, "requests", len(r.model.Requests()), 3)
	})
}

func editMessageAt(r *rig, id, text string, at time.Time) {
	r.t.Helper()
	check.NoError(r.t, r.hub.Edit(r.t.Context(), place, channel.Inbound{ID: id, Text: text, Time: at}))
	r.waitForReplies()
}

func promptSuffix(r *rig, n int) string {
	var b strings.Builder
	for _, m := range r.model.Requests()[n].Messages {
		b.WriteString(m.Text + "\n")
	}
	return b.String()
}

func TestEdits(t *testing.T) {
	t.Run("an edit starts no turn, and the model sees the new text", func(t *testing.T) {
		r := newRig(t, echo)
		r.ask("the code is 1234")
		editMessageAt(r, "m1", "the code is 4711", time.Now())
		editMessageAt(r, "m1", "the code is 0000", time.Now().Add(-time.Hour)) // an older edit arrives late
		editMessageAt(r, "nobody", "was never said", time.Now())
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: the code is 4711", "assistant: answer 1"})
		r.ask("what is it?")
		s := promptSuffix(r, 1)
		check.Contains(t, "prompt", s, "4711")
		check.Lacks(t, "prompt", s, "1234")
		r.restart()
		r.ask("once more?")
		check.HasPrefix(t, "prompt after a restart", strings.SplitN(promptSuffix(r, 2), "<now>", 2)[0], strings.SplitN(promptSuffix(r, 1), "<now>", 2)[0])
	})
	t.Run("an edited waiting message is answered as edited", func(t *testing.T) {
		r, release := newBusyRig(t)
		r.say("tow", true)
		check.NoError(t, r.hub.Edit(t.Context(), place, channel.Inbound{ID: "m2", Text: "two", Time: time.Now()}))
		release()
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: one", "assistant: answer 1", "user: two", "assistant: answer 2"})
	})
}

func TestDeletions(t *testing.T) {
	t.Run("a deleted message leaves the prompt for good", func(t *testing.T) {
		r := newRig(t, echo)
		r.say("the secret is swordfish", false)
		r.ask("hello")
		check.NoError(t, r.hub.Delete(t.Context(), place, "m1", "nobody"))
		r.waitForReplies()
		r.ask("what is it?")
		check.Lacks(t, "prompt", promptSuffix(r, 1), "swordfish")
		m := pastMessage("m1", "the secret is swordfish", 0, true)
		r.post(m) // a repeated delivery
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: hello", "assistant: answer 1", "user: what is it?", "assistant: answer 2"})
	})
	t.Run("a deleted waiting message is not answered", func(t *testing.T) {
		r, release := newBusyRig(t)
		r.say("two", true)
		check.NoError(t, r.hub.Delete(t.Context(), place, "m2"))
		release()
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: one", "assistant: answer 1"})
	})
}

func TestMessageDeletedDuringRetry(t *testing.T) {
	r := newRig(t, nil)
	log := r.captureLog()
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
		return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "busy"}
	}
	r.say("hello", true)
	r.becomesIdle(time.Second)
	r.stop()
	check.Lacks(t, "log", log.String(), "conversation_stalled")
}

func TestDeletedMessageLeavesNextRequest(t *testing.T) {
	r := newRig(t, nil)
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
			return llmtest.Use(llmtest.Call("c1", "recall", map[string]any{"query": "x"})), nil
		}
		for _, m := range req.Messages {
			check.Lacks(t, fmt.Sprintf("the model is shown a deleted message in request %d", n), m.Text, "swordfish")
		}
		return echo(ctx, n, req)
	}
	r.say("the secret is swordfish", false)
	r.ask("hello")
}
