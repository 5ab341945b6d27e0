package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"cairn/compactor/judge"
	"cairn/compactor/worker"
	"cairn/llm"
	"cairn/transcript"
)

// A failed compaction: what is reported and logged, and when the next attempt follows.

func (c *Compactor) fail(j *job, err error) {
	changed := errors.Is(err, worker.ErrChanged)
	if j.ctx.Err() == nil && !changed { // otherwise it was stopped
		c.retries.after(j, err, c.o.Now(), c.view.Head.Rows())
		c.o.Log.Log(c.ctx, c.reports.levelFor(err, !j.extractive()), "compaction_failed", append(llm.LogAttrs(err), "trigger", j.row.Trigger, "by", j.row.By)...)
	}
	e := c.reports.event(j.row, EventFailed)
	e.BeforeTokens = c.meter.used(c.view)
	e.Stopped = j.ctx.Err() != nil
	e.Error = inWords(err)
	switch {
	case j.stopped == byUndo:
		e.State = EventNoop
		e.Error = reasonUndone
	case changed:
		e.State = EventNoop
	}
	c.notify(e)
	if j.first == nil {
		j.progress.answer(e) // it may have failed before it had a row
	}
}

// inWords explains a failure to people, without internals.
func inWords(err error) string {
	if errors.Is(err, worker.ErrChanged) {
		return reasonStale
	}
	return fmt.Sprintf("%s; nothing was lost", cmp.Or(reasonFor(err), "the summary could not be created or saved"))
}

// reasonFor returns why there is no summary, in words for people; "" if the reason is of no use to
// them.
func reasonFor(err error) string {
	var refused judge.Refusal
	switch {
	case errors.Is(err, ErrSpent):
		return ErrSpent.Error()
	case errors.Is(err, llm.ErrSilent):
		return "the summarizing model sent nothing for too long"
	case errors.Is(err, context.DeadlineExceeded):
		return "the summary took too long"
	case errors.Is(err, context.Canceled):
		return "stopped before the summary was ready"
	case errors.As(err, &refused):
		return string(refused)
	}
	remedy, _ := llm.RemedyOf(err)
	return remedy.Reason
}

// What the model declines is summarized by the extractive summarizer, and repairs split it until
// little of it is declined. The rest stays as it is until people use /compact or change its
// messages, or another model summarizes.

// modelDeclines reports whether the model refuses this material: its server works, and other spans
// may succeed.
func modelDeclines(err error) bool {
	kind := llm.KindOf(err)
	return errors.As(err, new(judge.Refusal)) || kind == llm.KindBadRequest || kind == llm.KindOverflow || kind == llm.KindFiltered
}

// instead returns the job that makes up for j, which failed: the extractive summarizer makes a row of
// its own for a fold, or for the declined part of a row, and a model repairs it later. nil if the
// span is summarized again anyway.
func (c *Compactor) instead(j *job, err error) *job {
	repair := j.repaired.ID != 0
	declined := modelDeclines(err)
	if j.extractive() || j.ctx.Err() != nil || j.unchanged.Err() != nil || !declined && (repair || j.row.Kind != Rollup) {
		return nil
	}
	apart := *j
	if declined {
		d := Declined{Times: c.models.declineCount(j.repaired) + 1, By: c.o.Worker.Name()}
		c.retries.failed(c.o.Now(), j.policy.FailureLimit-1) // after so many in a row it seems to decline everything
		switch {
		case !repair && j.row.Kind == Leaf:
			c.retries.declinedTo = j.row.To
			return nil
		case repair && j.row.Span == j.repaired.Span:
			c.noteDeclined(j.repaired.ID, d)
			return nil
		case repair:
			apart.maxTokens = max(j.repaired.Tokens*j.row.Messages/max(j.repaired.Messages, 1), transcript.MinSummary) // its share of the tokens
		}
		apart.row.Declined = d
	}
	apart.record = nil
	apart.row.ID = 0
	apart.row.By = ByExtractive
	apart.row.Model = ""
	apart.row.AwaitsModel = true
	return &apart
}

// noteDeclined updates Declined of a row on disk, in the view and in plans; id 0: of all rows.
func (c *Compactor) noteDeclined(id int64, d Declined) {
	if err := c.o.Records.Declined(c.ctx, id, d); err != nil && c.ctx.Err() == nil {
		c.o.Log.Warn("save_refusal_failed", "error", err)
	}
	c.view.noteDeclined(id, d)
	c.lookahead = transcript.Ahead{}
}

// forgetDeclined lets the model try again what it declined, also in rows that are not applied yet.
func (c *Compactor) forgetDeclined() {
	c.retries.declinedTo = 0
	if slices.ContainsFunc(slices.Concat(c.view.Head.Rows(), c.view.prepared()), func(row Summary) bool { return row.Declined.Times > 0 }) {
		c.noteDeclined(0, Declined{})
	}
}
