package compactor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// job is one piece of work in the background: a row to be made, and who makes it.
type job struct {
	row      Compaction
	tokens   int  // of the span, as it stood when planned
	most     int  // tokens the text may have; 0: as the policy says
	builtIn  bool // the built-in summarizer makes it
	policy   Policy
	window   int
	children []Compaction // of a rollup
}

func (j *job) event(state EventState) Event { return eventOf(j.row, state, j.window) }

func eventOf(row Compaction, state EventState, window int) Event {
	return Event{
		ID: row.ID, State: state, Trigger: row.Trigger, Kind: row.Kind, By: row.By,
		From: row.From, To: row.To, Messages: row.Messages, Window: window, Summary: row.Text, Error: row.Error,
	}
}

// newJob plans a row over lines or stack rows.
func (c *Compactor) newJob(trigger Trigger, kind Kind, level, tokens int, p Policy, window int, builtIn bool) *job {
	j := &job{tokens: tokens, builtIn: builtIn, policy: p, window: window}
	j.row = Compaction{Kind: kind, By: ByWorker, State: Running, Trigger: trigger, Level: level, Focus: p.Focus, PolicyHash: p.Hash()}
	if builtIn {
		j.row.By = ByBuiltIn
	} else {
		j.row.Model = c.o.Worker.Name()
	}
	return j
}

func (j *job) over(sp span) {
	first, last := sp.lines[0], sp.lines[len(sp.lines)-1]
	j.row.From, j.row.To, j.row.Messages = sp.from, sp.to, len(sp.lines)
	j.row.FromTime, j.row.ToTime = first.Time, last.Time
}

// next chooses the job that is due: what a level demands, then a fold if the stack
// is too large, then healing. nil: nothing is due, or a worker is running.
func (c *Compactor) next() *job {
	s, p, window := c.h.snapshot(), c.o.Policy(), c.o.Window()
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy != nil {
		return nil
	}
	return c.nextLocked(s, p, window, now)
}

func (c *Compactor) nextLocked(s snapshot, p Policy, window int, now time.Time) *job {
	if c.ctx.Err() != nil {
		return nil
	}
	builtIn, ready := c.summarizerLocked(p, now)
	if !ready {
		return nil
	}
	used := c.used(s)
	if l := levelOf(used, window, p); l != calm && p.Enabled && !now.Before(c.pace.pausedUntil) {
		if j := c.planLevel(s, p, window, l, builtIn); j != nil {
			return j
		}
	}
	if stackCost(s.head.Stack) > p.stackBudget(window) {
		if children := planFold(s.head.Stack, p.RollupFanIn); children != nil {
			return c.planRollup(children, OnRollup, p, window, builtIn)
		}
	}
	if c.draining || !p.Enabled {
		return nil
	}
	return c.planHeal(s, p, window, used, builtIn)
}

// summarizerLocked tells who makes the next summary, and whether anybody may now.
func (c *Compactor) summarizerLocked(p Policy, now time.Time) (builtIn, ready bool) {
	switch waiting := now.Before(c.pace.retryAt); {
	case c.pace.failures >= p.FailureLimit && waiting:
		return true, true
	case waiting:
		return false, false
	}
	return c.o.Worker == nil, true
}

func (c *Compactor) planLevel(s snapshot, p Policy, window int, l level, builtIn bool) *job {
	sp := planSpan(s, int(p.fraction(l)*float64(s.lineCost)), p.KeepLastN, p.tail(window))
	if len(sp.lines) == 0 {
		return nil
	}
	j := c.newJob(l.trigger(), Leaf, 0, sp.tokens, p, window, builtIn)
	j.over(sp)
	return j
}

func (c *Compactor) planRollup(children []Compaction, trigger Trigger, p Policy, window int, builtIn bool) *job {
	j := c.newJob(trigger, Rollup, foldLevel(children), stackCost(children), p, window, builtIn)
	j.children = slices.Clone(children)
	first, last := children[0], children[len(children)-1]
	j.row.From, j.row.FromTime, j.row.To, j.row.ToTime = first.From, first.FromTime, last.To, last.ToTime
	for _, child := range children {
		j.row.Messages += child.Messages
		j.row.Children = append(j.row.Children, child.ID)
	}
	return j
}

