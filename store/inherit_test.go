package store_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/privacy"
	"cairn/store"
	"cairn/transcript"
)

const (
	general = "discord:1/2"
	inside  = "discord:1/2/m8" // a thread of it, on its eighth message
)

// channelOf returns a channel with nine messages and summaries over the first six.
func channelOf(t *testing.T, s *store.Store) *store.Conversation {
	t.Helper()
	c := storetest.Find(t, s, general)
	storetest.Deliver(t, c, bicycles()...)
	storetest.ApplyRows(t, c, summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 1, 3, "Bicycles were bought."), summarizeSpan(t, c, transcript.Leaf, transcript.Worker, 4, 6, "Bicycles and a "+storetest.Secret+" were bought."+long))
	return c
}

// thread returns a thread of the channel that has a message.
func thread(t *testing.T, s *store.Store, root string) *store.Conversation {
	t.Helper()
	c := storetest.Find(t, s, general+"/"+root)
	storetest.Deliver(t, c, storetest.Said(1, "what do you think?"))
	return c
}

func TestInherit(t *testing.T) {
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	above := channelOf(t, s)
	c := storetest.Find(t, s, inside)
	before := storetest.Load(t, c).Head
	if before.Inherited.Root != nil || len(before.Inherited.Stack) > 0 {
		t.Error("got an inheritance before the first message")
	}
	storetest.Deliver(t, c, storetest.Said(1, "what do you think?"))
	head := storetest.Load(t, c).Head
	in := head.Inherited
	if head.Version <= before.Version || storetest.Shape(in.Stack) != "leaf  1-3, leaf  4-6" || !strings.Contains(in.Stack[1].Text, storetest.Secret) || in.Stack[0].Tokens != in.Stack[0].InheritedCost() {
		t.Errorf("got inherited %+v", in.Stack)
	}
	if in.Root == nil || in.Root.Text != "I bought red bicycles in Turin." || in.Root.Author != "Ann" || !in.Root.Time.Equal(storetest.Said(8, "").Time) {
		t.Errorf("got parent message %+v", in.Root)
	}
	check.Equal(t, "the thread's channel is unknown", storetest.Number(t, s, "SELECT count(*) FROM conversations WHERE name = ? AND parent = ?", inside, above.ID()), 1)
	t.Run("once", func(t *testing.T) {
		storetest.ApplyRows(t, above, summarizeSpan(t, above, transcript.Leaf, transcript.Worker, 7, 7, "More."))
		storetest.Edit(t, above, 8, "I bought nothing.")
		storetest.Edit(t, above, 2, "I bought nothing.")
		storetest.Deliver(t, c, storetest.Said(2, "more"))
		check.That(t, reflect.DeepEqual(storetest.Load(t, c).Head, head), "a later change reached the thread")
		if s.Close(); !reflect.DeepEqual(storetest.Load(t, storetest.Find(t, storetest.OpenStore(t, dir), inside)).Head, head) {
			t.Error("a restart changed the inheritance")
		}
	})
}

func TestThreadParentMessage(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	above := channelOf(t, s)
	t.Run("a reply of the bot, by its platform id", func(t *testing.T) {
		turn := storetest.Deliver(t, above, storetest.Asking(10, "what time is it?"))[0].Seq
		reply := chat.Message{Seq: turn + 1, Turn: turn, Role: "assistant", ID: "reply-11", Text: "half past nine", Time: storetest.Day}
		check.NoError(t, above.Turns().Finish(ctx, store.Outcome{Turn: turn, Messages: []chat.Message{reply}, Reply: "reply-11", Pieces: []string{"half past nine"}}))
		storetest.Run(t, s, "UPDATE outbox SET state = 'sent', platform_id = 'p1' WHERE reply = 'reply-11'")
		if root := storetest.Load(t, thread(t, s, "p1")).Head.Inherited.Root; root == nil || root.Role != "assistant" || root.Text != "half past nine" {
			t.Errorf("got parent message %+v", root)
		}
	})
	t.Run("a waiting message, until it is deleted", func(t *testing.T) {
		storetest.DeliverOnly(t, above, storetest.Said(12, "waits"))
		c := thread(t, s, "m12")
		if root := storetest.Load(t, c).Head.Inherited.Root; root == nil || root.Text != "waits" {
			t.Errorf("got parent message %+v", root)
		}
		storetest.Remove(t, above, 12)
		if root := storetest.Load(t, c).Head.Inherited.Root; root != nil {
			t.Errorf("got parent message %+v", root)
		}
	})
	t.Run("an unknown message", func(t *testing.T) {
		c := thread(t, s, "m99")
		if in := storetest.Load(t, c).Head.Inherited; in.Root != nil || len(in.Stack) != 2 {
			t.Errorf("got inherited %+v", in)
		}
	})
	t.Run("sessions before /new are not inherited", func(t *testing.T) {
		startSession(t, above)
		if in := storetest.Load(t, thread(t, s, "m9")).Head.Inherited; in.Root == nil || len(in.Stack) != 0 {
			t.Errorf("got inherited %+v", in)
		}
	})
}

