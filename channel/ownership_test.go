package channel_test

import (
	"testing"
	"time"

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

// In an outage of the database each process receives a part of what people write.
func TestMessagesOfAnOutageAreInOrder(t *testing.T) {
	c := pgtest.New(t)
	network := pgtest.NewProxy(t, c)
	owner := startProcessAt(t, network.Address("postgres"), "cairn", "test", access.Rules{})
	other := startProcessAt(t, network.Address("postgres"), "cairn", "test", access.Rules{})
	owner.knowsOthers(2)
	owner.ask("ann", "yes")
	network.Cut()
	network.Disconnect()
	check.Require(t, check.Soon(func() bool { return !channel.FleetOf(owner.hub).MayAct() }), "the lease does not end")
	back := channel.FleetOf(owner.hub).Recovered()
	network.Connect()
	<-back
	first := time.Now()
	owner.say(first.Add(time.Millisecond), "ann", "second")
	time.Sleep(100 * time.Millisecond) // the other process needs longer
	other.say(first, "ann", "first")
	if time.Since(first) > 600*time.Millisecond {
		t.Skip("the other process stored its message too late: the machine is busy")
	}
	records := check.Must(owner.store.Find(t.Context(), owner.place()))(t)
	said := func() (texts []string) {
		for _, m := range check.Must(records.Transcript().Page(t.Context(), 1, 100))(t) {
			if m.Author == "ann" {
				texts = append(texts, m.Text)
			}
		}
		return texts
	}
	check.That(t, check.Soon(func() bool { return len(said()) == 3 }), "ann said %q", said())
	check.EqualAll(t, "what ann said", said(), []string{"hello", "first", "second"})
}
