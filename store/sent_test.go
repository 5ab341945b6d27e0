package store_test

import (
	"testing"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// A terminal reads what was sent since it came, whichever process has sent it.
func TestWhatWasSentSince(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c := find(t, s, "terminal:general")
	other := find(t, s, "terminal:other")
	isOpen := func(id string) bool {
		t.Helper()
		return check.Must(c.Turns().Open(ctx, id))(t)
	}
	check.Equal(t, "the newest row of an empty outbox", check.Must(c.Outbox().Newest(ctx))(t), 0)
	check.That(t, !isOpen("m1"), "a message that never came is open")
	deliverOnly(t, c, asking(1, "what time is it?"))
	check.That(t, isOpen("m1"), "a message in the inbox is not open")
	turn := deliver(t, c)[0].Turn
	check.That(t, isOpen("m1"), "a message without an answer is not open")
	check.Must(c.Turns().Finish(ctx, fullAnswer(turn)))(t)
	check.That(t, isOpen("m1"), "a message whose answer waits to be sent is not open")
	check.NoError(t, other.Outbox().Post(ctx, store.Outcome{Reply: "n1", Pieces: []string{"a notice"}, Failure: true}))
	check.Equal(t, "the row before what is still sent", check.Must(c.Outbox().Newest(ctx))(t), 0)
	check.Equal(t, "the same elsewhere", check.Must(other.Outbox().Newest(ctx))(t), 2)

	check.NoError(t, c.Outbox().Sent(ctx, 1, "p1"))
	check.NoError(t, c.Outbox().Drop(ctx, 2, "refused"))
	check.That(t, !isOpen("m1"), "an answered message is open")
	check.NoError(t, other.Outbox().Sent(ctx, 3, "p3"))
	check.Equal(t, "the newest row", check.Must(c.Outbox().Newest(ctx))(t), 3)
	sent := check.Must(c.Outbox().SentAfter(ctx, 0, 10))(t)
	check.Len(t, "sent pieces", sent, 1)
	check.That(t, sent[0].Row == 1 && sent[0].Reply == "r1" && sent[0].To[0] == "m1" && sent[0].Text == "", "sent: %+v", sent)
	check.Len(t, "sent pieces after it", check.Must(c.Outbox().SentAfter(ctx, 1, 10))(t), 0)
}