func TestDeletionsReachThreads(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	above := channelOf(t, s)
	quoting := storetest.Said(10, "indeed")
	quoting.ReplyTo, quoting.Quote = "elsewhere", `Bob: "a `+storetest.Secret+`"`
	storetest.Deliver(t, above, quoting)
	c, other, third := thread(t, s, "m5"), thread(t, s, "m8"), thread(t, s, "m10")
	// In the channel, the rows have changed in the meantime.
	rows := storetest.Load(t, above).Head.Stack
	storetest.ApplyRows(t, above, summarizeSpan(t, above, transcript.Rollup, transcript.Worker, 1, 6, "Many things, and a "+storetest.Secret, transcript.IDs(rows)...))
	versions := map[*store.Conversation]int64{c: 0, other: 0, third: 0}
	for one := range versions {
		versions[one] = storetest.Load(t, one).Head.Version
	}
	if root := storetest.Load(t, third).Head.Inherited.Root; root == nil || !strings.Contains(root.Quote, storetest.Secret) {
		t.Fatalf("got parent message %+v of the third", root)
	}
	check.Must(privacy.Of(above).Delete(ctx, []string{"elsewhere"}))(t)
	if root := storetest.Load(t, third).Head.Inherited.Root; root == nil || root.Quote != "" {
		t.Errorf("got the quote %+v", root)
	}
	storetest.Remove(t, above, 5)
	for one, version := range versions {
		head := storetest.Load(t, one).Head
		if head.Version <= version {
			t.Errorf("%s is not notified", one.Name())
		}
		row := head.Inherited.Stack[1]
		if row.Kind != transcript.Placeholder || row.Messages != 2 || row.Tokens != row.InheritedCost() || row.Text != "" || head.Inherited.Stack[0].Text != "Bicycles were bought." {
			t.Errorf("%s: got %+v", one.Name(), head.Inherited.Stack)
		}
	}
	if root := storetest.Load(t, c).Head.Inherited.Root; root != nil {
		t.Errorf("got parent message %+v, want none", root)
	}
	if root := storetest.Load(t, other).Head.Inherited.Root; root == nil {
		t.Error("another thread lost its parent message")
	}
	check.Lacks(t, "dump", storetest.Dump(t, s), storetest.Secret)
	t.Run("quotes of the deleted parent message are removed, waiting or dequeued", func(t *testing.T) {
		storetest.Deliver(t, above, storetest.Said(11, "a "+storetest.Secret))
		c := storetest.Find(t, s, general+"/m11")
		for n := 1; n <= 2; n++ {
			m := storetest.Said(n, "really?")
			m.ReplyTo, m.Quote = "m11", `Bob: "a `+storetest.Secret+`"`
			storetest.DeliverOnly(t, c, m)
			if n == 1 {
				check.Must(c.Inbox().Dequeue(ctx, store.All, 1<<30, time.Time{}))(t)
			}
		}
		storetest.Remove(t, above, 11)
		if all := storetest.Dump(t, s); strings.Contains(all, storetest.Secret) {
			t.Errorf("got the secret in\n%s", all[strings.Index(all, storetest.Secret)-200:])
		}
	})
	t.Run("in the same transaction", func(t *testing.T) {
		before := storetest.Dump(t, s)
		storetest.Run(t, s, "CREATE TEMP TRIGGER stop BEFORE UPDATE ON inherited BEGIN SELECT raise(ABORT, 'no'); END")
		if _, err := privacy.Of(above).Delete(ctx, []string{"m4"}); err == nil || storetest.Dump(t, s) != before {
			t.Errorf("got half a deletion: %v", err)
		}
		storetest.Run(t, s, "DROP TRIGGER stop")
	})
	t.Run("a copy of a rollup becomes a placeholder", func(t *testing.T) {
		late := thread(t, s, "none")
		storetest.Remove(t, above, 2)
		in := storetest.Load(t, late).Head.Inherited
		check.Len(t, "inherited stack", in.Stack, 1)
		check.Equal(t, "messages of the inherited row", in.Stack[0].Messages, 4)
		check.Equal(t, "kind of the inherited row", in.Stack[0].Kind, transcript.Placeholder)
	})
}
