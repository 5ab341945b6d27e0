package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/observe"
)

// work is one running job: a summary, together with the folds that keep the stack inside its
// budget. Its slow steps run through Options.Start; between them the owner commits their results.
type work struct {
	*job
	making  *job         // the current job: the summary or a fold
	rows    []Compaction // prepared so far
	before  int          // tokens used at the start
	ctx     context.Context
	cancel  context.CancelFunc
	release func() // frees its slot; nil: it has none
}

// proceed starts the job that is due, and schedules the next wake-up.
func (c *Compactor) proceed() {
	c.wake = time.Time{}
	if c.ctx.Err() != nil || c.o.Start == nil {
		return
	}
	if c.filling == nil {
		if j := c.planFill(c.o.Now()); j != nil {
			c.startJob(j)
		}
	}
	if c.busy != nil || c.filling != nil {
		return // what the worker would repair is about to change
	}
	if j := c.next(); j != nil {
		c.startJob(j)
		return
	}
	c.wake = c.nextWake()
}

func (c *Compactor) write(w *work, j *job, err error) {
	if err != nil {
		c.rowDone(w, j.row, err)
		return
	}
	record, err := c.o.Records.Begin(w.ctx, j.row)
	if err != nil {
		c.rowDone(w, j.row, fmt.Errorf("write the compaction: %w", err))
		return
	}
	j.row.ID = record.ID()
	c.report(j.row, EventStarted, j.window)
	how := c.summarizing(j, record)
	c.o.Start(func() func() {
		ctx, step := observe.Begin(w.ctx, observe.Compaction)
		s, err := c.guarded(ctx, func(ctx context.Context) (summarize.Summary, error) {
			if err := j.renew(ctx, record); err != nil {
				return summarize.Summary{}, err
			}
			s, err := how(ctx)
			if err == nil && c.o.Open != nil {
				var open string
				if open, err = c.o.Open(ctx, j.row.From, j.row.To); open != "" {
					s.Text += "\n\n" + open
				}
			}
			return s, err
		})
		step.Add(j.event(EventStarted).attrs()...)
		step.Fail(err)
		step.End()
		return func() { c.store(w, j, record, s, err) }
	})
}

// store stores the summarizer's result: the row becomes prepared, and its memories count.
func (c *Compactor) store(w *work, j *job, record Job, summary summarize.Summary, err error) {
	row := j.row
	if j.terms != nil {
		c.terms = j.terms
	}
	if err == nil {
		row.Text, row.Sources = summary.Text, summary.Sources
		row.Model = cmp.Or(summary.Model, row.Model)
		row.Tokens = row.Cost()
		summary.Tokens = row.Tokens
		var saved []summarize.MemoryDraft
		saved, err = record.Store(w.ctx, summary)
		if err == nil {
			row.State = Prepared
			if c.o.Saved != nil {
				c.o.Saved(saved)
			}
			c.report(row, EventPrepared, j.window)
			c.rowDone(w, row, nil)
			return
		}
	}
	// The row must become failed even if the process is stopping.
	late, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), 5*time.Second)
	defer cancel()
	if failErr := record.Fail(late, inWords(err)); failErr != nil {
		err = errors.Join(err, failErr)
	}
	c.rowDone(w, row, err)
}

// rowDone continues after a row: with the next fold, with the extractive summarizer after a failed
// fold, or with finish. Keeping the stack inside its budget
// must not depend on a model: if none answers, the extractive summarizer folds, and the result is
// repaired later.
func (c *Compactor) rowDone(w *work, row Compaction, err error) {
	fold := func(children []Compaction, extractive bool) {
		j := c.planRollup(children, w.policy, extractive)
		j.row.Focus = w.row.Focus
		c.makeRow(w, j)
	}
	if err != nil {
		failed := w.making
		if failed == w.job || failed.extractive || w.ctx.Err() != nil {
			c.finish(w, err)
			return
		}
		w.degraded = !modelDeclines(err) // such a fold is repaired later, but not at once
		c.o.Log.Log(c.ctx, c.logLevelFor(err, true), "rollup_failed", "effect", "the extractive summarizer makes it", "error", err)
		fold(failed.children, true)
		return
	}
	w.rows = append(w.rows, row)
	next := c.ahead().with(w.rows)
	if w.fills && c.busy != nil {
		next.inWork = []Compaction{c.busy.row}
	}
	if headCost(next.head, w.policy.shape(w.budget)) > w.policy.stackBudget(w.budget) {
		// A span that the model declined is folded by a model all the same: otherwise it would be
		// folded with its neighbours, and they could not be repaired without it.
		if children, extractive := c.planFold(next, w.policy, w.extractive && (w.fills || w.row.Declined.Times == 0)); children != nil {
			fold(children, extractive)
			return
		}
	}
	c.finish(w, nil)
}

