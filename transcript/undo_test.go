package transcript_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/transcript"
)

func wantUndone(t *testing.T, c *conversation) {
	t.Helper()
	check.NoError(t, c.undo())
}

func TestUndo(t *testing.T) {
	t.Run("what a summary hid is verbatim again, and spared", func(t *testing.T) {
		c := said(t, 4)
		id := c.summarize(job{from: 1, to: 2})
		wantUndone(t, c)
		c.wants("1", "2", "3", "4")
		c.status(id, transcript.Undone)
		check.Equal(t, "spared", c.s.Spared, (transcript.Span{From: 1, To: 2}))
	})
	t.Run("one after the other, the latest first", func(t *testing.T) {
		c := said(t, 6)
		c.summarize(job{from: 1, to: 2})
		c.summarize(job{from: 3, to: 4})
		wantUndone(t, c)
		c.wants("leaf 1-2", "3", "4", "5", "6")
		wantUndone(t, c)
		c.wants("1", "2", "3", "4", "5", "6")
	})
	t.Run("a rollup gives its children back", func(t *testing.T) {
		c := said(t, 6)
		a, b := c.summarize(job{from: 1, to: 2}), c.summarize(job{from: 3, to: 4})
		c.summarize(job{from: 1, to: 4, children: []int64{a, b}})
		wantUndone(t, c)
		c.wants("leaf 1-2", "leaf 3-4", "5", "6")
	})
	t.Run("a set with its own rollup is undone whole", func(t *testing.T) {
		c := said(t, 6)
		a, b := c.prepare(job{from: 1, to: 2}), c.prepare(job{from: 3, to: 4})
		c.cover(a, b, c.prepare(job{from: 1, to: 4, children: []int64{a, b}}))
		wantUndone(t, c)
		c.wants("1", "2", "3", "4", "5", "6")
		c.status(a, transcript.Undone)
	})
	t.Run("a repair gives back what it replaced, whole", func(t *testing.T) {
		c := said(t, 8)
		c.truncate(6)
		c.summarize(job{from: 4, to: 6, trigger: transcript.OnRepair})
		wantUndone(t, c)
		c.wants("placeholder 1-6", "7", "8")
	})
}

func TestUndoIsRefused(t *testing.T) {
	t.Run("what is prepared of its messages is stale, and newer ones wait", func(t *testing.T) {
		c := said(t, 8)
		c.summarize(job{from: 1, to: 2, by: transcript.Extractive})
		repair, next := c.prepare(job{from: 1, to: 2, trigger: transcript.OnRepair}), c.prepare(job{from: 3, to: 4})
		wantUndone(t, c)
		c.status(repair, transcript.Stale)
		_, wait := c.cover(next)
		check.Len(t, "wait", wait, 1)
	})
	t.Run("not after a message of it was changed", func(t *testing.T) {
		for _, change := range []func(*conversation){
			func(c *conversation) { c.edit(2) },
			func(c *conversation) { c.remove(2) },
		} {
			c := said(t, 4)
			c.summarize(job{from: 1, to: 2})
			change(c)
			check.Error(t, c.undo(), transcript.ErrChangedSince)
		}
	})
	t.Run("not after what follows was hidden", func(t *testing.T) {
		c := said(t, 6)
		c.summarize(job{from: 1, to: 2})
		c.truncate(4)
		check.Error(t, c.undo(), transcript.ErrHiddenSince)
	})
	t.Run("not after a placeholder that it left was hidden with what follows", func(t *testing.T) {
		c := said(t, 8)
		c.truncate(6)
		c.summarize(job{from: 1, to: 3, trigger: transcript.OnRepair})
		c.wants("leaf 1-3", "placeholder 4-6", "7", "8")
		c.truncate(7)
		c.wants("leaf 1-3", "placeholder 4-7", "8")
		check.Error(t, c.undo(), transcript.ErrChangedSince)
	})
}
