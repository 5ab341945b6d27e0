package channel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// crashDuringTurn leaves the store as if the process was killed after it took up a message.
func crashDuringTurn(t *testing.T, r *rig) *store.Conversation {
	t.Helper()
	conv, m := check.Must(r.store.Conversation(t.Context(), place))(t), r.inbound("are you there?", true)
	m.Time = m.Time.Add(-48 * time.Hour) // only the arrival time counts
	check.Len(t, "accepted", storetest.Deliver(t, conv, m), 1)
	return conv
}

func TestOldTurnIsNotResumed(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		storetest.DeliverOnly(t, crashDuringTurn(t, r), r.inbound("anybody?", true))
		time.Sleep(2 * time.Hour)
		r.restart()
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: are you there?", "user: anybody?"})
		r.ask("hello")
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
	})
}

func TestInterruptedTurnHasTwoAttempts(t *testing.T) {
	for crashes, want := range map[int]string{1: "answer 1", 2: "I was interrupted twice"} {
		r := newRig(t, echo)
		conv := crashDuringTurn(t, r)
		for range crashes - 1 {
			check.Must(conv.Turns().Retry(t.Context(), 1))(t)
		}
		r.restart()
		r.waitForReplies()
		check.Len(t, "requests", r.model.Requests(), 2-crashes)
		check.HasPrefix(t, "sent", r.lastText(), want)
		check.Equal(t, "a failure", r.connector.sent[0].Failure, crashes == 2)
	}
}

func TestUnsentReplyIsResentWithSameID(t *testing.T) {
	r := newRig(t, echo)
	r.connector.failures = 1_000_000
	r.say("hello", true)
	r.connector.until(t, "a failed send", func() bool { return r.connector.failures < 1_000_000 })
	r.stop()
	r.connector.failures = 0
	for range 2 {
		r.restart()
		r.waitForReplies()
		check.Len(t, "pieces sent", r.connector.sent, 1)
	}
	check.That(t, r.connector.sent[0].Reply == "reply-2" && r.connector.sent[0].Sending, "got sent %+v", r.connector.sent)
}

func TestShutdownLosesNothing(t *testing.T) {
	r := newRig(t, blockUntilCanceled)
	r.say("hello", true)
	r.connector.until(t, "the turn", func() bool { return r.connector.countTaken() == 1 })
	r.say("and more", true)
	r.stop()
	r.model.Func = alwaysSay("yes")
	r.restart()
	r.waitForReplies()
	check.EqualAll(t, "transcript", r.transcript(), []string{"user: hello", "assistant: yes", "user: and more", "assistant: yes"})
	check.That(t, r.deliverTo("nowhere:general", "x", addressed) != nil, "a message for no connector was accepted")
}

func TestTurnsDoNotWaitForCompaction(t *testing.T) {
	const reply = 30 * time.Millisecond
	inBubble(t, after(reply, echo), func(t *testing.T, r *rig) {
		r.model.Tokens = 4000
		r.withWorker(after(5*time.Second, numberedSummaries))
		withWorker := 0
		for i := range 60 {
			time.Sleep(300 * time.Millisecond)
			start := time.Now()
			r.ask(fmt.Sprintf("turn %d %s", i, strings.Repeat("the word by word talked ", 12)))
			check.Equal(t, fmt.Sprintf("turn %d took", i), time.Since(start), reply)
			if r.running() {
				withWorker++
			}
		}
		check.That(t, withWorker >= 20, "the worker ran in %d turns only: the test proves little", withWorker)
		check.NoError(t, r.hub.Drain(t.Context()))
		state := check.Must(storetest.Find(t, r.store, place).Compactions().Load(t.Context()))(t)
		covered := len(state.Messages)
		for _, row := range state.Head.Stack {
			covered += row.Messages
			check.That(t, row.Kind != compactor.Placeholder, "messages %d to %d are neither verbatim nor summarized", row.From, row.To)
		}
		check.Equal(t, "messages verbatim or summarized", covered, 120)
	})
}

// running reports whether the last worker event is a start.
func (r *rig) running() (running bool) {
	r.connector.mu.Lock()
	defer r.connector.mu.Unlock()
	for _, e := range r.connector.events {
		if e.By == compactor.ByWorker {
			running = e.State == compactor.EventStarted
		}
	}
	return running
}

// stoppingStore runs f when pauses are queried, which a turn does when it starts.
type stoppingStore struct {
	channel.Store
	f func()
}

func (s *stoppingStore) Pauses() store.Pauses {
	if f := s.f; f != nil {
		s.f = nil
		f()
	}
	return s.Store.Pauses()
}

// The turn is not started again, as it would be after a disk failure.
func TestStopAtTurnStart(t *testing.T) {
	r := newRig(t, echo)
	r.withCritic(alwaysSay("No."))
	r.stop()
	db := &stoppingStore{f: func() { r.run("/stop") }}
	r.wrap = func(s channel.Store) channel.Store { db.Store = s; return db }
	r.start()
	r.say("@critic what do you think?", true)
	r.waitForReplies()
	check.Len(t, "answers", r.connector.texts(), 0)
}
