package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// silentConnector shows nothing of a compaction itself, and puts reactions on messages.
type silentConnector struct {
	channel.Connector
	mu    sync.Mutex // guards marks
	marks []string
}

func (d *silentConnector) wrap(inner *connector) { d.Connector = inner }

func (d *silentConnector) React(_ context.Context, conversation, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks = append(d.marks, conversation+" "+id)
	return nil
}

func TestCompactionNotices(t *testing.T) {
	good, bad := always(summary("They talked of a quick brown fox.")), failing(errors.New("broken"))
	for _, test := range []struct {
		notify string
		tokens int // the window: an emergency; 0: /compact
		worker script
		marks  []string
		notice string
	}{
		{"off", 0, good, nil, ""},
		{"off", 3000, good, nil, ""}, // equally silent
		{"message", 0, good, nil, "(I summarized 16 older messages. Nothing is lost.)"},
		{"message", 3000, good, nil, "older messages aside to make room"},
		{"reaction", 0, good, []string{place + " m20"}, ""},
		{"message", 0, bad, nil, ""},
		{"reaction", 0, bad, nil, ""},
	} {
		name := fmt.Sprintf("%s, window %d, notice %q: ", test.notify, test.tokens, test.notice)
		r := newRig(t, echo)
		r.setFilePolicy(func(p *compactor.Policy) { p.Notify, p.Enabled = test.notify, test.tokens == 0 })
		r.model.Tokens = test.tokens
		r.agent.Worker = &llmtest.Model{Func: test.worker}
		var ended atomic.Int32
		r.opts.After = func(conversation string, e channel.Event) {
			check.Equal(t, "conversation of the event", conversation, place)
			if e.State == compactor.EventApplied || e.State == compactor.EventFailed {
				ended.Add(1)
			}
		}
		connector := &silentConnector{}
		r.throughConnector(connector)
		for range 20 {
			r.say(strings.Repeat("the quick brown fox ", 20), false)
		}
		r.waitForReplies()
		if test.tokens == 0 {
			r.run("/compact")
		}
		for range 2 { // the second waits for the effects of the first
			check.NoError(t, r.hub.Drain(t.Context()))
		}
		check.That(t, ended.Load() != 0, "%sgot no applied summary: the test proves nothing", name)
		r.overhear("and on it goes")
		check.Lacks(t, name+"transcript", texts(r.transcript()), "assistant")
		r.restart()
		r.run("/new") // whose answer says it
		r.overhear("anew")
		r.stop()
		check.Equal(t, name+"there is one notice, also after a restart", len(r.connector.sent) == 1, test.notice != "")
		for _, p := range r.connector.sent {
			check.Contains(t, name+"notice", p.Text, test.notice)
			check.Equal(t, name+"it is no answer", p.Failure, true)
		}
		check.EqualAll(t, name+"reactions", connector.marks, test.marks)
	}
}

func TestAuthorSeesThatMessageWasShortened(t *testing.T) {
	r := newRig(t, echo).withWindow(4000)
	long := strings.Repeat("The tide at the old harbour wall rises twice a day. ", 27_200/52)
	r.ask("hello")
	r.ask(long)
	r.ask("and now?")

	sent := r.connector.sent
	check.Len(t, "pieces sent", sent, 4)
	notice := sent[1]
	check.That(t, notice.Failure && channel.IsNotice(notice), "the notice would be taken for the beginning of the answer: %+v", notice)
	check.EqualAll(t, "messages it is about", notice.To, sent[2].To)
	var first, last, all int
	check.Must(fmt.Sscanf(notice.Text, "(Your message is too long for the model's context window: the model sees the first %d and the last %d of %d characters. All of it is stored.)",
		&first, &last, &all))(t)
	check.Equal(t, "characters in the notice", all, len(long))
	check.Contains(t, "prompt", r.lastRequestText(), long[:first]+"\n[… "+strconv.Itoa(len(long)-first-last)+" characters", "…]\n"+long[len(long)-last:])
	r.wantAnswer("/context", "messages  6 in total, 5 of them verbatim, 1 message shown in part")
	r.restart()
	r.ask("and after a restart?")
	check.Equal(t, "notices", strings.Count(texts(r.connector.texts()), "sees the first"), 1)
}

