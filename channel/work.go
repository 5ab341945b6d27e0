package channel

import (
	"cmp"
	"context"
	"slices"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/store"
)

// The child that works: it takes up messages and answers them.

// work opens the conversation, resumes an unfinished turn, and works until nothing waits.
func (c *conversation) work(ctx context.Context, resume bool) error {
	opens := c.engine == nil
	if opens {
		if _, err := c.load(ctx); err != nil {
			return err
		}
		c.imports.unread.Store(true)
	}
	if err := c.readImport(ctx, resume); err != nil {
		return err
	}
	if c.connector == nil {
		return c.workClosed(ctx, opens)
	}
	if opens {
		c.sender.start() // with what an earlier process left
	}
	err := c.workAll(ctx, resume)
	c.usage.flush(c.life)
	if opens {
		c.check() // schedules repairs of what an earlier process could not summarize
	}
	return cmp.Or(err, ctx.Err())
}

// workAll works until nothing is left to do.
func (c *conversation) workAll(ctx context.Context, resume bool) error {
	more := true
	for more && ctx.Err() == nil {
		err := c.sync(ctx, resume)
		if err == nil {
			more, err = c.step(ctx)
		}
		if err != nil {
			return err
		}
		resume = false
	}
	return nil
}

// workClosed is work for a connector that is not open: what arrived waits for it.
func (c *conversation) workClosed(ctx context.Context, opened bool) error {
	if opened {
		c.check()
	}
	due, err := c.records.Inbox().Due(ctx)
	if err == nil && due.Session && due.Waiting == 0 {
		_, err = c.startSession(ctx)
	}
	return err
}

// sync applies edits and changed settings, announces a compaction, and resumes a turn if asked to.
func (c *conversation) sync(ctx context.Context, resume bool) (err error) {
	c.do(func(e *compactor.Compactor) { err = e.Reread(ctx) })
	if err == nil {
		err = c.renew(ctx)
	}
	if err == nil {
		c.announce(ctx)
	}
	if err == nil && resume {
		err = c.resume(ctx)
	}
	return err
}

// announce notifies people of the last compaction, unless they have heard of it.
func (c *conversation) announce(ctx context.Context) {
	var applied *compactor.Event
	newest := ""
	c.do(func(*compactor.Compactor) {
		applied = c.unannounced
		newest = c.arrivals.newest
		c.unannounced = nil
	})
	if applied != nil {
		c.sender.announce(ctx, applied, c.policy.get().Notify, newest)
	}
}

// step takes up what waits, and answers it if anyone asked; if nothing does, it starts a requested session.
func (c *conversation) step(ctx context.Context) (more bool, err error) {
	if c.fleet.isLeaving() { // the next owner does
		return false, nil
	}
	due, err := c.backfill.gather(ctx, c.burst())
	if err == nil {
		err = c.backfill.removeHalves(ctx)
	}
	if err != nil {
		return false, err
	}
	var burst []chat.Message
	if due.Last != 0 { // otherwise nothing waits, and nothing is written
		c.window.lookUp(ctx)
		burst, err = c.records.Inbox().Dequeue(ctx, due.Last, c.burst(), c.backfill.stale())
	}
	switch {
	case err != nil:
		return false, err
	case len(burst) == 0 && due.Session:
		return c.startSession(ctx)
	case len(burst) == 0 && c.task == nil:
		return false, nil
	case len(burst) == 0:
		return c.task.Continue(ctx, c.sender.idle() && !c.paused(ctx), c.language())
	}
	settings, authors, err := c.takeUp(ctx, burst)
	if err != nil {
		return false, err
	}
	if err := c.redetectLanguage(ctx); err != nil {
		return false, err
	}
	more = len(burst) < due.Waiting || due.Session // what arrives after this check wakes the loop, which starts the child again
	t := c.newTurn(c.records.Turns().Of(burst))
	if t.Seq == 0 {
		c.check()
		return more, nil
	}
	if c.task != nil { // a task counts against no one's turns per minute, and it may have to continue
		return true, c.answer(ctx, t, nil)
	}
	if connectorOf(c.name) == c.access.Rules().NoTurnLimit {
		authors = nil
	}
	ok, tell, err := c.access.TakeTurn(ctx, authors, !t.Optional)
	switch {
	case err != nil:
		return false, err
	case !ok:
		return more, t.putOff(ctx, tell, t.speaker().Sayf("One moment, please: I answer each person at most %d times a minute. Your message is saved; ask again in a minute.",
			t.access.Rules().TurnsPerMinute))
	}
	return more, c.answer(ctx, t, settings)
}

