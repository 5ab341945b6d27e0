package store_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// edit edits a message, and fails if that changes nothing.
func edit(t testing.TB, c *store.Conversation, m store.Inbound) {
	t.Helper()
	_, changed, err := c.Transcript().Edit(ctx, m, nil)
	check.NoError(t, err)
	check.Equal(t, "changed", changed, true)
}

func editedLater(n int, text string, hours int) store.Inbound {
	m := storetest.Said(n, text)
	m.Time = storetest.Day.Add(time.Duration(hours) * time.Hour)
	return m
}

func TestEdit(t *testing.T) {
	t.Run("an edited waiting message is dequeued as edited", func(t *testing.T) {
		c := storetest.NewConversation(t)
		m := storetest.Said(1, "buy mlik")
		m.Addressed, m.ReplyTo, m.Quote = true, "m0", "x"
		storetest.DeliverOnly(t, c, m)
		check.Equal(t, "answer", storetest.Edit(t, c, 1, "buy milk"), 0)
		taken := storetest.Deliver(t, c)
		if got := taken[0]; len(taken) != 1 || got.Text != "buy milk" || !got.Addressed || got.Quote != "x" || !got.Time.Equal(m.Time) || got.Tokens != chat.TokensOf(got) {
			t.Errorf("got dequeued %+v", taken)
		}
	})
	t.Run("an edited message keeps its seq; text, cost and index change", func(t *testing.T) {
		c := storetest.NewConversation(t)
		taken := storetest.Deliver(t, c, storetest.Said(1, "the meeting is on Monday"), storetest.Said(2, "fine"))
		before := storetest.Version(t, c)
		check.Equal(t, "answer", storetest.Edit(t, c, 1, "the meeting is on Tuesday, in the large room"), 1)
		want := taken[0]
		want.Text = "the meeting is on Tuesday, in the large room"
		want.Tokens = chat.TokensOf(want)
		if m, err := c.Transcript().Message(ctx, 1); err != nil || !reflect.DeepEqual(m, want) {
			t.Errorf("%+v, %v", m, err)
		}
		if got := storetest.Recalled(t, c, "Monday"); got != nil {
			t.Errorf("got %v found by the old words", got)
		}
		check.EqualAll(t, "found by the new words", storetest.Recalled(t, c, "large room Tuesday"), []int64{1})
		check.Equal(t, "version", storetest.Version(t, c), before+1)
	})
	t.Run("the later of two edits wins, in whichever order they come", func(t *testing.T) {
		for _, waits := range []bool{true, false} {
			c := storetest.NewConversation(t)
			storetest.DeliverOnly(t, c, storetest.Said(1, "first"))
			if !waits {
				storetest.Deliver(t, c)
			}
			for _, test := range []struct {
				m    store.Inbound
				want bool
			}{{editedLater(1, "third", 3), true}, {editedLater(1, "second", 2), false}, {editedLater(1, "third", 3), false}, {editedLater(1, "fourth", 4), true}, {editedLater(1, "fifth", 4), true}} { // Slack reports the time only to the second
				if _, changed, err := c.Transcript().Edit(ctx, test.m, nil); changed != test.want || err != nil {
					t.Errorf("waits %v: %q changed %v, %v", waits, test.m.Text, changed, err)
				}
			}
			storetest.Deliver(t, c)
			check.Equal(t, fmt.Sprintf("waits %v", waits), check.Must(c.Transcript().Message(ctx, 1))(t).Text, "fifth")
		}
	})
	t.Run("a redelivery of the old text does not undo the edit", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.DeliverOnly(t, c, storetest.Said(1, "first"))
		storetest.Edit(t, c, 1, "second")
		storetest.DeliverOnly(t, c, storetest.Said(1, "first"))
		check.Equal(t, "dequeued", storetest.Deliver(t, c)[0].Text, "second")
	})
}

