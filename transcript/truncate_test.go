package transcript_test

import (
	"errors"
	"testing"

	"cairn/transcript"
)

func TestTruncate(t *testing.T) {
	t.Run("the oldest messages leave behind a placeholder", func(t *testing.T) {
		c := said(t, 5)
		c.apply(c.s.Truncate(3, transcript.OnEmergency, true))
		c.wants("placeholder 1-3", "4", "5")
	})
	t.Run("no turn is cut", func(t *testing.T) {
		c := said(t, 1)
		c.ask()
		c.answer(2) // messages 2 to 7
		c.say(1)
		c.apply(c.s.Truncate(6, transcript.OnEmergency, true))
		c.wants("placeholder 1-1", "2", "3", "4", "5", "6", "7", "8")
	})
	t.Run("the open turn stays", func(t *testing.T) {
		c := said(t, 2)
		c.ask()
		c.apply(c.s.Truncate(9, transcript.OnEmergency, true))
		c.wants("placeholder 1-2", "3")
	})
	t.Run("nothing changes where nothing can leave", func(t *testing.T) {
		c := newConversation(t)
		c.ask()
		if !c.s.Truncate(9, transcript.OnEmergency, true).Empty() {
			t.Error("something is hidden")
		}
	})
	t.Run("it cannot be undone", func(t *testing.T) {
		c := said(t, 3)
		c.apply(c.s.Truncate(2, transcript.OnEmergency, true))
		if err := c.undo(); !errors.Is(err, transcript.ErrNothingApplied) {
			t.Error(err)
		}
	})
}

func TestClear(t *testing.T) {
	c := said(t, 3)
	c.apply(c.s.Clear(2))
	if c.s.ClearedTo != 2 || c.s.HeadVersion != c.s.Version || !c.s.Clear(1).Empty() {
		t.Errorf("the marks are %+v", c.s.Marks)
	}
}

func TestNewSession(t *testing.T) {
	t.Run("what is verbatim leaves behind a placeholder, and seqs go on", func(t *testing.T) {
		c := said(t, 4)
		c.summarize(job{from: 1, to: 2})
		c.must(c.s.NewSession(true))
		c.say(1)
		c.wants("leaf 1-2", "placeholder 3-4", "5")
	})
	t.Run("nothing of the session before can be undone", func(t *testing.T) {
		c := said(t, 4)
		c.summarize(job{from: 1, to: 2})
		c.must(c.s.NewSession(true))
		if err := c.undo(); !errors.Is(err, transcript.ErrNothingApplied) {
			t.Error(err)
		}
	})
	t.Run("an empty session is not left", func(t *testing.T) {
		c := said(t, 1)
		c.apply(c.s.Delete([]int64{1}, nil))
		if _, err := c.s.NewSession(true); !errors.Is(err, transcript.ErrEmpty) {
			t.Error(err)
		}
	})
	t.Run("a session is not left while a turn waits", func(t *testing.T) {
		c := newConversation(t)
		c.ask()
		if _, err := c.s.NewSession(true); !errors.Is(err, transcript.ErrOpen) {
			t.Error(err)
		}
	})
}
