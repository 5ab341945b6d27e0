package channel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

func TestCommandFailureInWords(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Language = "de"
	r.reopen()
	r.ask("hello")
	r.execute("CREATE TRIGGER refuse BEFORE INSERT ON pins BEGIN SELECT RAISE (ABORT, 'secret internals'); END")
	answer, _, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u1", Manager: true}, "/pin 1")
	check.ErrorContains(t, "error for the log", err, "secret internals")
	check.Equal(t, "answer", answer.Text, "Das hat nicht geklappt; der Grund steht in meinem Protokoll. Versuche es später noch einmal.")
}

func TestRefusalInWords(t *testing.T) {
	r := newRig(t, echo)
	check.Equal(t, "a full disk", r.hub.Operator().Refusal(place, fmt.Errorf("deliver message of %s: %w", place, store.ErrFull)),
		"My disk is full, so I cannot save anything. Ask the bot's operator to make room.")
	check.Equal(t, "anything else", r.hub.Operator().Refusal(place, errors.New("secret internals")), "Your message could not be saved, so it was not accepted. Send it again later.")
}

func TestProviderFailureIsReported(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		calls int
		says  string
	}{
		"a refusal":      {&llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "secret internals"}, 1, "refused"},
		"a wrong key":    {&llm.Error{Kind: llm.KindAuth, Status: 401, Message: "secret internals", Where: llm.Where{Key: "OPENAI_API_KEY"}}, 1, "OPENAI_API_KEY"},
		"an outage":      {&llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "secret internals"}, 2, "overloaded"},
		"something else": {errors.New("secret internals"), 1, "went wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) { return llm.Response{}, tt.err })
			r.ask("hello")
			check.Equal(t, "calls", len(r.model.Requests()), tt.calls)
			if len(r.connector.sent) != 1 || !r.connector.sent[0].Failure || !strings.Contains(r.connector.sent[0].Text, tt.says) || strings.Contains(r.connector.sent[0].Text, "secret") {
				t.Errorf("got sent %+v", r.connector.sent)
			}
			check.EqualAll(t, "transcript", r.transcript(), []string{"user: hello"})
			r.restart()
			r.waitForReplies()
			check.Equal(t, "model calls after a restart", len(r.connector.sent), 1)
		})
	}
}

// Some models return nothing now and then, most often after tool results.
func TestEmptyAnswerIsAskedForAgain(t *testing.T) {
	lookUp := llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "tea"}))
	for name, tt := range map[string]struct {
		answers []llm.Response
		says    string
	}{
		"once":               {[]llm.Response{llmtest.Say(""), llmtest.Say("fine")}, "fine"},
		"after tool results": {[]llm.Response{lookUp, llmtest.Say(" "), llmtest.Say("fine")}, "fine"},
		"always":             {[]llm.Response{llmtest.Say(""), llmtest.Say("")}, "gave no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
				return tt.answers[min(n, len(tt.answers))-1], nil
			})
			r.ask("hello")
			check.Contains(t, "the reply", r.connector.texts()[0], tt.says)
			check.Equal(t, "requests", len(r.model.Requests()), len(tt.answers))
		})
	}
}

func TestPanicEndsOnlyTheTurn(t *testing.T) {
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			panic("the model breaks")
		}
		return echo(ctx, n, req)
	})
	r.ask("hello")
	r.ask("again")
	texts := r.connector.texts()
	check.Len(t, "sent", texts, 2)
	check.Equal(t, "second reply", texts[1], "answer 2")
}

func TestPersistentOverflowIsReported(t *testing.T) {
	r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}
	})
	r.ask("hello")
	if n := len(r.model.Requests()); n > 3 {
		t.Errorf("got %d requests, want at most 3", n)
	}
	check.Len(t, "sent", r.connector.sent, 1)
	check.Contains(t, "notice", r.connector.sent[0].Text, "/compact")
}

