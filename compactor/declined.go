package compactor

import (
	"errors"
	"slices"

	"cairn/compactor/summarize"
	"cairn/llm"
)

// What the model declines is summarized by the extractive summarizer, and repairs split it until
// little of it is declined. The rest stays as it is until people use /compact or change its
// messages, or another model summarizes.

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
	return c.declineCount(row) >= c.policy().FailureLimit
}

// instead returns the job that makes up for j, which failed: the extractive summarizer makes a row of
// its own for a fold, or for the declined part of a row, and a model repairs it later. nil if the
// span is summarized again anyway.
func (c *Compactor) instead(j *job, err error) *job {
	repair, declined := j.repaired.ID != 0, modelDeclines(err)
	if j.extractive || j.ctx.Err() != nil || !declined && (repair || j.row.Kind != Rollup) {
		return nil
	}
	apart := *j
	if declined {
		d := Declined{Times: j.declined + 1, At: c.o.Now(), By: c.o.Worker.Name()}
		c.retries.failed(d.At, j.policy.FailureLimit-1) // after so many in a row it seems to decline everything
		switch {
		case !repair && j.row.Kind == Leaf:
			c.retries.declinedTo = j.row.To
			return nil
		case repair && j.row.Span == j.repaired.Span:
			c.noteDeclined(j.repaired.ID, d)
			return nil
		case repair:
			apart.maxTokens = max(j.repaired.Tokens*j.row.Messages/max(j.repaired.Messages, 1), summarize.MinSummary) // its share of the tokens
		}
		apart.row.Declined = d
	}
	apart.extractive, apart.modelFollows, apart.allowed = true, true, true
	apart.row.ID, apart.row.By, apart.row.Model, apart.row.AwaitsModel = 0, ByExtractive, "", true
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
}
