package store_test

import (
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// What a process asks of messages that other processes may have received.
func TestWhatOthersReceived(t *testing.T) {
	c := newTalk(t)
	thread := find(t, c.Store(), c.Name()+"/1")
	has := func(but string) bool { return check.Must(thread.Inbox().HasOther(ctx, but))(t) }
	where := func(id string) string { return check.Must(c.ThreadWith(ctx, id))(t) }
	check.That(t, !has(""), "an empty thread has messages")
	storetest.DeliverOnly(t, thread, said(7, "waits"))
	check.EqualAll(t, "a waiting message, besides itself", []bool{has("m7"), has("m8")}, []bool{false, true})
	check.Equal(t, "the place of a waiting message", where("m7"), thread.Name())
	deliver(t, thread, said(8, "taken up"))
	check.EqualAll(t, "a message with a place", []bool{has("m7"), has("m8"), has("m9")}, []bool{true, true, true})
	check.Equal(t, "the place of a message with a place", where("m8"), thread.Name())
	deliver(t, c, said(9, "above"))
	check.EqualAll(t, "places of other messages", []string{where("m9"), where("m10")}, []string{"", ""})
	holding := func(id string) string { return check.Must(c.Holding(ctx, id))(t) }
	check.EqualAll(t, "who has a message", []string{holding("m7"), holding("m8"), holding("m9"), holding("m10")}, []string{thread.Name(), thread.Name(), c.Name(), ""})

	other := find(t, c.Store(), c.Name()+"/2")
	first := func() bool { return check.Must(other.Inbox().FirstTo(ctx, "command-m11"))(t) }
	check.EqualAll(t, "who is first to a command", []bool{first(), first()}, []bool{true, false})
	check.That(t, check.Must(other.Inbox().HasOther(ctx, "m11"))(t), "a command counts for nothing")
}