// finish keeps what was prepared, and applies what is due. err, if not nil, says why the last row
// failed: the summary, or a fold after it, without which the summary counts all the same.
func (c *Compactor) finish(w *work, err error) {
	j, made := w.job, len(w.rows) > 0
	c.prepared = append(c.prepared, w.rows...)
	c.dropStale(c.ctx)
	if made {
		c.worked(j) // before the summary is applied, which notifies the requester
	}
	c.applyDue(c.ctx)
	if err != nil {
		c.fail(w, err)
	}
	if !made {
		var next *job
		if !j.extractive && modelDeclines(err) && w.ctx.Err() == nil {
			next = c.declined(j)
		}
		c.end(w, next)
		return
	}
	j.notifyEnd(eventOf(w.rows[0], EventPrepared, j.window)) // if nothing has ended it yet, it is ready but has to wait
	now := c.o.Now()
	switch {
	case err != nil: // fail has set the backoff
	case j.degraded:
		c.retries.failed(now)
	case !j.extractive || !c.hasModel(j.policy) && !j.fills:
		c.retries.worked()
	}
	if j.repaired.ID == 0 && j.row.Kind == Leaf {
		full := c.level() != levelNone
		c.retries.freed(j.tokens-w.rows[0].Tokens, j.tokens, full, now, time.Duration(j.policy.Cooldown))
	}
	c.end(w, nil)
}

// end ends a work and starts the next one: next if it is not nil, else a queued request, else what
// is due.
func (c *Compactor) end(w *work, next *job) {
	w.cancel()
	if w.release != nil {
		w.release()
	}
	if w.fills {
		c.filling = nil
	} else {
		c.busy = nil
	}
	if next != nil && c.ctx.Err() == nil {
		c.startJob(next)
	} else if asked := c.queued; asked != nil && c.busy == nil {
		c.queued = nil
		c.startRequest(*asked)
	}
	c.proceed()
}

// report emits an event for a step that changes nothing in the prompt.
func (c *Compactor) report(row Compaction, state EventState, window int) {
	e := eventOf(row, state, window)
	e.BeforeTokens = c.used(c.h.view)
	c.notify(e)
}

func (c *Compactor) startJob(j *job) {
	w := &work{job: j, making: j}
	w.ctx, w.cancel = context.WithCancel(c.ctx)
	if j.fills {
		c.filling = w
	} else {
		c.busy = w
	}
	if c.o.Before == nil || j.allowed {
		c.continueStart(w, nil)
		return
	}
	if j.row.Trigger == OnSelf && j.onStart != nil { // a turn waits for this answer and must not wait for Before
		j.onStart(j.event(EventStarted))
		j.onStart = nil
	}
	p := Proposal{Event: j.event(EventStarted), Tokens: j.tokens, Focus: j.row.Focus}
	p.BeforeTokens = c.used(c.h.view)
	c.o.Start(func() func() {
		focus, veto := c.before(w.ctx, p)
		return func() {
			j.row.Focus = cmp.Or(focus, j.row.Focus)
			c.continueStart(w, veto)
		}
	})
}

func (c *Compactor) continueStart(w *work, veto error) {
	if veto != nil {
		c.vetoed(w.job, veto)
		c.end(w, nil)
		return
	}
	if w.onStart != nil {
		e := w.event(EventStarted)
		e.Set = slices.DeleteFunc(slices.Clone(c.prepared), func(row Compaction) bool { return row.Trigger != OnPrepare })
		w.onStart(e)
	}
	w.before = c.used(c.h.view)
	if c.draining && w.mayWait() {
		w.cancel()
	}
	c.makeRow(w, w.job)
}

// makeRow takes a slot for a model and narrows a repair in the background, then writes j's row; the summarizer
// starts after that.
func (c *Compactor) makeRow(w *work, j *job) {
	w.making = j
	narrows := j.repaired.ID != 0 && !j.extractive && j.row.Kind == Leaf
	var reader worker
	if narrows {
		reader = c.newWorker(j, nil, summarize.MinSummary, summarize.MinSummary)
	}
	c.o.Start(func() func() {
		row := j.row
		var err error
		if w.release == nil && !j.extractive {
			w.release, err = takeSlot(w.ctx, c.o.Slots)
		}
		if err == nil && narrows {
			row, err = c.narrow(w.ctx, reader)
		}
		return func() {
			j.row = row
			c.write(w, j, err)
		}
	})
}

// takeSlot waits for a worker's slot and returns the function that frees it.
func takeSlot(ctx context.Context, slots chan struct{}) (release func(), err error) {
	if slots == nil {
		return func() {}, nil
	}
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