// planHeal chooses the oldest row that stands in for a better summary. The
// built-in summarizer heals markers only: its own summaries wait for a model. A
// heal that makes the view larger needs room for it; one that does not may always run.
func (c *Compactor) planHeal(s snapshot, p Policy, window, used int, builtIn bool) *job {
	for _, row := range s.head.Stack {
		if row.ID == 0 || !row.NeedsHealing() || builtIn && row.Kind != Marker {
			continue
		}
		j := c.newJob(OnHeal, Leaf, row.Level, 0, p, window, builtIn)
		growth := p.entryCap(window) - TokensOfCompaction(row)
		if float64(used+growth) >= 0.95*p.EmergencyThreshold*float64(window) {
			if row.Kind == Marker {
				continue
			}
			j.most = Estimate(row.Text)
		}
		j.row.From, j.row.To, j.row.Messages = row.From, row.To, row.Messages
		j.row.FromTime, j.row.ToTime = row.FromTime, row.ToTime
		return j
	}
	return nil
}

// wish plans a compaction somebody asked for, or says why there is none.
func (c *Compactor) wish(trigger Trigger, focus string) (*job, string) {
	s, p, window := c.h.snapshot(), c.o.Policy(), c.o.Window()
	sp := planSpan(s, s.lineCost+1, p.KeepLastN, p.tail(window))
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.busy != nil:
		return nil, reasonRunning
	case len(sp.lines) == 0:
		return nil, reasonShort
	}
	j := c.newJob(trigger, Leaf, 0, sp.tokens, p, window, c.o.Worker == nil)
	if focus != "" {
		j.row.Focus = focus
	}
	j.over(sp)
	return j, ""
}

// reading returns the span the running worker reads, if it is one of messages.
func (c *Compactor) reading() (from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy == nil || c.busy.row.Kind != Leaf {
		return 0, 0
	}
	return c.busy.row.From, c.busy.row.To
}

// start runs j in the background, and after it what is due then. It does nothing
// if j is nil or another job was quicker.
func (c *Compactor) start(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j == nil || c.busy != nil || c.ctx.Err() != nil {
		return
	}
	c.busy, c.idle = j, make(chan struct{})
	c.workers.Add(1)
	go func() {
		defer c.workers.Done()
		for j != nil {
			c.run(j)
			s, p, window := c.h.snapshot(), c.o.Policy(), c.o.Window()
			c.mu.Lock()
			if j = c.nextLocked(s, p, window, time.Now()); j == nil {
				close(c.idle)
			}
			c.busy = j
			c.mu.Unlock()
		}
	}()
}

// run makes one compaction. Whatever goes wrong, the view is what it was.
func (c *Compactor) run(j *job) {
	before := c.used(c.h.snapshot())
	rows, err := c.work(j)
	if err == nil {
		err = c.land(c.ctx, rows, j.policy)
	}
	now := time.Now()
	if err != nil {
		c.fail(j, rows, before, now, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !j.builtIn || c.o.Worker == nil {
		c.pace.worked()
	}
	if j.row.Kind == Leaf && j.row.Trigger != OnHeal {
		c.pace.freed(j.tokens-rows[0].Tokens, j.tokens, now, time.Duration(j.policy.Cooldown))
	}
}

// fail reports a job that came to nothing. Rows that were stored before it failed
// land with the next check.
func (c *Compactor) fail(j *job, stored []Compaction, before int, now time.Time, err error) {
	c.mu.Lock()
	for _, row := range stored {
		c.staged = append(c.staged, row.ID)
	}
	if c.ctx.Err() == nil {
		c.pace.failed(now)
	}
	c.mu.Unlock()
	e := j.event(EventFailed)
	var made *unmade
	if errors.As(err, &made) {
		e.ID = made.id
	}
	e.Error, e.BeforeTokens, e.AfterTokens = inWords(err), before, c.used(c.h.snapshot())
	if c.ctx.Err() == nil {
		c.o.Log.Warn("compaction failed; nothing was lost", "trigger", j.row.Trigger, "by", j.row.By, "error", err)
	}
	c.notify(e)
}

// work makes the summary and the folds that keep the stack inside its budget, and
// returns their rows, staged, in the order in which they are to land.
func (c *Compactor) work(j *job) (rows []Compaction, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.o.Log.Error("the worker panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the worker broke: %v", p)
		}
	}()
	if c.o.Slots != nil {
		select {
		case c.o.Slots <- struct{}{}:
			defer func() { <-c.o.Slots }()
		case <-c.ctx.Done():
			return nil, c.ctx.Err()
		}
	}
	row, err := c.make(c.ctx, j)
	if err != nil {
		return nil, err
	}
	rows = append(rows, row)
	stack := insert(c.h.snapshot().head.Stack, row)
	for budget := j.policy.stackBudget(j.window); stackCost(stack) > budget; {
		children := planFold(stack, j.policy.RollupFanIn)
		if children == nil {
			break
		}
		fold, err := c.fold(j, children)
		if err != nil {
			return rows, err
		}
		rows = append(rows, fold)
		stack = insert(stack, fold)
	}
	return rows, nil
}

