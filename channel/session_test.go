package channel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// lastRequestText returns the last model request as one text.
func (r *rig) lastRequestText() string {
	r.t.Helper()
	all := r.model.Requests()
	check.Require(r.t, len(all) != 0, "the model was not asked")
	return textOf(all[len(all)-1])
}

func textOf(req llm.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text)
	}
	return b.String()
}

func TestNew(t *testing.T) {
	r := newRig(t, echo)
	check.Contains(t, "answer to /new in an empty conversation", r.run("/new"), "already new")
	r.ask("my parrot is called Coco")
	check.HasPrefix(t, "/new", r.run("/new"), "A new session. ")
	r.waitForReplies()
	check.Contains(t, "answer to the second /new", r.run("/new"), "already new")
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Messages) > 0 && req.Messages[len(req.Messages)-1].Role == llm.RoleTool {
			return llmtest.Say("found: " + req.Messages[len(req.Messages)-1].Text), nil
		}
		if strings.Contains(textOf(req), "] my parrot is called Coco") || slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Role == llm.RoleAssistant && m.Text == "answer 1" }) {
			t.Errorf("got messages of the earlier session in the prompt:\n%s", textOf(req))
		}
		return llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "parrot"})), nil
	}
	r.ask("what is its name?")
	check.Contains(t, "recall", strings.Join(r.connector.texts(), "|"), "found: ", "Coco")
	check.Equal(t, "the transcript", r.transcript()[0], "user: my parrot is called Coco")
	check.Contains(t, "/context", r.run("/context"), "earlier   sessions before the last /new: 1; rows shown: 1 of 1", "#1 to #2")
	conv := check.Must(r.store.Conversation(t.Context(), place))(t)
	gauge := check.Must(channel.ReadContext(t.Context(), conv, r.agent))(t)
	text, err := json.Marshal(gauge.Past)
	if want := `"sessions":1`; err != nil || !strings.Contains(string(text), want) || len(gauge.Past.Earlier) != 1 || gauge.Past.Earlier[0].Session != 1 || gauge.Past.Earlier[0].Hidden {
		t.Errorf("got JSON %s, %v", text, err)
	}
}

func TestNewDuringATurn(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprintf("with a crash %v", crash), func(t *testing.T) {
			began, release := make(chan struct{}), make(chan struct{})
			r := newRig(t, nil)
			r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				if n == 1 {
					close(began)
					select {
					case <-release:
					case <-ctx.Done():
						return llm.Response{}, ctx.Err()
					}
				}
				return llmtest.Say("answer to " + lastAsked(req)), nil
			}
			r.say("first", true)
			<-began
			r.say("second", true)
			check.Contains(t, "answer to /new", r.run("/new"), "A new session starts once the earlier messages are answered")
			r.say("third", true)
			if crash {
				r.restart()
			} else {
				close(release)
			}
			r.waitForReplies()
			check.EqualAll(t, "the transcript", r.transcript(), []string{
				"user: first", "assistant: answer to first", "user: second", "assistant: answer to second", "user: third", "assistant: answer to third",
			})
			requests := r.model.Requests()
			last, before := textOf(requests[len(requests)-1]), textOf(requests[len(requests)-2])
			check.Contains(t, "second request", before, "first", "second")
			check.Lacks(t, "second request", before, "third")
			check.Lacks(t, "third request", last, "] first", "] second")
			check.Contains(t, "third request", last, "third")
			check.Contains(t, "answer to /context", r.run("/context"), "#1 to #4")
		})
	}
}

// lastAsked returns the last word of the last message of a person.
func lastAsked(req llm.Request) string {
	text := req.Messages[len(req.Messages)-1].Text
	at := strings.LastIndex(text, "] ")
	word, _, _ := strings.Cut(text[at+2:], "\n")
	return word
}

const branch = place + "/m1" // a thread on the first message

// withOldSession returns a channel with summaries in it.
func withOldSession(t *testing.T) *rig {
	r := newRig(t, echo)
	r.agent.Worker = &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		return llmtest.Use(llmtest.Call("1", "summarize", map[string]string{"summary": "Coco is a parrot, word by word."})), nil
	}}
	r.reopen()
	for i := range 8 {
		r.ask(fmt.Sprintf("message-%d of the parrot %s", i+1, strings.Repeat("word ", 30)))
	}
	r.run("/compact")
	r.connector.until(t, "what is applied", func() bool {
		for _, e := range r.connector.events {
			if e.State == compactor.EventApplied {
				return true
			}
		}
		return false
	})
	return r
}

// inThread posts a message in a thread, and waits for the answer.
func (r *rig) inThread(text string) {
	r.t.Helper()
	r.tell(branch, text, func(m *channel.Inbound) { m.Addressed, m.Thread = true, true })
}

func TestThreadInheritsChannelHistory(t *testing.T) {
	r := withOldSession(t)
	check.NoError(t, r.deliverTo(branch, "and how old is it?", func(m *channel.Inbound) {
		m.Addressed, m.Thread, m.ReplyTo, m.Quote = true, true, "m1", `Ada: "message-1 of the…"`
	}))
	r.waitIdle(branch)
	asked := r.lastRequestText()
	check.Contains(t, "prompt of the thread", asked, "[Compaction Summary] of the channel above this thread", "Coco is a parrot, word by word.")
	check.Contains(t, "prompt of the thread", asked, "[System: this thread hangs on a message of ", "message-1 of the parrot")
	check.Lacks(t, "prompt of the thread", asked, "message-8")
	r.ask("the parrot has flown")
	check.Lacks(t, "prompt of the channel", r.lastRequestText(), "how old")
	r.tell("test:server/other/9", "hello", func(m *channel.Inbound) { m.Addressed, m.Thread = true, true })
	check.Lacks(t, "prompt of another channel's thread", r.lastRequestText(), "Coco")
	t.Run("a restart changes nothing", func(t *testing.T) {
		kept := func(asked string) string {
			from, to := strings.Index(asked, "<kept>"), strings.Index(asked, "</kept>")
			return asked[from:to]
		}
		r.restart()
		r.inThread("and now?")
		check.Equal(t, "request", kept(r.lastRequestText()), kept(asked))
	})
	t.Run("a deletion in the channel reaches an open thread", func(t *testing.T) {
		check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
		r.inThread("once more?")
		again := r.lastRequestText()
		check.Lacks(t, "prompt", again, "message-1 of", "hangs on", "Coco")
		check.Contains(t, "prompt", again, "of the channel above this thread", "how old")
	})
	t.Run("/context mentions it", func(t *testing.T) {
		answer := r.runAs(channel.Person{ID: "u1"}, branch, "/context")
		check.Contains(t, "answer to /context", answer.String(), "summaries the thread began with: 1")
	})
	t.Run("/new in the thread keeps the inherited stack", func(t *testing.T) {
		r.runAs(channel.Person{ID: "u1", Manager: true}, branch, "/new")
		r.inThread("anew")
		asked := r.lastRequestText()
		if strings.Contains(asked, "] and how old") || strings.Index(asked, "of the channel above") > strings.Index(asked, "began anew") || !strings.Contains(asked, "began anew") {
			t.Errorf("got\n%s", asked)
		}
	})
}
