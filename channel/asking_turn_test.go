package channel_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/pgtest"
)

// What people say to a running turn, or about its calls, reaches it from any process.

// A message for the running answer, and the command, come to a process that does not write it.
func TestSteeringReachesTheTurnOfAnotherProcess(t *testing.T) {
	address := pgtest.New(t).Address("postgres")
	var other *rig
	said := make(chan struct{})
	reads := func(req llm.Request) bool {
		last := textOf(req)
		return strings.Contains(last, " Ada] in French") && strings.Contains(last, " Bo] and short")
	}
	owner := inFleet(t, address, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		switch {
		case n == 1:
			<-said
		case reads(req):
			return llmtest.Say("en bref"), nil
		default: // it hears of them soon
			time.Sleep(200 * time.Millisecond)
		}
		return lookUp, nil
	})
	other = inFleet(t, address, echo)
	owner.say("what is tea?", true)
	owner.connector.until(t, "the turn", func() bool { return len(owner.connector.accepted) > 0 })
	steer := other.inbound("/steer in French", true)
	steer.ID = "s1"
	other.deliverMessage(steer)
	check.Equal(t, "the answer of the command", other.runAs(bo, place, "/steer and short").Text, "Bo: and short")
	close(said)
	owner.waitForReplies()
	check.EqualAll(t, "what the owner sends", owner.connector.texts(), []string{"en bref"})
	check.Len(t, "what the other process sends", other.connector.texts(), 0)
	people := slices.DeleteFunc(owner.messagesIn(place), func(m chat.Message) bool { return m.Role != llm.RoleUser })
	check.That(t, len(people) == 3 && people[1].ID == "s1" && people[1].Turn == 1 && people[2].Text == "and short" && people[2].Turn == 1, "people said %+v", people)
}

// A question is answered after the process that has asked it has ended, at one that does not own the conversation.
func TestLateApprovalAtAnotherProcess(t *testing.T) {
	server := pgtest.New(t)
	address := server.Address("postgres")
	first := inFleet(t, address, nil)
	first.withTools(channel.ApproveAlways)
	first.say("please add", true)
	line := first.question(1)[0].Line
	first.stop()
	check.NoError(t, server.Run("postgres", "UPDATE cairn.messages SET saved_at = saved_at - 86400000")) // too old to be answered by itself

	owner := inFleet(t, address, nil)
	b := owner.withTools(channel.ApproveAlways)
	check.NoError(t, owner.hub.Recover(t.Context(), func(string) bool { return true }))
	owner.waitForReplies()
	check.Len(t, "requests", owner.model.Requests(), 0)
	other := inFleet(t, address, nil)
	idle := other.withTools(channel.ApproveAlways)
	other.says(bo, place, line, "only for people who manage")
	other.wantAnswer(line, "Ada allowed the call of calc_add; I go on with it.")
	owner.waitForReplies()
	check.EqualAll(t, "what the owner sends", owner.connector.texts(), []string{"The tool says: five"})
	check.Len(t, "calls of the owner", b.Called(), 1)
	check.Len(t, "calls of the other", idle.Called(), 0)
	other.wantAnswer(line, "No such tool call is waiting")
}
