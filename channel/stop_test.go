package channel_test

import (
	"context"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

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
func TestATurnThatIsStoppedAtItsBeginningIsStopped(t *testing.T) {
	r := newRig(t, echo)
	r.withCritic(func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("No."), nil })
	r.stop()
	db := &stoppingStore{f: func() { r.run("/stop") }}
	r.wrap = func(s channel.Store) channel.Store { db.Store = s; return db }
	r.start()
	r.say("@critic what do you think?", true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.hub.Idle(ctx, place); err != nil {
		t.Errorf("the conversation could not go on: %v", err)
	}
	expect(t, "it says", len(r.connector.texts()), 0)
}
