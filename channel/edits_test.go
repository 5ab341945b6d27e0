package channel_test

import (
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func editMessageAt(r *rig, id, text string, at time.Time) {
	r.t.Helper()
	check.NoError(r.t, r.hub.Edit(r.t.Context(), place, channel.Inbound{ID: id, Text: text, Time: at}))
	r.waitForReplies()
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
		before := r.lastRequestText()
		check.Contains(t, "prompt", before, "4711")
		check.Lacks(t, "prompt", before, "1234")
		r.restart()
		r.ask("once more?")
		check.HasPrefix(t, "prompt after a restart", r.lastRequestText(), before)
	})
	t.Run("an edited waiting message is answered as edited, and a deleted one is not answered", func(t *testing.T) {
		r, release := newBusyRig(t)
		r.say("tow", true)
		check.NoError(t, r.hub.Edit(t.Context(), place, channel.Inbound{ID: "m2", Text: "two", Time: time.Now()}))
		r.say("three", true)
		check.NoError(t, r.hub.Delete(t.Context(), place, "m3"))
		release()
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: one", "assistant: answer 1", "user: two", "assistant: answer 2"})
	})
	t.Run("a deleted message leaves the prompt for good", func(t *testing.T) {
		r := newRig(t, echo)
		r.say("the secret is swordfish", false)
		r.ask("hello")
		check.NoError(t, r.hub.Delete(t.Context(), place, "m1", "nobody"))
		r.waitForReplies()
		r.ask("what is it?")
		check.Lacks(t, "prompt", r.lastRequestText(), "swordfish")
		r.post(pastMessage("m1", "the secret is swordfish", 0, true)) // a repeated delivery
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: hello", "assistant: answer 1", "user: what is it?", "assistant: answer 2"})
	})
}

func TestDeletionDuringTurn(t *testing.T) {
	t.Run("a message leaves the next request", func(t *testing.T) {
		r := newRig(t, nil)
		r.model.Func = while(func(int) { check.Error(t, r.hub.Delete(t.Context(), place, "m1"), nil) },
			inTurn(useTool("recall", map[string]any{"query": "x"}), llmtest.Say("well")))
		r.say("the secret is swordfish", false)
		r.ask("hello")
		check.Lacks(t, "request 2", r.lastRequestText(), "swordfish")
	})
	t.Run("a turn without its question is not repeated", func(t *testing.T) {
		r := newRig(t, nil)
		log := r.captureLog()
		r.model.Func = while(func(int) { check.Error(t, r.hub.Delete(t.Context(), place, "m1"), nil) },
			failing(&llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "busy"}))
		r.say("hello", true)
		r.becomesIdle(time.Second)
		r.stop()
		check.Lacks(t, "log", log.String(), "conversation_stalled")
	})
	t.Run("before the turn is resumed: no open turn is left, which would stop /new", func(t *testing.T) {
		inBubble(t, echo, func(t *testing.T, r *rig) {
			r.overhear("something")
			r.execute("CREATE TRIGGER refuse BEFORE INSERT ON outbox BEGIN SELECT RAISE (ABORT, 'no'); END")
			r.say("hello", true)
			r.waitForSent("holding it back")
			check.NoError(t, r.hub.Delete(t.Context(), place, "m2"))
			r.execute("DROP TRIGGER refuse")
			r.run("/new")
			time.Sleep(time.Minute)
			r.waitForReplies()
			check.Equal(t, "stuck conversations", r.hub.Stats().Stuck, 0)
			check.HasPrefix(t, "answer", r.ask("and now?"), "answer ")
		})
	})
}