func TestReplyThatCannotBeStoredIsReported(t *testing.T) {
	r := newRig(t, nil)
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 { // the outbox breaks while the model writes
			r.execute("ALTER TABLE outbox RENAME TO elsewhere")
		}
		return echo(ctx, n, req)
	}
	r.say("hello", true)
	r.connector.until(t, "words", func() bool { return len(r.connector.sent) == 1 })
	if p := r.connector.sent[0]; !p.Failure || !strings.Contains(p.Text, "holding it back") {
		t.Errorf("got notices %+v", p)
	}
	r.execute("ALTER TABLE elsewhere RENAME TO outbox")
	r.say("and now?", true)
	r.connector.until(t, "the answers", func() bool { return len(r.connector.sent) == 3 })
	r.waitForReplies()
	check.EqualAll(t, "sent", r.connector.texts()[1:], []string{"answer 2", "answer 3"})
	check.EqualAll(t, "transcript", r.transcript(), []string{"user: hello", "assistant: answer 2", "user: and now?", "assistant: answer 3"})
}

// A large database is rewritten for minutes: the answer waits, and the model is not asked again.
func TestReplyWaitsForRewrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		release := make(chan struct{})
		r = newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			rewriting := make(chan struct{})
			go func() {
				check.NoError(t, r.store.Update(t.Context(), func(*store.Tx) error {
					close(rewriting)
					<-release
					return nil
				}))
			}()
			<-rewriting
			return echo(ctx, n, req)
		})
		r.say("hello", true)
		time.Sleep(5 * time.Minute)
		check.EqualAll(t, "sent meanwhile", r.connector.texts(), nil)
		close(release)
		r.waitForReplies()
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
		r.stop()
	})
}

func TestMessageThatCannotBeStoredIsNotAccepted(t *testing.T) {
	r := newRig(t, echo)
	r.ask("hello")
	check.NoError(t, r.store.Close())
	if _, err := r.hub.Deliver(t.Context(), place, r.inbound("lost?", true)); err == nil {
		t.Error("a message that cannot be written was acknowledged")
	}
	check.NoError(t, r.hub.Close())
	r.hub = nil
}

// Conversations that cannot be opened are one incident. Nobody waits for them, and all recover.
func TestStuckConversationsLogOneWarningAndRecover(t *testing.T) {
	r := newRig(t, echo)
	log := r.captureLog()
	r.execute("ALTER TABLE compactions RENAME TO elsewhere")
	const many = 5
	where := func(i int) string { return fmt.Sprint(place, i) }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for i := range many {
		check.NoError(t, r.deliverTo(where(i), "hello", addressed))
		if err := r.hub.Idle(ctx, where(i)); err == nil || ctx.Err() != nil {
			t.Fatalf("waiting for a conversation that cannot be opened gave %v", err)
		}
		if _, _, err := r.hub.Run(ctx, where(i), channel.Person{}, "/context"); err == nil || ctx.Err() != nil {
			t.Fatalf("/context in a conversation that cannot be opened gave %v", err)
		}
	}
	check.Equal(t, "stuck conversations", r.hub.Stats().Stuck, many)
	r.execute("ALTER TABLE elsewhere RENAME TO compactions")
	for i := range many {
		r.tell(where(i), "and now?", addressed)
	}
	if n := len(r.connector.texts()); n < many {
		t.Errorf("got %d answers", n)
	}
	if warned, over := log.count("level=WARN"), log.count("conversations_recovered"); warned != 1 || over != 1 || r.hub.Stats().Stuck != 0 {
		t.Errorf("got %d warnings, %d recoveries, %d stuck conversations; want 1, 1 and 0:\n%s", warned, over, r.hub.Stats().Stuck, log.String())
	}
}

func TestUnsentReplyLogsOneWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo)
		log := r.captureLog()
		r.connector.note(func() { r.connector.failures = 3 })
		r.ask("hello")
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
		check.Equal(t, "warnings", log.count("level=WARN"), 1)
		check.Equal(t, "warnings", log.count("send_reply_failed"), 3)
		r.stop()
	})
}

func TestConversationReloadsAfterPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo)
		log := r.captureLog()
		r.ask("hello")
		for _, text := range []string{"and now?", "and then?"} {
			r.connector.panics.Store(1)
			r.say(text, true)
			synctest.Wait()
			r.tell("test:server/other", text, addressed) // no one else waits
			time.Sleep(time.Minute)
			r.waitForReplies()
		}
		check.EqualAll(t, "transcript", r.transcript(), []string{
			"user: hello", "assistant: answer 1", "user: and now?", "assistant: answer 3", "user: and then?", "assistant: answer 5",
		})
		check.Equal(t, "logged panics", log.count("conversation_panicked"), 2)
		check.Lacks(t, "sent", strings.Join(r.connector.texts(), "|"), "database") // it was not at fault, and a retry helped
		r.stop()
	})
}