func TestPeopleSeeThatAnswerWasCutOff(t *testing.T) {
	for finish, notice := range map[string]string{
		llm.FinishLength: "(Meine Antwort wurde an der Längengrenze abgeschnitten. Bitte mich, fortzufahren.)",
		llm.FinishFilter: "(Der Filter des Anbieters hat den Rest meiner Antwort zurückgehalten.)",
	} {
		resp := llmtest.Say("The harbour wall was built")
		resp.FinishReason = finish
		r := newRig(t, always(resp))
		r.agent.Language = "de"
		log := r.captureLog()
		r.ask("Tell me about the harbour.")
		check.Equal(t, "log lines", log.lines(slog.LevelInfo, "answer_cut_off"), 1)
		r.restart()
		r.waitForReplies()
		sent := r.connector.sent
		check.EqualAll(t, "sent, also after a restart", r.connector.texts(), []string{resp.Message.Text, notice})
		check.That(t, !sent[0].Failure && channel.IsNotice(sent[1]), "got sent %+v", sent)
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: Tell me about the harbour.", "assistant: The harbour wall was built"})
	}
}

// filtering returns a model whose provider refuses, in one of two ways, every prompt with a forbidden word.
func filtering(asError bool) script {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		forbidden := func(m llm.Message) bool { return strings.Contains(m.Text, "forbidden") }
		switch {
		case !slices.ContainsFunc(req.Messages, forbidden):
			return echo(ctx, n, req)
		case asError:
			return llm.Response{}, llm.Refused(400, nil, []byte(`{"error":{"message":"Content Exists Risk","code":"invalid_request_error"}}`))
		}
		return llm.Response{FinishReason: llm.FinishFilter}, nil
	}
}

// A message that the provider's filter refuses spoils only its own turn.
func TestConversationGoesOnAfterFilteredMessage(t *testing.T) {
	for name, asError := range map[string]bool{"an error": true, "an answer without text": false} {
		r := newRig(t, filtering(asError))
		log := r.captureLog()
		r.ask("Hello.")
		r.ask("Is this forbidden?")
		check.Contains(t, name+": failure", r.lastText(), "filter withheld the answer. Your message is saved")
		check.Len(t, name+": requests, since all before the question was accepted", r.model.Requests(), 3)
		check.Equal(t, name+": next answer", r.ask("And this?"), "answer 5")
		check.Equal(t, name+": the one after that", r.ask("And that?"), "answer 6")
		check.Equal(t, name+": log lines", log.lines(slog.LevelInfo, "messages_withheld"), 1)
		r.restart()
		check.Equal(t, name+": answer after a restart", r.ask("And now?"), "answer 8")
		check.Equal(t, name+": transcript", texts(r.transcript()),
			"user: Hello. | assistant: answer 1 | user: Is this forbidden? | user: And this? | assistant: answer 5 | "+
				"user: And that? | assistant: answer 6 | user: And now? | assistant: answer 8")
	}
}

func TestOnlyTheFilteredMessageIsWithheld(t *testing.T) {
	r := newRig(t, filtering(true))
	r.ask("The harbour is blue.")
	r.overhear("That is forbidden.")
	r.ask("Which colour?")
	check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1", "answer 3"})
	check.Contains(t, "prompt", r.lastRequestText(), "The harbour is blue.", "Which colour?", "filter")
	editMessageAt(r, "m2", "That is allowed.", time.Now())
	r.ask("And now?")
	check.Contains(t, "prompt after the edit", textOf(r.model.Requests()[3]), "That is allowed.")
	editMessageAt(r, "m1", "forbidden", time.Now()) // what an old message becomes was not accepted before
	check.Contains(t, "answer after an edit of an old message", r.ask("And then?"), "answer ")
	// A result of a tool is withheld within its turn.
	call := useTool("context", map[string]any{"op": "help", "topic": "forbidden"})
	r = newRig(t, then(call, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		for i, m := range req.Messages {
			if m.Role == llm.RoleTool && strings.Contains(m.Text, "The topics are") {
				req.Messages[i].Text = "forbidden"
			}
		}
		return filtering(true)(ctx, n, req)
	}))
	check.Equal(t, "answer", r.ask("What did we say?"), "answer 3")
}
