package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"cairn/llm"
)

// proceed starts what is due, if nothing is running. It waits for nothing.
func (c *Compactor) proceed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy != nil {
		c.fillLocked()
	} else if !c.startLocked(c.nextLocked()) {
		c.sleepLocked()
	}
}

// start runs j in the background, and after it what is due then. It does nothing
// if j is nil or another job was quicker; started tells.
func (c *Compactor) start(j *job) (started bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startLocked(j)
}

func (c *Compactor) startLocked(j *job) (started bool) {
	if j == nil || c.busy != nil || c.ctx.Err() != nil {
		return false
	}
	c.busy, c.idle = j, make(chan struct{})
	c.workers.Add(1)
	go func() {
		defer c.workers.Done()
		for j != nil {
			if c.may(j) {
				c.run(j)
			}
			j = c.following()
		}
	}()
	return true
}

// run makes one compaction. Whatever goes wrong, the view is what it was.
func (c *Compactor) run(j *job) {
	before := c.used(c.h.snapshot())
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	c.mu.Lock()
	if j.cancel = cancel; c.draining && j.mayWait() {
		cancel()
	}
	c.mu.Unlock()
	rows, err := c.work(ctx, j)
	c.mu.Lock()
	c.staged = append(c.staged, rows...)
	c.mu.Unlock()
	c.sweep(c.ctx)
	if err == nil {
		c.worked(j) // before the summary is applied, which ends the wait of whoever asked for it
	}
	c.landDue(c.ctx, c.o.Policy(), c.o.Window())
	now := c.o.Now()
	if err != nil {
		c.fail(j, before, now, err)
		if !j.builtIn && wontSummarize(err) && ctx.Err() == nil {
			c.declined(j)
		}
		return
	}
	c.unshown(j, rows[0])
	full := levelOf(c.used(c.h.snapshot()), c.o.Window(), c.o.Policy()) != calm
	c.mu.Lock()
	defer c.mu.Unlock()
	c.summarizedLocked(j)
	switch {
	case j.degraded:
		c.pace.failed(now)
	case !j.builtIn || c.o.Worker == nil && !j.fills:
		c.declines = 0
		c.pace.worked()
	case j.declined >= j.policy.FailureLimit && j.heals == 0:
		if c.declines++; c.declines >= j.policy.FailureLimit { // it seems to decline everything
			c.pace.failures = max(c.pace.failures, c.declines)
			c.pace.failed(now)
		}
	}
	if j.heals == 0 && j.row.Kind == Leaf {
		c.pace.freed(j.tokens-rows[0].Tokens, j.tokens, full, now, time.Duration(j.policy.Cooldown))
	}
}

// fail reports a job that came to nothing.
func (c *Compactor) fail(j *job, before int, now time.Time, err error) {
	stack := c.h.snapshot().head.rows()
	c.mu.Lock()
	stopped := c.ctx.Err() != nil || c.draining && j.mayWait()
	if !stopped {
		c.failedLocked(j, stack, now, err)
	}
	c.mu.Unlock()
	e := j.event(EventFailed)
	var made *unmade
	if errors.As(err, &made) {
		e.ID = made.id
	}
	e.Error, e.BeforeTokens, e.AfterTokens = inWords(err), before, c.used(c.h.snapshot())
	if !stopped {
		c.o.Log.Log(c.ctx, c.loud(err, !j.builtIn), "compaction_failed", append(llm.LogAttrs(err), "trigger", j.row.Trigger, "by", j.row.By)...)
	}
	c.notify(e)
	c.over(j, e)
}

// loud tells how loud to log a failure of a model's work, or of the built-in summarizer's.
// Whoever spends knows that all is spent, and turns that the model's server is down.
func (c *Compactor) loud(err error, ofModel bool) slog.Level {
	switch {
	case !ofModel:
		return c.without.Begin()
	case errors.Is(err, ErrSpent):
		return slog.LevelDebug
	case llm.OfServer(err) && c.apart():
		return c.learntOf(c.o.Worker).Down.Begin()
	case llm.OfServer(err) && c.learntOf(c.o.Worker).Down.On():
		return slog.LevelDebug
	}
	return c.withModel.Begin()
}

// worked ends an incident, if there was one.
func (c *Compactor) worked(j *job) {
	incident := &c.withModel
	if j.builtIn {
		incident = &c.without
	}
	if j.degraded {
		return
	}
	ended := incident.End()
	if !j.builtIn && c.apart() {
		ended = c.learntOf(c.o.Worker).Down.End() || ended
	}
	if ended {
		c.o.Log.Info("compactions_recovered", "by", j.row.By)
	}
}

// apart tells whether the worker's model is not the one that turns ask: then turns do not
// know when its server is down, and all conversations that need it are one incident.
func (c *Compactor) apart() bool { return c.learntOf(c.o.Worker) != c.learnt() }

// failedLocked makes the next try wait. A row that cannot be healed, because of
// what it holds, holds up no other work; a model that does not answer does.
func (c *Compactor) failedLocked(j *job, stack []Compaction, now time.Time, err error) {
	var provider *llm.Error
	switch down := errors.As(err, &provider) && provider.Temporary() || errors.Is(err, context.DeadlineExceeded); {
	case j.heals == 0 && j.builtIn:
		c.pace.stoodIn(now)
	case !j.builtIn && wontSummarize(err):
		return // what was declined waits by itself
	case j.heals == 0 || down:
		c.pace.failed(now)
	}
	if j.heals == 0 {
		return
	}
	sore := c.sore[j.heals]
	sore.failed(now)
	c.sore[j.heals] = sore
	maps.DeleteFunc(c.sore, func(id int64, _ pace) bool {
		return !slices.ContainsFunc(stack, func(row Compaction) bool { return row.ID == id })
	})
}

