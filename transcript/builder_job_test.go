package transcript_test

import (
	"fmt"

	"cairn/transcript"
)

// job describes a summary to start; the zero value is a worker's leaf.
type job struct {
	from, to int64
	by       transcript.By
	trigger  transcript.Trigger
	children []int64 // then it is a rollup
}

// begin starts a job and returns the summary it will make.
func (c *conversation) begin(j job) transcript.Summary {
	c.t.Helper()
	sum := transcript.Summary{
		Kind: transcript.Leaf, By: transcript.Worker, Trigger: j.trigger, Children: j.children,
		Span: transcript.Span{From: j.from, To: j.to},
	}
	if j.by != "" {
		sum.By = j.by
	}
	if j.children != nil {
		sum.Kind, sum.Level = transcript.Rollup, 1
	}
	c.must(c.s.Begin(sum))
	return c.s.Running[len(c.s.Running)-1]
}

// prepare adds a prepared summary and returns its ID.
func (c *conversation) prepare(j job) int64 {
	c.t.Helper()
	sum := c.begin(j)
	sum.Text, sum.Tokens = fmt.Sprintf("what %d to %d say", j.from, j.to), 10
	c.must(c.s.Prepare(sum))
	return sum.ID
}

// cover applies prepared summaries, and returns which became stale and which wait.
func (c *conversation) cover(ids ...int64) (stale, wait []int64) {
	c.t.Helper()
	change, stale, wait := c.s.Cover(ids, 0, c.count(c.s.CoverNeeds(ids)))
	c.applyCover(change)
	return stale, wait
}

// summarize prepares and applies one summary, and returns its id.
func (c *conversation) summarize(j job) int64 {
	c.t.Helper()
	id := c.prepare(j)
	if stale, wait := c.cover(id); len(stale)+len(wait) > 0 {
		c.t.Fatalf("summary %d over %d to %d: stale %v, wait %v", id, j.from, j.to, stale, wait)
	}
	return id
}
