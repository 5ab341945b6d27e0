package store_test

import (
	"testing"

	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

func TestOwnerIsToldWhatOthersWrite(t *testing.T) {
	all, database := fleet(t, 2)
	owner, other := all[0], all[1]
	c := owner.claim("terminal:general")
	deliver(t, c, asking(1, "hello"))
	same := find(t, owner.Store, "terminal:general") // as a connector of the owner's process has it
	deliver(t, same, asking(2, "hello"))
	shell := check.Must(store.Open(ctx, store.Options{Postgres: pgtest.Shared(t).Address(database), Schema: "cairn", Shared: true}))(t)
	defer shell.Close()
	events := func(p *process) (all []store.Event) {
		t.Helper()
		mine, free, err := p.Events(ctx)
		check.NoError(t, err)
		check.Len(t, "free conversations", free, 0)
		return mine
	}
	check.Len(t, "what the owner tells itself", events(owner), 0)
	there := find(t, other.Store, "terminal:general")
	more := store.Event{Conversation: "terminal:general"}
	changed := store.Event{Conversation: "terminal:general", Changed: true}
	deliverOnly(t, there, asking(3, "hello"))
	check.EqualAll(t, "after a message", events(owner), []store.Event{more})
	edit(t, there, 1, "goodbye")
	check.NoError(t, there.Past().SetGap(ctx, "1"))
	check.EqualAll(t, "after an edit and a gap", events(owner), []store.Event{changed, more})
	check.NoError(t, privacy.Of(find(t, shell, "terminal:general")).Delete(ctx, []string{"m1"}))
	check.EqualAll(t, "after a deletion by a shell command", events(owner), []store.Event{changed})
	check.Len(t, "events of the other process", events(other), 0)
	who := store.Person{Connector: "terminal", ID: "1", Name: "Bob"}
	check.Must(privacy.In(other.Store).Erase(ctx, who, there))(t)
	check.EqualAll(t, "after an erasure", events(owner), []store.Event{changed})
}

// A deletion in a channel changes what its threads quote, which other processes may own.
func TestOwnersOfThreadsAreTold(t *testing.T) {
	all, _ := fleet(t, 2)
	channel := all[0].claim("discord:1/2")
	deliver(t, channel, asking(1, "hello"))
	thread := all[1].claim("discord:1/2/m1")
	deliver(t, thread, asking(2, "well"))
	check.NoError(t, privacy.Of(channel).Delete(ctx, []string{"m1"}))
	mine, _, err := all[1].Events(ctx)
	check.NoError(t, err)
	check.EqualAll(t, "events", mine, []store.Event{{Conversation: "discord:1/2/m1", Changed: true}})
}

func TestMessagesForNobodyAreTakenUp(t *testing.T) {
	all, _ := fleet(t, 2)
	deliverOnly(t, find(t, all[0].Store, "terminal:general"), asking(1, "hello"))
	_, free, err := all[1].Events(ctx)
	check.NoError(t, err)
	check.EqualAll(t, "what waits to be taken up", free, []string{"terminal:general"})
}
