package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
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

func TestCompactionNotices(t *testing.T) {
	for _, test := range appliedCompactions {
		t.Run(fmt.Sprintf("%s, window %d", test.notify, test.tokens)+map[bool]string{true: ", it fails"}[test.fails], func(t *testing.T) {
			r := newRig(t, echo)
			connector := &reactingConnector{silentConnector{inner: r.connector}}
			r.opts.Connectors = []channel.Connector{connector}
			r.setFilePolicy(func(p *compactor.Policy) { p.Notify, p.Enabled = test.notify, test.tokens == 0 })
			r.model.Tokens = test.tokens
			r.agent.Worker = &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) {
				if test.fails {
					return llm.Response{}, errors.New("broken")
				}
				return summary("They talked of a quick brown fox."), nil
			}}
			var mu sync.Mutex
			applied := 0
			r.opts.After = func(conversation string, e channel.Event) {
				mu.Lock()
				defer mu.Unlock()
				check.Equal(t, "conversation of the event", conversation, place)
				if e.State == compactor.EventApplied || e.State == compactor.EventFailed {
					applied++
				}
			}
			r.reopen()
			r.sayTurns(20, 80)
			last := fmt.Sprint("m", r.n)
			if test.tokens == 0 {
				r.run("/compact")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for range 2 { // the second waits for the effects of the first
				check.NoError(t, r.hub.Drain(ctx))
			}
			mu.Lock()
			check.That(t, applied != 0, "got no applied summary: the test proves nothing")
			mu.Unlock()
			r.say("and on it goes", false)
			r.waitForReplies()
			said := r.connector.texts()
			check.That(t, len(said) == 0 || r.connector.sent[0].Failure, "the notice is stored as an assistant message")
			if test.notice == "" && len(said) > 0 || test.notice != "" && (len(said) != 1 || !strings.Contains(said[0], test.notice)) {
				t.Errorf("got notice %q", said)
			}
			for _, line := range r.transcript() {
				check.That(t, !strings.HasPrefix(line, "assistant"), "the transcript has %q", line)
			}
			r.restart()
			r.waitForReplies()
			check.Equal(t, "notice after a restart", len(r.connector.texts()), len(said))
			r.stop()
			if marks := connector.marked(); len(marks) != test.marks || test.marks > 0 && marks[0] != place+" "+last {
				t.Errorf("got reactions on %q", marks)
			}
		})
	}
}

func TestHookVetoesCompaction(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Worker = r.model
	r.opts.Before = func(_ context.Context, conversation string, e compactor.Proposal) (string, error) {
		return "", fmt.Errorf("%s keeps its %d messages", conversation, e.Messages)
	}
	r.reopen()
	for range 20 {
		r.say("hello", false)
	}
	r.waitForReplies()
	check.Equal(t, "answer", r.run("/compact"), "No compaction was started: "+place+" keeps its 16 messages.")
	check.Contains(t, "answer to /context", r.run("/context"), "last      nothing was done: "+place+" keeps its 16 messages")
}

func TestAuthorSeesThatMessageWasShortened(t *testing.T) {
	var seen string // the message as the model saw it
	r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		for _, m := range req.Messages {
			if strings.Contains(m.Text, "left out …]") {
				seen = m.Text
			}
		}
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	})
	r.model.Tokens = 4000
	long := strings.Repeat("The tide at the old harbour wall rises twice a day. ", 27_200/52)
	r.ask("hello")
	r.ask(long)
	r.ask("and now?")

	sent := r.connector.sent
	check.Len(t, "pieces sent", sent, 4)
	notice := sent[1]
	if !notice.Failure || !channel.IsNotice(notice) {
		t.Errorf("the notice would be taken for the beginning of the answer, or reads as the assistant's words: %+v", notice)
	}
	check.EqualAll(t, "messages it is about", notice.To, sent[2].To)
	var first, last, all int
	if _, err := fmt.Sscanf(notice.Text, "(Your message is too long for the model's context window: the model sees the first %d and the last %d of %d characters. All of it is stored.)",
		&first, &last, &all); err != nil {
		t.Fatalf("got notice %q: %v", notice.Text, err)
	}
	check.Equal(t, "characters in the notice", all, utf8.RuneCountInString(long))
	check.Contains(t, fmt.Sprintf("the model saw something else than %s", notice.Text), seen, long[:first]+"\n[… "+strconv.Itoa(len(long)-first-last)+" characters", "…]\n"+long[len(long)-last:])
	check.Contains(t, "answer to /context", r.run("/context"), "messages  6 in total, 5 of them verbatim, 1 message shown in part")

	r.restart()
	r.ask("and after a restart?")
	check.Equal(t, "notices", strings.Count(strings.Join(r.connector.texts(), "\n"), "sees the first"), 1)
}

func TestContextCommand(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, echo)
	r.agent.Worker = &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		<-release
		return numberedSummaries(ctx, n, req)
	}}
	r.reopen()
	for i := range 10 {
		r.ask(fmt.Sprintf("message-%d %s", i, strings.Repeat("word ", 30)))
	}
	r.wantAnswer("/context", " %\n", "of 128000 tokens", "next      background at 80 % (102400 tokens)", "messages  20 in total, 20 of them verbatim",
		"running   nothing", "stack     empty")
	answer := r.runAsManager("/compact")
	r.wantAnswer("/context", "running   summarizing 16 messages, #1 to #16 (manual)", "stack     empty")
	close(release)
	r.finished(answer)
	check.NoError(t, r.hub.Drain(t.Context()))
	r.wantAnswer("/context", "running   nothing", "last      leaf by worker, messages #1 to #16: ", "4 of them verbatim",
		"stack     1, oldest first:", "leaf   level 0  #1 to #16")
}

// withEnding returns a model that ends every answer with a finish reason.
func withEnding(text, finish string) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(context.Context, int, llm.Request) (llm.Response, error) {
		resp := llmtest.Say(text)
		resp.FinishReason = finish
		return resp, nil
	}
}

func TestPeopleSeeThatAnswerWasCutOff(t *testing.T) {
	for name, tt := range map[string]struct {
		language, finish, notice string
	}{
		"at the limit":            {"en", llm.FinishLength, "(My answer was cut off at the length limit. Ask me to continue.)"},
		"at the limit, in German": {"de", llm.FinishLength, "(Meine Antwort wurde an der Längengrenze abgeschnitten. Bitte mich, fortzufahren.)"},
		"by the filter":           {"en", llm.FinishFilter, "(The model provider's filter withheld the rest of my answer.)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withEnding("The harbour wall was built", tt.finish))
			r.agent.Language = tt.language
			log := r.captureLog()
			r.ask("Tell me about the harbour.")
			check.EqualAll(t, "sent", r.connector.texts(), []string{"The harbour wall was built", tt.notice})
			if sent := r.connector.sent; sent[0].Failure || !channel.IsNotice(sent[len(sent)-1]) {
				t.Errorf("got sent %+v", sent)
			}
			check.EqualAll(t, "transcript", r.transcript(), []string{"user: Tell me about the harbour.", "assistant: The harbour wall was built"})
			check.Equal(t, "log lines", log.lines(slog.LevelInfo, "answer_cut_off"), 1)
			r.restart()
			r.waitForReplies()
			check.Len(t, "sent after a restart", r.connector.texts(), 2)
		})
	}
}
