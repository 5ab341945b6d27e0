package transcript_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/transcript"
)

func TestEdited(t *testing.T) {
	t.Run("a worker's summary stays and is to be repaired", func(t *testing.T) {
		c := said(t, 3)
		id := c.summarize(job{from: 1, to: 2})
		c.edit(2)
		c.wants("leaf 1-2", "3")
		if row := c.summaries[id]; !row.NeedsRepair() || row.Text == "" {
			t.Errorf("%+v", row)
		}
	})
	t.Run("an extractive one becomes a placeholder", func(t *testing.T) {
		c := said(t, 3)
		c.summarize(job{from: 1, to: 2, by: transcript.Extractive})
		c.edit(2)
		c.wants("placeholder 1-2", "3")
	})
	t.Run("what is prepared of it is stale, and nothing else", func(t *testing.T) {
		c := said(t, 6)
		over, other := c.prepare(job{from: 1, to: 2}), c.prepare(job{from: 3, to: 4})
		c.edit(2)
		c.status(over, transcript.Stale)
		c.status(other, transcript.Prepared)
	})
}

func TestWithout(t *testing.T) {
	t.Run("a summary of a deleted message becomes a placeholder without its text", func(t *testing.T) {
		c := said(t, 4)
		id := c.summarize(job{from: 1, to: 3})
		c.remove(2)
		c.wants("placeholder 1-3", "4")
		if row := c.summaries[id]; row.Text != "" || row.Messages != 2 || !row.AwaitsModel {
			t.Errorf("%+v", row)
		}
	})
	t.Run("a rollup keeps its children, which lose their texts too", func(t *testing.T) {
		c := said(t, 6)
		a, b := c.summarize(job{from: 1, to: 2}), c.summarize(job{from: 3, to: 4})
		c.summarize(job{from: 1, to: 4, children: []int64{a, b}})
		c.remove(2)
		c.wants("placeholder 1-4", "5", "6")
		if c.summaries[a].Text != "" || c.summaries[b].Text == "" {
			t.Errorf("got children %+v and %+v", c.summaries[a], c.summaries[b])
		}
		c.summarize(job{from: 1, to: 4, trigger: transcript.OnRepair, children: []int64{a, b}})
		c.wants("rollup 1-4", "5", "6")
	})
	t.Run("a summary of nothing ends", func(t *testing.T) {
		c := said(t, 3)
		id := c.summarize(job{from: 1, to: 2})
		c.remove(1, 2)
		c.wants("3")
		c.status(id, transcript.Replaced)
	})
	t.Run("a summary elsewhere that repeats it loses its text", func(t *testing.T) {
		c := said(t, 6)
		shown, late := c.summaries[c.summarize(job{from: 1, to: 2})], c.summaries[c.prepare(job{from: 3, to: 4})]
		if row := shown.Without([]int64{6}); row.Kind != transcript.Placeholder || row.Text != "" || row.Messages != 2 {
			t.Errorf("got applied %+v", row)
		}
		row := late.Without([]int64{6})
		check.Equal(t, "prepared", row.State, transcript.Stale)
		check.Equal(t, "text without the message", row.Text, "")
	})
}

// TestWith: a caller that applies a change to another version has a bug.
func TestWith(t *testing.T) {
	c := said(t, 2)
	old := c.s.EndContexts()
	c.say(1)
	defer func() {
		check.That(t, recover() != nil, "a change of another version was applied")
	}()
	c.s.With(old)
}
