package transcript_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/transcript"
)

func TestCover(t *testing.T) {
	t.Run("a summary takes the place of its span", func(t *testing.T) {
		c := said(t, 5)
		c.summarize(job{from: 1, to: 3})
		c.wants("leaf 1-3", "4", "5")
	})
	t.Run("several apply together, in the order of their spans", func(t *testing.T) {
		c := said(t, 6)
		first, second := c.prepare(job{from: 1, to: 2}), c.prepare(job{from: 3, to: 4})
		c.cover(second, first)
		c.wants("leaf 1-2", "leaf 3-4", "5", "6")
	})
	t.Run("a summary behind a verbatim message waits", func(t *testing.T) {
		c := said(t, 6)
		second := c.prepare(job{from: 3, to: 4})
		_, wait := c.cover(second)
		check.EqualAll(t, "wait", wait, []int64{second})
		c.wants("1", "2", "3", "4", "5", "6")
		c.status(second, transcript.Prepared)
	})
	t.Run("so does a rollup of it", func(t *testing.T) {
		c := said(t, 6)
		second := c.prepare(job{from: 3, to: 4})
		rollup := c.prepare(job{from: 3, to: 4, children: []int64{second}})
		_, wait := c.cover(second, rollup)
		check.EqualAll(t, "wait", wait, []int64{second, rollup})
	})
	t.Run("old tool results are cleared with it", func(t *testing.T) {
		c := said(t, 4)
		change, _, _ := c.s.Cover([]int64{c.prepare(job{from: 1, to: 2})}, 4, nil)
		c.applyCover(change)
		check.Equal(t, "cleared", c.s.ClearedTo, 4)
		wantUndone(t, c)
		check.Equal(t, "cleared after an undo", c.s.ClearedTo, 0)
	})
	t.Run("but not if nothing is applied", func(t *testing.T) {
		c := said(t, 4)
		if change, _, _ := c.s.Cover(nil, 4, nil); !change.Empty() {
			t.Errorf("%+v", change)
		}
	})
	t.Run("two over the same messages: the second is stale", func(t *testing.T) {
		c := said(t, 4)
		first, second := c.prepare(job{from: 1, to: 2}), c.prepare(job{from: 1, to: 2})
		stale, _ := c.cover(first, second)
		check.EqualAll(t, "stale", stale, []int64{second})
	})
	t.Run("a summary whose messages were deleted before its job was written covers nothing", func(t *testing.T) {
		c := said(t, 4)
		c.remove(3, 4)
		stale, _ := c.cover(c.prepare(job{from: 3, to: 4}))
		check.Len(t, "stale", stale, 1)
		c.wants("1", "2")
	})
	t.Run("a late summary is applied in the session that it was read from", func(t *testing.T) {
		c := said(t, 4)
		id := c.prepare(job{from: 1, to: 2})
		c.must(c.s.NewSession(true))
		c.say(1)
		c.cover(id)
		c.wants("leaf 1-2", "placeholder 3-4", "5")
	})
}

