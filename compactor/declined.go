package compactor

import (
	"errors"
	"slices"
	"time"

	"cairn/compactor/summarize"
	"cairn/llm"
)

// What the model declines is summarized by the extractive summarizer, and repairs split it until
// little of it is declined. For the rest the model is called a few more times, with growing pauses.
// Then it stays as it is until people use /compact or change its messages, or another model
// summarizes.

const (
	laterTries = 3                // attempts to repair what was left to the extractive summarizer
	firstPause = 10 * time.Minute // before the first of them; each later one is pauseGrowth times as long

	pauseGrowth = 6
)

// modelDeclines reports whether the model refuses this material: its server works, and other spans
// may succeed.
func modelDeclines(err error) bool {
	kind := llm.KindOf(err)
	return errors.As(err, new(summarize.Refusal)) || kind == llm.KindBadRequest || kind == llm.KindOverflow || kind == llm.KindFiltered
}

// declineCount returns how often the current worker model declined row's span.
func (c *Compactor) declineCount(row Compaction) int {
	if c.o.Worker == nil || row.Declined.By != c.o.Worker.Name() {
		return 0
	}
	return row.Declined.Times
}

// gaveUp reports whether no model is called for row any more.
func (c *Compactor) gaveUp(row Compaction) bool {
	return c.declineCount(row) >= c.policy().FailureLimit+laterTries
}

// retryDeclinedAt returns the time before which row is not retried. A row that was declined in the
// future is retried immediately: the clock was wrong then.
func (c *Compactor) retryDeclinedAt(row Compaction, now time.Time) time.Time {
	later := c.declineCount(row) - c.policy().FailureLimit
	if later < 0 || row.Declined.At.After(now) {
		return time.Time{}
	}
	pause := firstPause
	for range min(later, laterTries) {
		pause *= pauseGrowth
	}
	return row.Declined.At.Add(pause)
}

// declined records that the worker declined j, after j has failed. If j covered only a part of a
// row, or was a fold, it returns a job in which the extractive summarizer makes a row of its own
// for it; else nil.
func (c *Compactor) declined(j *job) (next *job) {
	d := Declined{Times: j.declined + 1, At: c.o.Now(), By: c.o.Worker.Name()}
	c.retries.declined(d.At, j.policy.FailureLimit)
	if j.repaired.ID == 0 && j.row.Kind == Leaf {
		c.retries.declinedTo = j.row.To
		return nil
	}
	if j.repaired.ID != 0 && j.row.Span == j.repaired.Span {
		c.noteDeclined(j.repaired.ID, d)
		return nil
	}
	apart := *j
	apart.extractive, apart.modelFollows, apart.row.By, apart.row.Model = true, true, ByExtractive, ""
	apart.row.AwaitsModel, apart.row.Declined = true, d
	if j.repaired.ID != 0 {
		apart.maxTokens = max(j.repaired.Tokens*j.row.Messages/max(j.repaired.Messages, 1), summarize.MinSummary) // its share of the tokens
	}
	apart.allowed = true
	apart.row.ID, apart.onStart, apart.onEnd = 0, nil, nil
	return &apart
}

// noteDeclined updates Declined of a row on disk, in the view and in plans; id 0: of all rows.
func (c *Compactor) noteDeclined(id int64, d Declined) {
	if err := c.o.Records.Declined(c.ctx, id, d); err != nil && c.ctx.Err() == nil {
		c.o.Log.Warn("save_refusal_failed", "error", err)
	}
	note := func(rows []Compaction) []Compaction {
		rows = slices.Clone(rows)
		for i := range rows {
			if id == 0 || rows[i].ID == id {
				rows[i].Declined = d
			}
		}
		return rows
	}
	head := &c.h.head
	head.Stack, head.Earlier = note(head.Stack), slices.Clone(head.Earlier)
	for i := range head.Earlier {
		head.Earlier[i].Rows = note(head.Earlier[i].Rows)
	}
	c.prospect = prospect{}
}