// work makes the summary and the folds that keep the stack inside its budget, and
// returns their rows, staged, in the order in which they are to land.
func (c *Compactor) work(ctx context.Context, j *job) (rows []Compaction, err error) {
	if c.o.Slots != nil && !j.fills {
		select {
		case c.o.Slots <- struct{}{}:
			defer func() { <-c.o.Slots }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	row, err := c.make(ctx, j)
	if err != nil {
		return nil, err
	}
	rows = append(rows, row)
	then, sh := c.ahead(c.h.snapshot()).with(rows), j.policy.shape(j.budget)
	if j.fills {
		then.inWork = c.inWork()
	}
	for budget := j.policy.stackBudget(j.budget); then.head.stackCost(sh) > budget; {
		// A model that declined a span folds what it wrote all the same: else the span would be
		// folded with its neighbours, and they could not be repaired without it.
		children, byBuiltIn := c.planFold(then, j.policy, j.builtIn && (j.fills || j.row.Declined.Times == 0))
		if children == nil {
			break
		}
		fold, err := c.fold(ctx, j, children, byBuiltIn)
		if err != nil {
			return rows, err
		}
		rows = append(rows, fold)
		then = then.with([]Compaction{fold})
	}
	return rows, nil
}

// fold makes a rollup of children. The stack's budget must not hang on a model:
// if none answers, the built-in summarizer folds, and is healed later.
func (c *Compactor) fold(ctx context.Context, of *job, children []Compaction, byBuiltIn bool) (Compaction, error) {
	plan := func(builtIn bool) *job {
		j := c.planRollup(children, OnRollup, of.policy, of.window, builtIn)
		j.row.Focus = of.row.Focus
		return j
	}
	row, err := c.make(ctx, plan(byBuiltIn))
	if err == nil || byBuiltIn || ctx.Err() != nil {
		return row, err
	}
	of.degraded = !wontSummarize(err) // what was folded so is healed later, but not at once
	c.o.Log.Log(c.ctx, c.loud(err, true), "rollup_failed", "effect", "the extractive summarizer makes it", "error", err)
	return c.make(ctx, plan(true))
}

// report tells of a step that has changed nothing yet.
func (c *Compactor) report(row Compaction, state EventState, window int) {
	e := eventOf(row, state, window)
	e.BeforeTokens = c.used(c.h.snapshot())
	c.notify(e)
}

// guarded lets the summarizer work. One that panics has failed, and nothing else.
func (c *Compactor) guarded(ctx context.Context, j *job, record Job) (s Summary, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.o.Log.Error("worker_panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the worker broke: %v", p)
		}
	}()
	return c.summarize(ctx, j, record)
}

// unmade is the failure of a job whose row is known.
type unmade struct {
	id  int64
	err error
}

func (u *unmade) Error() string { return u.err.Error() }
func (u *unmade) Unwrap() error { return u.err }

// make writes the row, lets the summarizer work, and stores what it made: then
// the row is staged, and its memories count.
func (c *Compactor) make(ctx context.Context, j *job) (Compaction, error) {
	if err := c.narrow(ctx, j); err != nil {
		return j.row, fmt.Errorf("read what is repaired: %w", err)
	}
	row := j.row
	record, err := c.o.Records.Begin(ctx, row)
	if err != nil {
		return row, fmt.Errorf("write the compaction: %w", err)
	}
	row.ID = record.ID()
	c.begun(j, row.ID)
	c.report(row, EventStarted, j.window)
	var summary Summary
	if err = j.renew(ctx, record); err == nil {
		summary, err = c.guarded(ctx, j, record)
	}
	if err == nil {
		row.Text, row.Sources = summary.Text, summary.Sources
		row.Model = cmp.Or(summary.Model, row.Model)
		row.Tokens = TokensOfCompaction(row)
		summary.Tokens = row.Tokens
		var saved []MemoryDraft
		if saved, err = record.Store(ctx, summary); err == nil {
			row.State = Staged
			c.o.Saved(saved)
			c.report(row, EventStaged, j.window)
			return row, nil
		}
	}
	// The row must say so even when the process is stopping.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if failErr := record.Fail(late, inWords(err)); failErr != nil {
		err = errors.Join(err, failErr)
	}
	return row, &unmade{id: row.ID, err: err}
}

// renew reads again what a rollup is to be made of: since it was planned, people may have
// edited or deleted messages. What changes from here on makes the row stale.
func (j *job) renew(ctx context.Context, record Job) error {
	if j.heals != 0 || len(j.children) == 0 {
		return nil
	}
	now, err := record.Children(ctx, record.ID())
	for i, child := range j.children {
		if k := slices.IndexFunc(now, func(row Compaction) bool { return row.ID == child.ID }); k >= 0 {
			span := child.Span // a plan may want a part of a row
			j.children[i] = now[k]
			j.children[i].Span = span
		}
	}
	return err
}

// inWords is a failure as people may read it: what happened, without internals.
func inWords(err error) string {
	switch {
	case errors.Is(err, ErrSpent):
		return ErrSpent.Error() + "; nothing was lost"
	case errors.Is(err, errSilent):
		return "the summarizing model sent nothing for too long; nothing was lost"
	case errors.Is(err, context.DeadlineExceeded):
		return "the summary took too long; nothing was lost"
	case errors.Is(err, context.Canceled):
		return "stopped before the summary was ready; nothing was lost"
	case errors.As(err, new(refusal)):
		return err.Error() + "; nothing was lost"
	}
	if why := reasonOfModel(err); why != "" {
		return why + "; nothing was lost"
	}
	return "the summary could not be stored; nothing was lost"
}