func TestCoverRepairs(t *testing.T) {
	truncated := func(t *testing.T) *conversation {
		c := said(t, 8)
		c.truncate(6)
		c.wants("placeholder 1-6", "7", "8")
		return c
	}
	t.Run("a repair takes the place of a placeholder", func(t *testing.T) {
		c := truncated(t)
		c.summarize(job{from: 1, to: 6, trigger: transcript.OnRepair})
		c.wants("leaf 1-6", "7", "8")
	})
	t.Run("a repair of its newest messages leaves a placeholder for the rest", func(t *testing.T) {
		c := truncated(t)
		c.summarize(job{from: 4, to: 6, trigger: transcript.OnRepair})
		c.wants("placeholder 1-3", "leaf 4-6", "7", "8")
	})
	t.Run("a placeholder is left where all messages were deleted: the others stay neighbours", func(t *testing.T) {
		c := truncated(t)
		c.remove(1, 2, 3)
		c.summarize(job{from: 4, to: 6, trigger: transcript.OnRepair})
		c.wants("placeholder 1-3", "leaf 4-6", "7", "8")
	})
	t.Run("a repair of its middle leaves one on each side", func(t *testing.T) {
		c := truncated(t)
		c.summarize(job{from: 3, to: 4, trigger: transcript.OnRepair})
		c.wants("placeholder 1-2", "leaf 3-4", "placeholder 5-6", "7", "8")
	})
	t.Run("two repairs divide it at once", func(t *testing.T) {
		c := truncated(t)
		c.cover(c.prepare(job{from: 2, to: 3, trigger: transcript.OnRepair}), c.prepare(job{from: 4, to: 5, trigger: transcript.OnRepair}))
		c.wants("placeholder 1-1", "leaf 2-3", "leaf 4-5", "placeholder 6-6", "7", "8")
	})
	t.Run("a repair of a part is stale if nobody counted the rest", func(t *testing.T) {
		c := truncated(t)
		id := c.prepare(job{from: 3, to: 4, trigger: transcript.OnRepair})
		_, stale, _ := c.s.Cover([]int64{id}, 0, nil)
		check.EqualAll(t, "stale", stale, []int64{id})
	})
	t.Run("a worker replaces what the extractive summarizer wrote, not the reverse", func(t *testing.T) {
		c := truncated(t)
		c.summarize(job{from: 1, to: 6, by: transcript.Extractive, trigger: transcript.OnRepair})
		c.summarize(job{from: 1, to: 6, trigger: transcript.OnRepair})
		late := c.prepare(job{from: 1, to: 6, by: transcript.Extractive, trigger: transcript.OnRepair})
		stale, _ := c.cover(late)
		check.EqualAll(t, "stale", stale, []int64{late})
	})
	t.Run("a repair of what was undone is stale", func(t *testing.T) {
		c := said(t, 4)
		c.summarize(job{from: 1, to: 2, by: transcript.Extractive})
		id := c.prepare(job{from: 1, to: 2, trigger: transcript.OnRepair})
		check.NoError(t, c.undo())
		c.status(id, transcript.Stale)
	})
	t.Run("the summary of a span that was truncated meanwhile repairs it", func(t *testing.T) {
		c := said(t, 8)
		id := c.prepare(job{from: 1, to: 3})
		c.truncate(6)
		c.wants("placeholder 1-6", "7", "8")
		c.cover(id)
		c.wants("leaf 1-3", "placeholder 4-6", "7", "8")
	})
}

func TestCoverRollups(t *testing.T) {
	two := func(t *testing.T) (c *conversation, children []int64) {
		c = said(t, 6)
		return c, []int64{c.summarize(job{from: 1, to: 2}), c.summarize(job{from: 3, to: 4})}
	}
	t.Run("a rollup takes the place of its children", func(t *testing.T) {
		c, children := two(t)
		c.summarize(job{from: 1, to: 4, children: children})
		c.wants("rollup 1-4", "5", "6")
		c.status(children[0], transcript.RolledUp)
	})
	t.Run("summaries and their rollup are applied together", func(t *testing.T) {
		c := said(t, 6)
		a, b := c.prepare(job{from: 1, to: 2}), c.prepare(job{from: 3, to: 4})
		rollup := c.prepare(job{from: 1, to: 4, children: []int64{a, b}})
		c.cover(rollup, a, b)
		c.wants("rollup 1-4", "5", "6")
	})
	t.Run("it absorbs a placeholder that it did not know", func(t *testing.T) {
		c := said(t, 8)
		a := c.summarize(job{from: 1, to: 2})
		c.truncate(4)
		b := c.summarize(job{from: 5, to: 6})
		c.summarize(job{from: 1, to: 6, children: []int64{a, b}})
		c.wants("rollup 1-6", "7", "8")
	})
	t.Run("it is stale if one of its children was repaired meanwhile", func(t *testing.T) {
		c := said(t, 6)
		a, b := c.summarize(job{from: 1, to: 2, by: transcript.Extractive}), c.summarize(job{from: 3, to: 4})
		rollup := c.prepare(job{from: 1, to: 4, children: []int64{a, b}})
		c.summarize(job{from: 1, to: 2, trigger: transcript.OnRepair})
		stale, _ := c.cover(rollup)
		check.EqualAll(t, "stale", stale, []int64{rollup})
	})
	t.Run("it is stale if a message of its span is verbatim", func(t *testing.T) {
		c := said(t, 6)
		a := c.summarize(job{from: 1, to: 2})
		rollup := c.prepare(job{from: 1, to: 4, children: []int64{a}})
		stale, _ := c.cover(rollup)
		check.EqualAll(t, "stale", stale, []int64{rollup})
	})
	t.Run("a repair of a rollup takes its place and its children", func(t *testing.T) {
		c, children := two(t)
		c.summarize(job{from: 1, to: 4, by: transcript.Extractive, children: children})
		id := c.summarize(job{from: 1, to: 4, trigger: transcript.OnRepair, children: children})
		c.wants("rollup 1-4", "5", "6")
		check.EqualAll(t, "the children", c.summaries[id].Children, children)
	})
}
