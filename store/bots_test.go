package store_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// botTurns models which messages of bots a conversation answers.
type botTurns struct {
	t       *testing.T
	c       *store.Conversation
	all     []store.Inbound // in the order of their first delivery
	asked   map[string]bool // stored as addressed
	taken   map[string]bool // moved to the transcript
	counted int             // since a person wrote
}

func TestBotTurns(t *testing.T) {
	c := storetest.NewConversation(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		m := &botTurns{t: t, c: find(t, c.Store(), fmt.Sprint("terminal:", round)), asked: map[string]bool{}, taken: map[string]bool{}}
		rt.Repeat(map[string]func(*rapid.T){
			"new":     m.deliverNew,
			"again":   m.deliverAgain,
			"old":     m.deliverOld,
			"failing": m.deliverInVain,
			"dequeue": m.dequeue,
			"restart": m.restart,
			"":        m.check,
		})
		c = m.c
	})
}

// draw returns a new message: of a person or a bot, addressed or not.
func (m *botTurns) draw(rt *rapid.T) store.Inbound {
	in := said(len(m.all)+1, "hello")
	in.Bot = rapid.IntRange(0, 3).Draw(rt, "by a person") > 0
	in.Addressed = rapid.Bool().Draw(rt, "addressed")
	return in
}

// ask models a message that wants an answer, and returns whether it gets one.
func (m *botTurns) ask(in store.Inbound) bool {
	if !in.Bot || m.asked[in.ID] || !in.Addressed {
		return in.Addressed || m.asked[in.ID]
	}
	if m.counted == store.MaxBotTurns {
		return false
	}
	m.counted++
	return true
}

func (m *botTurns) deliverNew(rt *rapid.T) {
	in := m.draw(rt)
	if !in.Bot {
		m.counted = 0
	}
	m.all = append(m.all, in)
	m.asked[in.ID] = m.ask(in)
	receipt := check.Must(m.c.Inbox().Deliver(ctx, in))(rt)[0]
	check.Require(rt, receipt.Fresh && receipt.Addressed == m.asked[in.ID], "%+v: %+v", in, receipt)
}

// deliverAgain delivers a known message once more, perhaps as addressed for the first time: Slack reports a mention twice.
func (m *botTurns) deliverAgain(rt *rapid.T) {
	if len(m.all) == 0 {
		rt.Skip("none is known")
	}
	in := rapid.SampledFrom(m.all).Draw(rt, "known")
	in.Addressed = rapid.Bool().Draw(rt, "addressed")
	if !m.taken[in.ID] {
		m.asked[in.ID] = m.ask(in)
	}
	receipt := check.Must(m.c.Inbox().Deliver(ctx, in))(rt)[0]
	check.Require(rt, !receipt.Fresh && receipt.Addressed == m.asked[in.ID], "%+v: %+v", in, receipt)
}

// deliverOld delivers a missed message: only one that is answered counts.
func (m *botTurns) deliverOld(rt *rapid.T) {
	in := m.draw(rt)
	if !in.Bot && in.Addressed {
		m.counted = 0
	}
	m.all = append(m.all, in)
	m.asked[in.ID] = m.ask(in)
	check.Equal(rt, "new messages", check.Must(m.c.Past().FillGap(ctx, []store.Inbound{in}, "", false))(rt), 1)
}

// deliverInVain delivers a message in a transaction that fails.
func (m *botTurns) deliverInVain(rt *rapid.T) {
	check.ErrorContains(rt, "delivery", check.ErrorOf(m.c.Inbox().Deliver(ctx, m.draw(rt), store.Inbound{})), "it has no id")
}

func (m *botTurns) dequeue(rt *rapid.T) {
	for _, message := range deliver(m.t, m.c) {
		m.taken[message.ID] = true
		check.Equal(rt, "addressed "+message.ID, message.Addressed, m.asked[message.ID])
	}
}

func (m *botTurns) restart(rt *rapid.T) {
	if rapid.IntRange(0, 9).Draw(rt, "rarely") == 0 {
		m.c = reopen(m.t, m.c)
	}
}

func (m *botTurns) check(rt *rapid.T) {
	check.Equal(rt, "bot turns", number(m.t, m.c.Store(), fmt.Sprint("SELECT bot_turns FROM conversations WHERE id = ", m.c.ID())), m.counted)
}

// A task's first message and its result are the bot's own, and a purged conversation starts anew.
func TestWhatDoesNotCountAsABotTurn(t *testing.T) {
	c := storetest.NewConversation(t)
	ping := asking(1, "ping")
	ping.Bot = true
	deliver(t, c, ping)
	wantBotTurns := func(what string, want int) {
		t.Helper()
		check.Equal(t, what+": bot turns", number(t, c.Store(), "SELECT sum(bot_turns) FROM conversations"), want)
	}
	wantBotTurns("after a bot's message", 1)
	task := check.Must(c.Tasks().Begin(ctx, store.NewTask{Task: store.Task{Agent: "one", Text: "count", Began: 1}, Message: "count", Turn: 1, Max: 4, Chain: 8}))(t)
	wantBotTurns("after the start of a task", 1)
	check.Equal(t, "the task ends", check.Must(find(t, c.Store(), task.Conversation).Tasks().End(ctx, store.TaskDone, "one", "42"))(t), true)
	deliver(t, c)
	wantBotTurns("after its result", 1)
	check.NoError(t, privacy.Of(c).Purge(ctx))
	wantBotTurns("after a purge", 0)
}
