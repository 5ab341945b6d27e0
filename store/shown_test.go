package store_test

import (
	"testing"

	"cairn/privacy"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// A reply that a message shows already is not sent, and is found by that message.
func TestShownReplyIsNotSent(t *testing.T) {
	c := newTalk(t)
	turn := deliver(t, c, asking(1, "what time is it?"))[0].Turn
	o := fullAnswer(turn)
	o.ShownAs = "1700000000.000100"
	check.Must(c.Turns().Finish(ctx, o))(t)
	check.Len(t, "pieces to send", unsent(t, c), 0)
	piece := check.Must(c.Outbox().SentAs(ctx, o.ShownAs))(t)
	check.Equal(t, "the reply", piece.Reply, o.Reply)
	check.Equal(t, "the text of what was sent", piece.Text, "")
}

func TestWhatWasSaidIsFoundByItsID(t *testing.T) {
	c := newTalk(t)
	waits := asking(1, "what time is it?")
	waits.ReplyTo = "m0"
	check.Must(c.Inbox().Deliver(ctx, waits))(t)
	for _, where := range []string{"in the inbox", "in the transcript"} {
		text, replyTo, err := c.Inbox().Said(ctx, waits.ID)
		check.That(t, text == waits.Text && replyTo == "m0" && err == nil, "%s: %q, reply to %q, %v", where, text, replyTo, err)
		deliver(t, c)
	}
	text, replyTo, err := c.Inbox().Said(ctx, "unknown")
	check.That(t, text+replyTo == "" && err == nil, "an unknown message: %q, reply to %q, %v", text, replyTo, err)
}

// Each is found also after it was deleted.
func TestWhoAskedFirst(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, storetest.Said(1, "hello"))
	turn := deliver(t, c, asking(2, "what time is it?"))[0].Turn
	check.Must(c.Turns().Finish(ctx, fullAnswer(turn)))(t)
	deliver(t, c, asking(3, "and now?"))
	check.NoError(t, privacy.Of(c).Delete(ctx, []string{"m2", "m3"}))
	for id, want := range map[string][2]bool{"m1": {false, true}, "m2": {true, true}, "m3": {true, false}, "unknown": {}} {
		asked, first, err := c.Inbox().AskedFirst(ctx, id)
		check.That(t, err == nil && [2]bool{asked, first} == want, "%s: asked %v, first %v, %v", id, asked, first, err)
	}
}