// takeUp shows dequeued messages, and returns the settings that came with them and the authors of the addressed ones.
// While an import is read they follow messages that are not read yet, and come from the disk.
func (c *conversation) takeUp(ctx context.Context, burst []chat.Message) (settings compactor.Patch, authors []string, err error) {
	c.do(func(e *compactor.Compactor) {
		if c.imports.unread.Load() {
			err = e.Changed(ctx)
		} else {
			e.Received(burst...)
		}
		for _, m := range burst {
			brought := c.arrivals.accepted(m.ID, m.Seq)
			if m.Addressed {
				settings = compactor.Merge(settings, brought)
			}
			if !store.IsOwn(m.ID) {
				c.arrivals.newest = m.ID
			}
			if m.Addressed && !slices.Contains(authors, m.AuthorID) {
				authors = append(authors, m.AuthorID)
			}
		}
	})
	return settings, authors, err
}

// startSession starts a requested session once all earlier messages are dealt with.
func (c *conversation) startSession(ctx context.Context) (started bool, err error) {
	due, err := c.records.Sessions().Due(ctx)
	if err != nil || !due || c.imports.unread.Load() { // it would begin before what is not read yet
		return false, err
	}
	c.do(func(e *compactor.Compactor) { started, err = e.StartSession(ctx) })
	if err == nil && !started {
		err = c.records.Sessions().DropRequest(ctx)
	}
	return err == nil, err
}

// resume takes up a turn that an earlier process, or the disk, left unfinished; an old one becomes context.
func (c *conversation) resume(ctx context.Context) error {
	for {
		row, open, err := c.records.Turns().Unanswered(ctx)
		t := c.newTurn(row)
		switch {
		case err != nil:
		case !open: // the one that the engine knows of may have been deleted in the meantime
			c.do(func(e *compactor.Compactor) { e.EndTurn() })
			return nil
		case t.Since.Before(c.backfill.stale()):
			err = t.pass(ctx)
		default:
			open, err = t.countStart(ctx)
			if open {
				err = c.answer(ctx, t, nil)
			}
		}
		if err != nil {
			return err
		}
	}
}

// answer has a turn answered, unless nobody may or can answer it. settings are for it and the check after it.
func (c *conversation) answer(ctx context.Context, t *turn, settings compactor.Patch) (err error) {
	ctx = t.start(ctx)
	defer func() { t.end(err) }() // after a panic, too
	if !t.mayAnswer() {
		return t.pass(c.life) // not ctx: /stop cancels that, and this must be written all the same
	}
	refusal, err := t.charge(ctx)
	if err != nil {
		return err
	}
	if refusal != "" {
		return t.putOff(c.life, true, t.speaker().Say(refusal))
	}
	t.other = t.calledAgent()
	if t.other == nil {
		if err := c.awaitTools(ctx); err != nil {
			return err
		}
	}
	return t.run(ctx, settings)
}

// newTurn returns a turn that has not started.
func (c *conversation) newTurn(row store.Turn) *turn {
	return &turn{
		Turn: row, voice: &c.voice, answerer: &c.answerer, loop: &c.loop, sender: &c.sender, usage: &c.usage,
		failures: &c.failures, task: c.task, tasks: c.tasks, arrivals: &c.arrivals, outcome: observe.Passed,
	}
}
