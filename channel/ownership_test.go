package channel_test

import (
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

// A process that could not release a conversation when it left the platform passes on what is written there.
func TestConversationThatWasNotReleased(t *testing.T) {
	c := pgtest.New(t)
	owner := startProcess(t, c, "cairn", "test", access.Rules{})
	next := startProcess(t, c, "cairn", "test", access.Rules{})
	owner.knowsOthers(2)
	owner.ask("ann", "yes")
	channel.FleetOf(owner.hub).Withdraw(t.Context(), "test")
	check.NoError(t, channel.FleetOf(next.hub).StandBy(t.Context(), "test"))
	check.NoError(t, c.Run("postgres", "UPDATE cairn.conversations SET owner = (SELECT min(id) FROM cairn.processes)")) // as if that had failed
	next.deliver("ann")
	next.until(t, "the answer", func() bool { return len(next.sent) == 1 })
}
