package store_test

import (
	"testing"

	"cairn/store"
	"cairn/testkit/check"
)

// TestUnreadImport: what an import has stored and its compactor not read is found in the transcript, and not in the state that the
// compactor loads; it is read in order, and what is
// left is read by the next process.
func TestUnreadImport(t *testing.T) {
	c := newTalk(t)
	loaded := func(next int64, want ...string) {
		t.Helper()
		state := check.Must(c.Compactions().Load(ctx))(t)
		check.EqualAll(t, "loaded", ids(state.Messages), want)
		check.Equal(t, "next", state.Next, next)
	}
	unread := func(want int) {
		t.Helper()
		check.Equal(t, "unread", check.Must(c.Past().Unread(ctx))(t), want)
	}
	past := []store.Inbound{said(1, "a"), said(2, "b"), said(3, "c"), said(4, "d")}
	check.Equal(t, "imported", check.Must(c.Past().ImportUnread(ctx, past[:2]))(t), 2)
	check.Equal(t, "imported", check.Must(c.Past().ImportUnread(ctx, past))(t), 2)
	unread(4)
	loaded(1)
	check.Len(t, "stored", check.Must(c.Transcript().Page(ctx, 1, 10))(t), 4)
	check.EqualAll(t, "importing", check.Must(c.Store().Importing(ctx))(t), []string{c.Name()})
	check.EqualAll(t, "read", ids(check.Must(c.Past().ReadTo(ctx, 1, 2))(t)), []string{"m1", "m2"})
	c = reopen(t, c)
	unread(2)
	loaded(3, "m1", "m2")
	check.EqualAll(t, "read again", ids(check.Must(c.Past().ReadTo(ctx, 1, 2))(t)), []string{"m1", "m2"})
	unread(2)
	check.EqualAll(t, "read", ids(check.Must(c.Past().ReadTo(ctx, 3, 4))(t)), []string{"m3", "m4"})
	check.That(t, check.Must(c.Past().EndRead(ctx, 4))(t), "the last message counts as read before it is")
	check.That(t, !check.Must(c.Past().EndRead(ctx, 5))(t), "there are more messages to read")
	unread(0)
	check.Must(c.Past().ImportUnread(ctx, []store.Inbound{said(5, "e")}))(t)
	check.That(t, check.Must(c.Past().EndRead(ctx, 5))(t), "a message that was stored since is lost")
	unread(1)
	check.EqualAll(t, "read", ids(check.Must(c.Past().ReadTo(ctx, 5, 5))(t)), []string{"m5"})
	loaded(6, "m1", "m2", "m3", "m4", "m5")
	check.Len(t, "importing", check.Must(c.Store().Importing(ctx))(t), 0)
}

// What people say before an import is read is loaded, and what is not read is not; then it is read before it.
func TestQuestionBeforeAnImportIsRead(t *testing.T) {
	c := newTalk(t)
	check.Must(c.Past().ImportUnread(ctx, []store.Inbound{said(1, "a"), said(2, "b"), said(3, "c"), said(4, "d")}))(t)
	check.Must(c.Past().ReadTo(ctx, 1, 2))(t)
	loaded := func(c *store.Conversation, beyond int64, want ...string) {
		t.Helper()
		state := check.Must(c.Compactions().Load(ctx))(t)
		check.EqualAll(t, "loaded", ids(state.Messages), want)
		check.Equal(t, "beyond", state.Beyond, beyond)
		check.NoError(t, state.State().Check())
	}
	loaded(c, 0, "m1", "m2")
	version := check.Must(c.Compactions().Load(ctx))(t).Head.Version
	deliver(t, c, asking(5, "where is c?"))
	loaded(c, 5, "m1", "m2", "m5")
	now := check.Must(c.Compactions().Load(ctx))(t)
	check.That(t, now.Head.Version > version, "the version is the same, so the question is not shown")
	check.Equal(t, "next", now.Next, 6)
	check.Equal(t, "open", now.Open, 5)
	check.Must(c.Turns().Finish(ctx, store.Outcome{Turn: 5}))(t)
	loaded(reopen(t, c), 5, "m1", "m2", "m5")
}
