package channel

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

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
	var made *compactor.Event
	newest := ""
	c.do(func(e *compactor.Compactor) {
		if e.Outdated() {
			err = e.Changed(ctx)
		}
		if err == nil {
			made = c.unannounced
			newest = c.arrivals.newest
			c.unannounced = nil
		}
	})
	if err == nil {
		err = c.renew(ctx)
	}
	if err == nil && made != nil {
		c.notices.announce(ctx, made, c.policy.get().Notify, newest)
	}
	if err == nil && resume {
		err = c.resume(ctx)
	}
	return err
}

// step takes up what waits, and answers it if anyone asked; if nothing does, it starts a requested session.
func (c *conversation) step(ctx context.Context) (more bool, err error) {
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
	own, authors, err := c.takeUp(ctx, burst)
	if err != nil {
		return false, err
	}
	if err := c.redetectLanguage(ctx); err != nil {
		return false, err
	}
	more = len(burst) < due.Waiting || due.Session // what arrives after this check wakes the loop, which starts the child again
	turn := c.records.Turns().Of(burst)
	if turn.Seq == 0 {
		c.check()
		return more, nil
	}
	if c.task != nil { // a task counts against no one's turns per minute, and it may have to continue
		return true, c.answer(ctx, turn, nil)
	}
	if ok, tell := c.env.access.TakeTurn(authors, !turn.Optional); !ok {
		return more, c.putOff(ctx, turn, tell)
	}
	return more, c.answer(ctx, turn, own)
}

// takeUp shows dequeued messages, and returns the settings that came with them and the authors of the addressed ones.
// While an import is read they follow messages that are not read yet, and come from the disk.
func (c *conversation) takeUp(ctx context.Context, burst []chat.Message) (own compactor.Patch, authors []string, err error) {
	c.do(func(e *compactor.Compactor) {
		if c.imports.unread.Load() {
			err = e.Changed(ctx)
		} else {
			e.Received(burst...)
		}
		for _, m := range burst {
			settings := c.arrivals.accepted(m.ID, m.Seq)
			if m.Addressed {
				own = compactor.Merge(own, settings)
			}
			if !strings.HasPrefix(m.ID, store.TaskID) {
				c.arrivals.newest = m.ID
			}
			if m.Addressed && !slices.Contains(authors, m.AuthorID) {
				authors = append(authors, m.AuthorID)
			}
		}
	})
	return own, authors, err
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
		turn, open, err := c.records.Turns().Unanswered(ctx)
		switch {
		case err != nil:
		case !open: // the one that the engine knows of may have been deleted in the meantime
			c.do(func(e *compactor.Compactor) { e.EndTurn() })
			return nil
		case turn.Since.Before(c.backfill.stale()):
			err = c.newTurn(turn).pass(ctx)
		default:
			open, err = c.countAttempt(ctx, &turn)
			if open {
				err = c.answer(ctx, turn, nil)
			}
		}
		if err != nil {
			return err
		}
	}
}

// countAttempt counts another start of a turn, and drops the tasks that an earlier one began. open is false
// if the question was deleted.
func (c *conversation) countAttempt(ctx context.Context, turn *store.Turn) (open bool, err error) {
	turn.Starts, err = c.records.Turns().Retry(ctx, turn.Seq)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = c.tasks.Drop(ctx, turn.Seq)
	}
	return err == nil, err
}

// newTurn returns a turn that has not started.
func (c *conversation) newTurn(row store.Turn) *turn {
	return &turn{
		Turn: row, voice: &c.voice, answerer: &c.answerer, loop: &c.loop, host: c, env: c.env,
		failures: &c.failures, sender: &c.sender, notices: &c.notices, followers: &c.followers, usage: &c.usage, calls: c.calls,
		shown: &c.published, task: c.task, outcome: observe.Passed,
	}
}

// answer runs a turn: the model and its tools until there is a reply, then one transaction that
// writes everything, then the reply goes out. own are settings for this turn and the check after it.
func (c *conversation) answer(ctx context.Context, row store.Turn, own compactor.Patch) (err error) {
	ctx, step := observe.Begin(ctx, observe.Turn)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := c.newTurn(row)
	t.step = step
	t.cancel = cancel
	c.turn.Store(t)
	defer func() { // after a panic, too
		c.turn.Store(nil)
		t.observed(err)
	}()
	return t.run(ctx, own)
}

// putOff closes a turn of people who have no turns left in this minute, and notifies them, once.
func (c *conversation) putOff(ctx context.Context, row store.Turn, tell bool) error {
	t := c.newTurn(row)
	if !tell || row.Optional || c.paused(ctx) || c.cannotWrite() != "" {
		return t.pass(ctx)
	}
	t.attempt = t.newAttempt()
	return t.fail(ctx, c.speaker().Sayf("One moment, please: I answer each person at most %d times a minute. Your message is saved; ask again in a minute.", c.env.access.Rules().TurnsPerMinute))
}