func TestWhatNoEditChanges(t *testing.T) {
	t.Run("an edit without changes has no effect", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.DeliverOnly(t, c, storetest.Said(1, "a"), incomplete(2, "b"))
		storetest.Deliver(t, c)
		before := storetest.Version(t, c)
		for n, text := range map[int]string{1: "a", 2: "b"} {
			if _, changed, err := c.Transcript().Edit(ctx, editedLater(n, text, 1), nil); changed || err != nil {
				t.Errorf("message %d: %v, %v", n, changed, err)
			}
		}
		check.Equal(t, "incomplete", len(check.Must(c.Inbox().Incomplete(ctx))(t)), 1)
		check.Equal(t, "the version", storetest.Version(t, c), before)
		_, due, err := c.Store().Upkeep().EraseAt(ctx, time.Now())
		check.That(t, !due && err == nil, "the files are to be rewritten: %v, %v", due, err)
	})
	t.Run("unknown, bot and deleted messages cannot be edited", func(t *testing.T) {
		c := storetest.NewConversation(t)
		m := storetest.Asking(1, "what time is it?")
		storetest.Deliver(t, c, m)
		storetest.Finish(t, c, 1, 2, "reply-2", "half past nine")
		storetest.Deliver(t, c, storetest.Said(3, "thanks"))
		storetest.Remove(t, c, 3)
		other := storetest.Find(t, c.Store(), "terminal:other")
		before := storetest.Dump(t, c.Store())
		for _, id := range []string{"m9", "reply-2", "m3"} {
			m := editedLater(1, "other words", 1)
			m.ID = id
			if seq, changed, err := c.Transcript().Edit(ctx, m, nil); seq != 0 || changed || err != nil {
				t.Errorf("%s: %d, %v, %v", id, seq, changed, err)
			}
		}
		if seq, changed, err := other.Transcript().Edit(ctx, editedLater(1, "other words", 1), nil); seq != 0 || changed || err != nil {
			t.Errorf("from another conversation: %d, %v, %v", seq, changed, err)
		}
		check.Equal(t, "state", storetest.Dump(t, c.Store()), before)
		if _, _, err := c.Transcript().Edit(ctx, store.Inbound{Text: "x"}, nil); err == nil {
			t.Error("no error for a message without an id")
		}
	})
}

func TestPins(t *testing.T) {
	c := storetest.Imported(t, 10)
	pin := func(seq int64, want bool) {
		t.Helper()
		version := storetest.Load(t, c).Head.Version
		fresh, err := c.Transcript().Pin(ctx, seq, "Ann")
		check.NoError(t, err)
		check.Equal(t, fmt.Sprintf("pin %d", seq), fresh, want)
		check.Equal(t, fmt.Sprintf("pin %d: version raised", seq), storetest.Load(t, c).Head.Version > version, want)
	}
	pins := func() (list []int64) {
		for _, p := range storetest.Load(t, c).Head.Pins {
			check.That(t, p.By == "Ann" && p.Text != "", "got pinned %+v", p)
			list = append(list, p.Seq)
		}
		return list
	}
	pin(7, true)
	pin(2, true)
	pin(7, false)
	storetest.Run(t, c.Store(), "UPDATE pins SET made_at = 1 WHERE seq = 7")
	if got := pins(); !reflect.DeepEqual(got, []int64{7, 2}) {
		t.Errorf("got pinned %v", got)
	}
	check.Error(t, check.ErrorOf(c.Transcript().Pin(ctx, 99, "Ann")), store.ErrNotFound)
	t.Run("an edit reaches a pin", func(t *testing.T) {
		storetest.Edit(t, c, 7, "other words")
		check.Equal(t, "pinned", storetest.Load(t, c).Head.Pins[0].Text, "other words")
	})
	t.Run("a pin survives the session", func(t *testing.T) {
		storetest.Run(t, c.Store(), "UPDATE conversations SET session_start = 5")
		head := storetest.Load(t, c).Head
		check.That(t, len(head.Pins) == 2 && !head.Pins[0].Earlier && head.Pins[1].Earlier, "got pinned %+v", head.Pins)
		storetest.Run(t, c.Store(), "UPDATE conversations SET session_start = 1")
	})
	t.Run("a deleted message is unpinned", func(t *testing.T) {
		storetest.Remove(t, c, 7)
		if got := pins(); !reflect.DeepEqual(got, []int64{2}) {
			t.Errorf("got pinned %v", got)
		}
		check.Error(t, check.ErrorOf(c.Transcript().Pin(ctx, 7, "Ann")), store.ErrNotFound)
	})
	if err := c.Transcript().Unpin(ctx, 2); err != nil || pins() != nil {
		t.Errorf("unpin: %v, got left %v", err, pins())
	}
	check.Error(t, c.Transcript().Unpin(ctx, 2), store.ErrNotFound)
}
