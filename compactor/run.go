package compactor

import (
	"context"
	"slices"
	"time"

	"cairn/transcript"
)

// A job is planned and starts; its row is written; its summary is written and stored; then it ends, and what it leads to starts.
// The slow parts are Work.

// Work returns the slow work that has become due since the last call. The owner runs each piece in any goroutine and passes its
// result to Done; also after Close, when it ends soon.
func (c *Compactor) Work() []Work {
	due := c.work
	c.work = nil
	return due
}

// Done receives the result of a piece of work.
func (c *Compactor) Done(r Result) {
	j := r.job
	if j.stopped == toRestart {
		j.stopped = notStopped
		r.row.Focus = ""
		if r.record == nil {
			c.start(j)
			return
		}
		j.ctx, j.cancel = context.WithCancel(c.ctx)
	}
	switch {
	case j.record == nil:
		c.rowWritten(j, r)
	case r.err != nil:
		c.finish(j, r.err)
	default:
		r.row.Focus = j.row.Focus // it may have been forgotten meanwhile
		j.row = r.row
		c.view.setPrepared(append(slices.Clip(c.view.prepared()), j.row))
		_ = c.Changed(c.ctx) // what it has read; with an error the next check tries again
		if slices.Contains(transcript.IDs(c.view.prepared()), j.row.ID) {
			e := c.reports.event(j.row, EventPrepared)
			e.BeforeTokens = c.meter.used(c.view)
			c.notify(e)
		}
		c.finish(j, nil)
	}
}

// proceed starts the job that is due, and schedules the next wake-up.
func (c *Compactor) proceed() {
	c.wake = time.Time{}
	if c.ctx.Err() != nil {
		return
	}
	pl := c.planner(c.meter.policy())
	if c.filling == nil {
		if j := pl.planFill(); j != nil {
			c.start(j)
		}
	}
	if c.busy != nil || c.filling != nil {
		return // what the worker would repair is about to change
	}
	j := pl.next()
	c.undoLifted = pl.undoLifted
	c.tokenDeficit = pl.deficit
	if j != nil {
		c.start(j)
		return
	}
	c.terms = nil
	c.wake = pl.nextWake()
}

// start starts a job: its row is to be written.
func (c *Compactor) start(j *job) {
	j.ctx, j.cancel = context.WithCancel(c.ctx)
	j.unchanged, j.outdate = context.WithCancel(context.Background())
	*c.holder(j) = j
	first := beginning{narrow: c.planner(j.policy).narrowed(j, c.o.Records), records: c.o.Records}
	if c.o.Before != nil && !c.planner(j.policy).isAllowed(j) {
		p := Proposal{Event: c.reports.event(j.row, EventStarted), Tokens: j.tokens, Focus: j.row.Focus}
		p.BeforeTokens = c.meter.used(c.view)
		first.before = func(ctx context.Context) (focus string, veto error) { return c.o.before(ctx, p) }
	}
	if first.before == nil || j.row.Trigger == OnSelf { // a turn waits for this answer and must not wait for Before
		j.origin().progress.began(c.reports.event(j.row, EventStarted))
	}
	c.schedule(j, first)
}

// isAllowed reports whether a job starts without Before, because what it makes room for or stands in for was allowed.
func (pl *planner) isAllowed(j *job) bool {
	return j.first != nil || j.row.Trigger == OnRollup && pl.crowded(pl.ahead())
}

// schedule hands a piece of a job's work to the owner.
func (c *Compactor) schedule(j *job, s step) {
	c.work = append(c.work, Work{job: j, ctx: j.ctx, row: j.row, step: s, log: c.o.Log})
}

// rowWritten starts the summary of a job whose row is written, unless Before forbids it or writing failed.
func (c *Compactor) rowWritten(j *job, r Result) {
	if r.veto != nil {
		c.retries.forbid(j, r.veto, c.o.Now())
		e := c.reports.event(j.row, EventNoop)
		e.Error = r.veto.Error()
		j.origin().progress.answer(c.notify(e))
		c.end(j, nil)
		return
	}
	j.origin().progress.began(c.reports.event(j.row, EventStarted))
	j.row = r.row
	j.record = r.record
	if r.err != nil {
		c.finish(j, r.err)
		return
	}
	e := c.reports.event(j.row, EventStarted)
	e.BeforeTokens = c.meter.used(c.view)
	c.notify(e)
	pl := c.planner(j.policy)
	c.schedule(j, summarizing{by: c.models.by, assignment: pl.assignment(j), record: j.record, unchanged: j.unchanged})
	c.terms = pl.terms
}

// jobs are the jobs at work, and the request that waits for them.
type jobs struct {
	busy    *job     // nil: nothing is being summarized
	filling *job     // nil: no placeholder is being filled
	queued  *request // starts when the running work ends; nil if there is none
	work    []Work   // what the owner is to run
}

// Busy reports whether any work is running.
func (js *jobs) Busy() bool { return js.busy != nil || js.filling != nil }

// holder returns the field that holds j while it runs.
func (js *jobs) holder(j *job) **job {
	if j.fills() {
		return &js.filling
	}
	return &js.busy
}

// running returns the running jobs.
func (js *jobs) running() []*job {
	return slices.DeleteFunc([]*job{js.busy, js.filling}, func(j *job) bool { return j == nil })
}

// outdate ends those of the running jobs for which it returns true: they make no further request, and store no summary.
func (js *jobs) outdate(which func(j *job) bool) {
	for _, j := range js.running() {
		if which(j) {
			j.outdate()
		}
	}
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
// If one is being written, it is written again: see Restarts.
func ForgetFocus(c *Compactor) {
	if c.queued != nil {
		c.queued.Focus = ""
	}
	for _, j := range c.running() {
		j.row.Focus = ""
		if j.record == nil && j.stopped == notStopped {
			j.stopped = toRestart
			j.cancel()
		}
	}
}

// Restarts reports whether a row may still be written with a focus from before ForgetFocus.
func Restarts(c *Compactor) bool {
	return slices.ContainsFunc(c.running(), func(j *job) bool { return j.record == nil && j.stopped != notStopped })
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
	if !j.extractive() || !c.models.has(j.policy) && !j.fills() {
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
		next.first = j.origin()
		c.start(next)
	} else if i := slices.Index(transcript.IDs(c.view.prepared()), j.origin().row.ID); i >= 0 {
		j.origin().progress.answer(c.reports.event(c.view.prepared()[i], EventPrepared)) // it is ready but has to wait
	}
	if next := c.queued; next != nil && c.busy == nil {
		c.queued = nil
		c.startRequest(*next)
	}
	c.proceed()
}
