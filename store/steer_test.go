package store_test

import (
	"sync"
	"testing"

	"cairn/chat"
	"cairn/llm"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func steering(n int, text string) store.Inbound {
	m := asking(n, text)
	m.Steers = true
	return m
}

// answerWith returns the answer to the turn 1, with messages of people by their ids at their seqs.
func answerWith(people map[int64]string) store.Outcome {
	o := store.Outcome{Turn: 1, Reply: "r", Pieces: []string{"well"}}
	for seq := int64(2); seq <= 6; seq++ {
		m := chat.Message{Seq: seq, Turn: 1, Role: llm.RoleAssistant, Text: "well", Time: storetest.Day}
		if id := people[seq]; id != "" {
			m = chat.Message{Seq: seq, Turn: 1, Role: llm.RoleUser, ID: id, Text: "as it was read", Author: "Ann", Time: storetest.Day}
		}
		o.Messages = append(o.Messages, m)
	}
	return o
}

// Messages for a running turn wait until its answer is stored, with the words that they have then.
func TestMessagesForARunningTurn(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, asking(1, "what time is it?"))
	deliverOnly(t, c, steering(2, "in Oslo"))
	deliverOnly(t, c, asking(3, "and where?"))
	deliverOnly(t, c, steering(4, "in winter"))
	incomplete := steering(5, "see the file")
	incomplete.Incomplete = true
	deliverOnly(t, c, incomplete)
	waiting := check.Must(c.Inbox().Steering(ctx))(t)
	check.EqualAll(t, "for the turn", storetest.Map(waiting, func(m chat.Message) string { return m.ID + " " + m.Text }), []string{"m2 in Oslo", "m4 in winter"})
	edit := steering(2, "in Oslo, please")
	edit.Time = edit.Time.AddDate(0, 0, 1)
	_, changed, err := privacy.Of(c).Edit(ctx, edit)
	check.That(t, changed && err == nil, "the edit: %v, %v", changed, err)
	check.NoError(t, privacy.Of(c).Delete(ctx, []string{"m4"}))
	check.Must(c.Turns().Finish(ctx, answerWith(map[int64]string{3: "m2", 5: "m4"})))(t)

	all := check.Must(c.Transcript().Page(ctx, 1, 100))(t)
	check.EqualAll(t, "the transcript", storetest.Map(all, func(m chat.Message) string { return m.ID + " " + m.Text }), []string{
		"m1 what time is it?", " well", "m2 in Oslo, please", " well", " well",
	})
	check.Equal(t, "the turn", all[2].Turn, int64(1))
	check.Equal(t, "what waits", check.Must(c.Inbox().Due(ctx))(t).Waiting, 2)
	check.Len(t, "findings", check.Must(c.Store().Upkeep().Check(ctx))(t), 0)
	again := check.Must(c.Inbox().Deliver(ctx, steering(2, "in Oslo"), steering(4, "in winter")))(t)
	check.That(t, !again[0].Fresh && !again[1].Fresh, "delivered again: %+v", again)
	state := load(t, c)
	check.Equal(t, "the next place", state.Next, int64(7))
}

// A message in a thread may come to two processes, of which one knows of a running answer of the channel, and the other of none.
func TestMessageThatMayBeForARunningTurnIsStoredOnce(t *testing.T) {
	t.Run("by one process", func(t *testing.T) {
		s := newTalk(t).Store()
		storedOnce(t, s, s)
	})
	t.Run("by two processes", func(t *testing.T) {
		all, _ := fleet(t, 2)
		storedOnce(t, all[0].Store, all[1].Store)
	})
}

// storedOnce has two stores deliver messages, one to a channel's conversation and the other to a thread's.
func storedOnce(t *testing.T, first, second *store.Store) {
	t.Helper()
	const channel, thread = "slack:T1/C1", "slack:T1/C1/1.1"
	above := check.Must(first.Conversation(ctx, channel))(t)
	below := check.Must(second.Conversation(ctx, thread))(t)
	for n := 1; n <= 40; n++ {
		m := steering(n, "in Oslo")
		m.Above = channel
		var fresh [2]bool
		var wait sync.WaitGroup
		for i, c := range []*store.Conversation{above, below} {
			wait.Go(func() {
				receipts, err := c.Inbox().Deliver(ctx, m)
				check.NoError(t, err)
				fresh[i] = err == nil && receipts[0].Fresh
			})
		}
		wait.Wait()
		check.That(t, fresh[0] != fresh[1], "message %d is fresh in %v", n, fresh)
		for i, c := range []*store.Conversation{above, below} { // Slack repeats what nobody has acknowledged
			again := check.Must(c.Inbox().Deliver(ctx, m))(t)
			check.That(t, !again[0].Fresh && (again[0].Addressed == fresh[i]), "message %d, repeated: %+v", n, again[0])
		}
	}
	stored := append(check.Must(above.Inbox().Oldest(ctx, 100))(t), check.Must(below.Inbox().Oldest(ctx, 100))(t)...)
	check.Len(t, "messages", stored, 40)
}
