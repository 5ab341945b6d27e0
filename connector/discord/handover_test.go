package discord

import (
	"testing"

	"cairn/channel"
	"cairn/testkit/check"
)

// handedOver returns the session that the next process resumes, and its events, after a process has left the only shard of a bot; change
// changes either of them, and the shard of the first.
func handedOver(t *testing.T, change func(before, next *Discord, s *shard)) (*session, *events) {
	t.Helper()
	before, next := check.Must(New(Options{Token: token}))(t), check.Must(New(Options{Token: token}))(t)
	before.state.bot.Store(&self{user{ID: "1", Username: "cairn"}, "2"})
	s := before.shards.add(channel.Shard{Count: 1})
	change(before, next, s)
	s.note(&session{id: "a session", resumeURL: "wss://there", sequence: 7, intents: before.shards.intents()})
	successor := next.shards.add(channel.Shard{Count: 1, Session: before.shards.lastPositions()[0]})
	return successor.adopt(t.Context()), successor.events
}

func TestSessionIsContinuedWhereItWasLeft(t *testing.T) {
	adopted, e := handedOver(t, func(_, _ *Discord, _ *shard) {})
	check.Require(t, adopted != nil, "nothing is resumed")
	check.That(t, adopted.id == "a session" && adopted.resumeURL == "wss://there" && adopted.sequence == 7, "it resumes %+v", adopted)
	check.Equal(t, "commands of before are run", e.replayed, false)
	check.Equal(t, "as whom", *e.state.bot.Load(), self{user{ID: "1", Username: "cairn"}, "2"})
}

func TestSessionThatWasLeftDuringAReplay(t *testing.T) {
	adopted, e := handedOver(t, func(_, _ *Discord, s *shard) { s.events.adopt(true) })
	check.Require(t, adopted != nil, "nothing is resumed")
	check.Equal(t, "commands that the process before the last may have run are left out", e.replayed, true)
}

func TestSessionWithOtherEventsIsNotContinued(t *testing.T) {
	adopted, _ := handedOver(t, func(_, next *Discord, _ *shard) { next.shards.mentionOnly = true })
	check.Equal(t, "a session without the events that this process wants is resumed", adopted != nil, false)
}
