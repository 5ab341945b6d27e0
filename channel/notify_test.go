package channel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// silentConnector shows nothing of a compaction itself, like the connector of a platform.
type silentConnector struct {
	inner *connector
	mu    sync.Mutex // guards marked
	marks []string
}

func (d *silentConnector) Name() string { return "test" }

func (d *silentConnector) Split(text string) []string { return d.inner.Split(text) }

func (d *silentConnector) Reply(conversation string, to []string) channel.Writer {
	return d.inner.Reply(conversation, to)
}

// reactingConnector can put reactions on messages.
type reactingConnector struct{ silentConnector }

func (d *reactingConnector) React(_ context.Context, conversation, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks = append(d.marks, conversation+" "+id)
	return nil
}

func (d *reactingConnector) marked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.marks...)
}

var appliedCompactions = []struct {
	notify string
	tokens int
	marks  int
	notice string
	fails  bool // the worker fails
}{
	{notify: "off"},
	{notify: "off", tokens: 3000}, // an emergency, equally silent
	{notify: "message", notice: "(I summarized 16 older messages. Nothing is lost.)"},
	{notify: "message", tokens: 3000, notice: "older messages aside to make room"},
	{notify: "reaction", marks: 1},
	{notify: "message", fails: true},
	{notify: "reaction", fails: true},
}

func TestWhatPeopleSeeOfAnAppliedCompaction(t *testing.T) {
	for _, test := range appliedCompactions {
		t.Run(fmt.Sprintf("%s, window %d", test.notify, test.tokens)+map[bool]string{true: ", it fails"}[test.fails], func(t *testing.T) {
			r := newRig(t, echo)
			connector := &reactingConnector{silentConnector{inner: r.connector}}
			r.opts.Connectors = []channel.Connector{connector}
			r.filed(func(p *compactor.Policy) { p.Notify, p.Enabled = test.notify, test.tokens == 0 })
			r.model.Tokens = test.tokens
			r.agent.Worker = &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) {
				if test.fails {
					return llm.Response{}, errors.New("broken")
				}
				return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": "They talked of a quick brown fox."})), nil
			}}
			var mu sync.Mutex
			applied := 0
			r.opts.After = func(conversation string, e channel.Event) {
				mu.Lock()
				defer mu.Unlock()
				expect(t, "the conversation of an event", conversation, place)
				if e.State == compactor.EventApplied || e.State == compactor.EventFailed {
					applied++
				}
			}
			r.stop()
			r.start()
			last := ""
			for i := range 20 {
				m := r.inbound(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 20)), false)
				last = m.ID
				must(r.hub.Deliver(t.Context(), place, m))(t)
			}
			r.idle()
			if test.tokens == 0 {
				r.run("/compact")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for range 2 { // the second waits for the effects of the first
				noError(t, r.hub.Drain(ctx))
			}
			mu.Lock()
			if applied == 0 {
				t.Error("nothing applied: the test shows nothing")
			}
			mu.Unlock()
			r.say("and on it goes", false)
			r.idle()
			said := r.connector.texts()
			if len(said) > 0 && !r.connector.sent[0].Failure {
				t.Error("the notice goes out as the assistant's words")
			}
			if test.notice == "" && len(said) > 0 || test.notice != "" && (len(said) != 1 || !strings.Contains(said[0], test.notice)) {
				t.Errorf("it said %q", said)
			}
			for _, line := range r.transcript() {
				if strings.HasPrefix(line, "assistant") {
					t.Errorf("the transcript has %q", line)
				}
			}
			r.restart()
			r.idle()
			expect(t, "after a restart it said", len(r.connector.texts()), len(said))
			r.stop()
			if marks := connector.marked(); len(marks) != test.marks || test.marks > 0 && marks[0] != place+" "+last {
				t.Errorf("it marked %q", marks)
			}
		})
	}
}

func TestAHookForbidsACompaction(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Worker = r.model
	r.opts.Before = func(_ context.Context, conversation string, e compactor.Proposal) (string, error) {
		return "", fmt.Errorf("%s keeps its %d messages", conversation, e.Messages)
	}
	r.stop()
	r.start()
	for range 20 {
		r.say("hello", false)
	}
	r.idle()
	expect(t, "the result", r.run("/compact"), "No compaction was started: "+place+" keeps its 16 messages.")
	contains(t, "/context says", r.run("/context"), "last      noop: "+place+" keeps its 16 messages")
}
