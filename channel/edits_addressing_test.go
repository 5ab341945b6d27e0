package channel_test

import (
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// editToAsk edits a message so that it addresses the bot, by Ada.
func (r *rig) editToAsk(id, text string, change ...func(m *channel.Inbound)) {
	r.t.Helper()
	m := channel.Inbound{ID: id, AuthorID: "u1", Author: "Ada", Text: text, Time: time.Now(), Addressed: true}
	for _, f := range change {
		f(&m)
	}
	check.NoError(r.t, r.hub.Edit(r.t.Context(), place, m))
	r.waitForReplies()
}

func TestEditThatAddressesTheBot(t *testing.T) {
	for claim, c := range map[string]struct {
		do   func(r *rig) // m1 was overheard, m2 was answered, m3 was overheard
		want string       // what follows "user: question | assistant: answer 1" and where the messages are that were overheard
	}{
		"is answered once, though it comes twice": {func(r *rig) {
			r.editToAsk("m3", "what is it?")
			r.editToAsk("m3", "what is it?")
		}, "user: first | Q | user: what is it? | assistant: answer 2"},
		"is answered once, with a restart in between": {func(r *rig) {
			r.editToAsk("m1", "what is it?")
			r.restart()
			r.editToAsk("m1", "what is it?")
			r.post(pastMessage("m1", "what is it?", 0, true)) // and the platform repeats the message
			r.restart()
			r.waitForReplies()
		}, "Q | user: last | user: what is it? | assistant: answer 2"},
		"is answered though the words are the same: only a mention was added": {func(r *rig) {
			r.editToAsk("m3", "last")
		}, "user: first | Q | user: last | assistant: answer 2"},
		"is answered as it was edited last": {func(r *rig) {
			r.editToAsk("m3", "what is it?")
			r.editToAsk("m3", "what was it?")
			r.editToAsk("m3", "old", func(m *channel.Inbound) { m.Time = m.Time.Add(-time.Minute) })
		}, "user: first | Q | user: what was it? | assistant: answer 2"},
		"is not answered again: a typo fixed in a question": {func(r *rig) {
			r.editToAsk("m2", "the question")
		}, "user: first | user: the question | assistant: answer 1 | user: last"},
		"is answered though the bot never saw the message": {func(r *rig) {
			r.editToAsk("unseen", "what is it?")
			r.editToAsk("unseen", "what is it?")
		}, "user: first | Q | user: last | user: what is it? | assistant: answer 2"},
		"is not answered if the message was deleted": {func(r *rig) {
			check.NoError(r.t, r.hub.Delete(r.t.Context(), place, "m3"))
			r.editToAsk("m3", "what is it?")
		}, "user: first | Q"},
		"is not answered if it is old": {func(r *rig) {
			r.editToAsk("m3", "what is it?", func(m *channel.Inbound) { m.Time = m.Time.Add(-2 * time.Hour) })
		}, "user: first | Q | user: what is it?"},
		"is not answered if a program makes it": {func(r *rig) {
			r.editToAsk("m3", "what is it?", func(m *channel.Inbound) { m.Bot = true })
		}, "user: first | Q | user: what is it?"},
		"is not answered if it is a command": {func(r *rig) {
			r.editToAsk("unseen", "/context")
		}, "user: first | Q | user: last"},
	} {
		r := newRig(t, echo)
		r.overhear("first")
		r.ask("question")
		r.overhear("last")
		c.do(r)
		want := strings.Replace(c.want, "Q", "user: question | assistant: answer 1", 1)
		check.Equal(t, claim, texts(r.transcript()), want)
		check.Equal(t, claim+": answers", len(r.connector.texts()), strings.Count(want, "assistant"))
		r.stop()
	}
}

func TestEditThatAddressesTheBotIsHeardAsAMessage(t *testing.T) {
	r := newRig(t, echo)
	r.overhear("swordfish")
	r.editToAsk("m1", "what is a swordfish?")
	check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
	r.ask("and now?")
	check.Lacks(t, "prompt", r.lastRequestText(), "swordfish")
	check.EqualAll(t, "replies to", r.connector.sent[0].To, []string{"m1"})

	r = newRig(t, echo).withRules(access.Rules{Access: map[string]access.Access{"test": {Deny: []string{"u2"}}}})
	r.editToAsk("unseen", "what is it?", func(m *channel.Inbound) { m.AuthorID = "u2" })
	check.Len(t, "answers to a denied person", r.connector.texts(), 0)

	r = newRig(t, always(llmtest.Say("NO_REPLY"))).withRules(respondRules(access.RespondAll)) // it may stay silent, and does
	r.overhear("does anyone know?")
	check.Len(t, "answers so far", r.connector.texts(), 0)
	r.model.Func = echo
	r.editToAsk("m1", "does the bot know?")
	check.Len(t, "answers", r.connector.texts(), 1)
}

func TestEditThatAddressesTheBotWhileItIsAway(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		p := &platform{}
		r.throughConnector(p)
		p.write(r, pastMessage("1001", "one", 0, false), pastMessage("1002", "two", 0, false))
		r.away()
		p.edit("1001", "what is it?")
		p.messages[0].Addressed = true
		r.catchUp()
		check.Equal(t, "transcript", texts(r.transcript()), "user: two | user: what is it? | assistant: answer 1")
		r.away()
		r.catchUp()
		check.Len(t, "answers", r.connector.texts(), 1)
	})
}