// fold makes a rollup of children. The stack's budget must not hang on a model:
// if none answers, the built-in summarizer folds, and is healed later.
func (c *Compactor) fold(of *job, children []Compaction) (Compaction, error) {
	row, err := c.make(c.ctx, c.planRollup(children, OnRollup, of.policy, of.window, of.builtIn))
	if err == nil || of.builtIn || c.ctx.Err() != nil {
		return row, err
	}
	c.o.Log.Warn("a fold failed; the built-in summarizer folds", "error", err)
	return c.make(c.ctx, c.planRollup(children, OnRollup, of.policy, of.window, true))
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
	row := j.row
	record, err := c.o.Records.Begin(ctx, row)
	if err != nil {
		return row, fmt.Errorf("write the compaction: %w", err)
	}
	row.ID = record.ID()
	c.notify(eventOf(row, EventStarted, j.window))
	summary, err := c.summarize(ctx, j, record)
	if err == nil {
		row.Text = summary.Text
		row.Tokens = TokensOfCompaction(row)
		summary.Tokens = row.Tokens
		var saved []MemoryDraft
		if saved, err = record.Store(ctx, summary); err == nil {
			row.State = Staged
			c.o.Saved(saved)
			c.notify(eventOf(row, EventStaged, j.window))
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

// land makes staged rows active and shows the new head.
func (c *Compactor) land(ctx context.Context, rows []Compaction, p Policy) error {
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	s := c.h.snapshot()
	head, now, err := c.o.Records.Land(ctx, ids, lastResult(s.lines, s.stored))
	if err != nil {
		return fmt.Errorf("land the summary: %w", err)
	}
	rest := c.frameCost + Reserve(c.o.MaxOutput, c.o.Window())
	before, after, _ := c.h.swap(head, p)
	before, after = before+rest, after+rest
	for _, row := range now {
		e := eventOf(row, EventLanded, c.o.Window())
		e.BeforeTokens, e.AfterTokens = before, after
		if row.State == Stale {
			e.State, e.Error = EventNoop, "what it summed up was summed up otherwise or changed meanwhile"
		} else if err := c.o.Records.Measured(ctx, row.ID, before, after); err != nil {
			c.o.Log.Warn("the numbers of a landing were not written", "error", err)
		}
		c.notify(e)
	}
	return nil
}

// landStaged lands what a crash left stored but not shown.
func (c *Compactor) landStaged(ctx context.Context, p Policy) {
	c.mu.Lock()
	staged := c.staged
	c.staged = nil
	c.mu.Unlock()
	if len(staged) == 0 {
		return
	}
	rows := make([]Compaction, len(staged))
	for i, id := range staged {
		rows[i].ID = id
	}
	if err := c.land(ctx, rows, p); err != nil {
		c.o.Log.Warn("a stored summary could not land yet", "error", err)
		c.mu.Lock()
		c.staged = staged
		c.mu.Unlock()
	}
}

// inWords is a failure as people may read it: what happened, without internals.
func inWords(err error) string {
	switch {
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
