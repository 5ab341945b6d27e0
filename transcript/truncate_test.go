package transcript_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/transcript"
)

func TestTruncate(t *testing.T) {
	t.Run("the oldest messages leave behind a placeholder", func(t *testing.T) {
		c := said(t, 5)
		c.truncate(3)
		c.wants("placeholder 1-3", "4", "5")
	})
	t.Run("one placeholder stands for what is hidden one after the other", func(t *testing.T) {
		c := said(t, 6)
		c.truncate(2)
		c.truncate(4)
		c.wants("placeholder 1-4", "5", "6")
	})
	t.Run("but not for another session, nor over a summary", func(t *testing.T) {
		c := said(t, 6)
		c.truncate(2)
		c.must(c.s.NewSession(true))
		c.say(4)
		c.summarize(job{from: 7, to: 8})
		c.truncate(9)
		c.wants("placeholder 1-6", "leaf 7-8", "placeholder 9-9", "10")
	})
	t.Run("old tool results are cleared with it", func(t *testing.T) {
		c := said(t, 3)
		c.apply(c.s.Truncate(nil, 2))
		check.Equal(t, "cleared", c.s.ClearedTo, 2)
	})
}

func TestClear(t *testing.T) {
	c := said(t, 3)
	c.apply(c.s.Clear(2))
	check.That(t, c.s.ClearedTo == 2 && c.s.HeadVersion == c.s.Version && c.s.Clear(1).Empty(), "got marks %+v", c.s.Marks)
}

func TestNewSession(t *testing.T) {
	t.Run("what is verbatim leaves behind a placeholder, and seqs go on", func(t *testing.T) {
		c := said(t, 4)
		c.summarize(job{from: 1, to: 2})
		c.must(c.s.NewSession(true))
		c.say(1)
		c.wants("leaf 1-2", "placeholder 3-4", "5")
	})
	t.Run("an empty session is not left", func(t *testing.T) {
		c := said(t, 1)
		c.remove(1)
		check.Error(t, check.ErrorOf(c.s.NewSession(true)), transcript.ErrEmpty)
	})
	t.Run("a session is not left while a turn waits", func(t *testing.T) {
		c := newConversation(t)
		c.ask()
		check.Error(t, check.ErrorOf(c.s.NewSession(true)), transcript.ErrOpen)
	})
}
