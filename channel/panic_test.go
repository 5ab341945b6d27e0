package channel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
)

func TestConversationReloadsAfterPanic(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
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
		check.Lacks(t, "sent", texts(r.connector.texts()), "database") // it was not at fault, and a retry helped
	})
}

func TestCommandsThatPanic(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		var panics atomic.Int32
		r.agent.Policy = func() compactor.Policy {
			if panics.Add(-1) >= 0 {
				panic("policy")
			}
			return compactor.DefaultPolicy()
		}
		r.ask("hello")
		for _, line := range []string{"/undo", "/tools"} { // in the loop, and in the goroutine of the command
			panics.Store(1)
			answer, _, err := r.hub.Run(t.Context(), place, boss, line)
			check.That(t, err != nil, "%s succeeds: %q", line, answer.Text)
			time.Sleep(time.Minute)
			r.ask("and now?")
		}
	})
}

// misspelling is a connector whose Spell panics once it is on.
type misspelling struct {
	*connector
	on atomic.Bool
}

func (m *misspelling) wrap(inner *connector) { m.connector = inner }

func (m *misspelling) Spell(_, line string) string {
	if m.on.Load() {
		panic("spell")
	}
	return line
}

// What a command has started is awaited by a goroutine of a connector.
func TestOutcomeOfCommandThatPanics(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		m := new(misspelling)
		log := r.throughConnector(m).captureLog()
		r.withWorker(func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		})
		r.askTurns(10, 30)
		answer := r.runAs(boss, place, "/compact")
		m.on.Store(true)
		ended, end := context.WithCancel(t.Context())
		end()
		check.Equal(t, "the outcome", answer.Then(ended).Text, "That did not work; my log says why. Try again later.")
		check.Equal(t, "logged panics", log.count("command_panicked"), 1)
		m.on.Store(false)
		r.ask("and now?")
	})
}

// The engine that a compaction was requested of may be discarded before it says how that starts.
func TestRequestOfDiscardedEngineFails(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		release := make(chan struct{})
		r.opts.Before = func(context.Context, string, compactor.Proposal) (string, error) {
			<-release
			return "", nil
		}
		r.withWorker(numberedSummaries)
		r.askTurns(10, 30)
		failed := make(chan error, 1)
		go func() {
			_, _, err := r.hub.Run(t.Context(), place, boss, "/compact")
			failed <- err
		}()
		synctest.Wait()
		r.connector.panics.Store(1)
		r.say("this breaks the loop", false)
		synctest.Wait()
		close(release)
		select {
		case err := <-failed:
			check.That(t, err != nil, "the request succeeds")
		case <-time.After(time.Minute):
			t.Error("the request never ends")
		}
	})
}

// A connector may have a bug in what it sends without the outbox.
func TestNoticeThatPanics(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		log := r.captureLog()
		r.connector.fails = func(channel.Piece) error { panic("send") }
		r.execute("ALTER TABLE compactions RENAME TO elsewhere")
		r.say("hello", true)
		time.Sleep(30 * time.Second)
		check.Equal(t, "notices that failed", log.count("send_notice_failed"), 1)
		r.connector.note(func() { r.connector.fails = nil })
		r.execute("ALTER TABLE elsewhere RENAME TO compactions")
		time.Sleep(time.Minute)
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: hello", "assistant: answer 1"})
	})
}
