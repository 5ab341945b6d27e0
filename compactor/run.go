package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cairn/compactor/summarize"
	"cairn/transcript"
)

// A job runs through these steps: startJob, begin, store, finish. What is slow between them runs
// through Options.Start; the steps themselves run on the owner's goroutine.

// proceed starts the job that is due, and schedules the next wake-up.
func (c *Compactor) proceed() {
	c.wake = time.Time{}
	if c.ctx.Err() != nil || c.o.Start == nil {
		return
	}
	pl := c.planner(c.meter.policy())
	if c.filling == nil {
		if j := pl.planFill(); j != nil {
			c.startJob(j)
		}
	}
	if c.busy != nil || c.filling != nil {
		return // what the worker would repair is about to change
	}
	j := pl.next()
	c.undoLifted = pl.undoLifted
	c.tokenDeficit = pl.deficit
	if j != nil {
		c.startJob(j)
		return
	}
	c.terms = nil
	c.wake = pl.nextWake()
}

// jobs are the jobs at work, and the request that waits for them.
type jobs struct {
	busy    *job       // nil: nothing is being summarized
	filling *job       // nil: no placeholder is being filled
	queued  *Requested // starts when the running work ends; nil if there is none
}

// holder returns the field that holds j while it runs.
func (js *jobs) holder(j *job) **job {
	if j.fills {
		return &js.filling
	}
	return &js.busy
}

// running returns the running jobs.
func (js *jobs) running() []*job {
	return slices.DeleteFunc([]*job{js.busy, js.filling}, func(j *job) bool { return j == nil })
}

// rows returns the rows of jobs that are running on disk, too.
func (js *jobs) rows() (rows []Summary) {
	for _, j := range js.running() {
		if j.row.ID != 0 && j.row.State == Running {
			rows = append(rows, j.row)
		}
	}
	return rows
}

// ForgetFocus drops the focus of requests and of jobs whose rows are not written yet: somebody wants their words to be forgotten.
func ForgetFocus(c *Compactor) {
	if c.queued != nil {
		c.queued.Focus = ""
	}
	for _, j := range c.running() {
		j.unfocused = true // its row may be in use
	}
}

// startJob calls Before and narrows a repair in the background; then begin goes on.
func (c *Compactor) startJob(j *job) {
	j.ctx, j.cancel = context.WithCancel(c.ctx)
	j.unchanged, j.outdate = context.WithCancel(context.Background())
	*c.holder(j) = j
	asks := c.o.Before != nil && !j.allowed
	if !asks || j.row.Trigger == OnSelf { // a turn waits for this answer and must not wait for Before
		j.asked.began(c.reports.event(j.row, EventStarted))
	}
	narrow := c.planner(j.policy).narrowed(j, c.o.Records)
	p := Proposal{Event: c.reports.event(j.row, EventStarted), Tokens: j.tokens, Focus: j.row.Focus}
	p.BeforeTokens = c.meter.used(c.view)
	c.o.Start(func() func() {
		var focus string
		var veto, err error
		if asks {
			focus, veto = c.o.before(j.ctx, p)
		}
		row := j.row
		if veto == nil {
			row, err = narrow(j.ctx)
		}
		return func() {
			if veto != nil {
				c.vetoed(j, veto)
				c.end(j, nil)
				return
			}
			j.asked.began(c.reports.event(j.row, EventStarted))
			j.row = row
			j.row.Focus = cmp.Or(focus, j.row.Focus)
			if j.unfocused {
				j.row.Focus = ""
			}
			c.begin(j, err)
		}
	})
}

// begin writes j's row and starts its summarizer; err says why the row could not be narrowed.
func (c *Compactor) begin(j *job, err error) {
	var record Job
	if err == nil {
		record, err = c.o.Records.Begin(j.ctx, j.row)
		if err != nil {
			err = fmt.Errorf("write the compaction: %w", err)
		}
	}
	if err != nil {
		c.finish(j, err)
		return
	}
	j.row.ID = record.ID()
	c.report(c.reports.event(j.row, EventStarted))
	pl := c.planner(j.policy)
	a := pl.assignment(j)
	c.terms = pl.terms
	c.o.Start(func() func() {
		s, err := c.models.by.Summarize(j.ctx, a, record)
		return func() { c.store(j, record, s, err) }
	})
}

// store stores the summarizer's result: the row becomes prepared, and its memories count.
func (c *Compactor) store(j *job, record Job, summary summarize.Summary, err error) {
	row := j.row
	if err == nil {
		summary.Text = transcript.WithoutMarks(summary.Text)
		row.State = Prepared
		row.Text = summary.Text
		row.Sources = summary.Sources
		summary.Lines = row.LinesIn(summary.Lines)
		row.Lines = summary.Lines
		row.Dropped = summary.Dropped
		row = row.Dropping(summary.DroppedLines...)
		summary.DroppedLines = row.DroppedLines
		row.Model = cmp.Or(summary.Model, row.Model)
		row.Tokens = row.Cost()
		summary.Tokens = row.Tokens
		var saved []summarize.MemoryDraft
		saved, err = record.Store(j.ctx, summary)
		if err == nil {
			j.row = row
			if c.o.Saved != nil {
				c.o.Saved(saved)
			}
			c.view.setPrepared(append(slices.Clip(c.view.prepared()), row))
			_ = c.Changed(c.ctx) // what it has read; with an error the next check tries again
			if slices.Contains(transcript.IDs(c.view.prepared()), row.ID) {
				c.report(c.reports.event(row, EventPrepared))
			}
			c.finish(j, nil)
			return
		}
	}
	// The row must become failed even if the process is stopping.
	late, cancel := context.WithTimeout(context.WithoutCancel(j.ctx), 5*time.Second)
	defer cancel()
	saved, failErr := record.Fail(late, inWords(err))
	if failErr != nil {
		err = errors.Join(err, failErr)
	}
	if c.o.Saved != nil && len(saved) > 0 {
		c.o.Saved(saved)
	}
	c.finish(j, err)
}

// finish applies what is due, and starts the job that this one leads to: the fold that the summary waits
// for, or, after a failure, the extractive summarizer's attempt.
func (c *Compactor) finish(j *job, err error) {
	if err != nil {
		c.applyDue(c.ctx)
		c.fail(j, err)
		c.end(j, c.instead(j, err))
		return
	}
	c.reports.worked(j) // before the summary is applied, which notifies the requester
	c.applyDue(c.ctx)
	if !j.extractive || !c.models.has(j.policy) && !j.fills {
		c.retries.worked()
	}
	if j.repaired.ID == 0 && j.row.Kind == Leaf {
		c.noteFreed(j)
	}
	c.end(j, c.planner(j.policy).foldAfter(j, c.running()))
}

// end ends a job and starts the next one: next if it is not nil, else a queued request, else what is
// due. Who waits for j waits for next.
func (c *Compactor) end(j, next *job) {
	j.cancel()
	*c.holder(j) = nil
	if next != nil && c.ctx.Err() == nil {
		next.requested = j.requestedRow()
		next.asked = j.asked
		c.startJob(next)
	} else if i := slices.Index(transcript.IDs(c.view.prepared()), j.requestedRow()); i >= 0 {
		j.asked.answer(c.reports.event(c.view.prepared()[i], EventPrepared)) // it is ready but has to wait
	}
	if asked := c.queued; asked != nil && c.busy == nil {
		c.queued = nil
		c.startRequest(*asked)
	}
	c.proceed()
}

// report emits an event for a step that changes nothing in the prompt.
func (c *Compactor) report(e Event) {
	e.BeforeTokens = c.meter.used(c.view)
	c.notify(e)
}
