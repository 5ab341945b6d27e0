package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cairn/transcript"
)

// What people edit, delete or pin is on disk already. Here it reaches the view, before the next request.

// Changed reads what has changed on disk without the compactor. After an error Request fails until that can be read, which it
// and Check try again.
func (c *Compactor) Changed(ctx context.Context) error {
	c.outdated = true
	return c.Reread(ctx)
}

// errOutdated is returned where changes cannot be read from disk: no request is
// better than one that repeats a deleted message.
var errOutdated = errors.New("edits and deletions could not be read")

// Reread reads what has changed on disk, if Changed or a commit noticed that something has and it is not read yet.
func (c *Compactor) Reread(ctx context.Context) error {
	if !c.outdated {
		return nil
	}
	now, err := c.o.Records.Reload(ctx, c.view.Head.Version, c.view.Since(c.view.state.NextSeq))
	if err != nil {
		if ctx.Err() == nil {
			c.o.Log.Warn("read_edits_failed", "error", err)
		}
		return errOutdated
	}
	c.outdated = false
	used := c.meter.used(c.view)
	if now.Head.Version != c.view.Head.Version {
		c.view.reload(now)
		c.contextsOnDisk = false
	}
	c.outdate(func(j *job) bool {
		return j.record != nil && slices.ContainsFunc(now.Changed, j.row.Covers) // otherwise it reads them later
	})
	prepared := c.view.prepared()
	gone := ended(prepared, now)
	// Not leaveOut: a fold that is still prepared on disk stays.
	c.view.setPrepared(slices.DeleteFunc(slices.Clone(prepared), func(row Summary) bool {
		return slices.Contains(transcript.IDs(gone), row.ID)
	}))
	c.reportEnded(ctx, gone, used)
	return nil
}

// ended returns those of the once prepared rows that are no longer prepared: people edited or deleted their messages, or they
// were applied and the result was lost.
func ended(prepared []Summary, now transcript.Snapshot) (rows []Summary) {
	for _, row := range prepared {
		row.State = Stale
		for _, applied := range now.Head.Rows() {
			if applied.ID == row.ID || slices.Contains(applied.Children, row.ID) {
				row.State = Applied
			}
		}
		if !slices.Contains(transcript.IDs(now.Prepared), row.ID) {
			rows = append(rows, row)
		}
	}
	return rows
}

// Undo undoes the latest act: a compaction that people, the model or a level set off, with the folds and repairs of its
// summaries since. While it runs or waits, it is canceled. What an applied one hid is verbatim again, and the rows it replaced
// are applied again. The memories saved with them stay. The event says what was undone, or, as a noop, why nothing was. An
// error means that the disk refused and nothing has changed. Unless only is 0, the act is undone only if a summary with that id is of it.
func (c *Compactor) Undo(ctx context.Context, only int64) (Event, error) {
	c.view.reshape(c.meter)
	if err := c.Reread(ctx); err != nil {
		return Event{}, fmt.Errorf("undo the latest summary: %w", err)
	}
	c.flush(ctx)
	if only != 0 {
		return c.undoApplied(ctx, only)
	}
	if w := c.queued; w != nil {
		c.queued = nil
		e := c.canceled(Summary{Trigger: w.Trigger, Kind: Leaf})
		w.progress.answer(c.notify(Event{State: EventNoop, Trigger: w.Trigger, Kind: Leaf, Window: c.o.Window(), Error: reasonUndone}))
		return e, nil
	}
	if j := c.busy; j != nil && j.isAct() && j.stopped != byUndo {
		return c.cancelJob(ctx, j)
	}
	if row := c.waitingAct(); row.ID != 0 {
		return c.cancelSummary(ctx, row)
	}
	return c.undoApplied(ctx, only)
}

// waitingAct returns the latest summary that is finished but has to wait, unless it was prepared ahead, or follows from others. The
// zero value: there is none.
func (c *Compactor) waitingAct() (latest Summary) {
	for _, row := range c.view.prepared() {
		if isAct(row.Trigger) && row.ID > latest.ID {
			latest = row
		}
	}
	return latest
}

// cancelJob cancels a job whose summary is not applied yet.
func (c *Compactor) cancelJob(ctx context.Context, j *job) (Event, error) {
	row := j.row
	if i := slices.Index(transcript.IDs(c.view.prepared()), j.origin().row.ID); i >= 0 {
		row = c.view.prepared()[i] // which waits for this fold
	}
	e, err := c.cancelSummary(ctx, row)
	if err != nil {
		return e, err
	}
	j.stopped = byUndo
	j.cancel()
	none := c.reports.event(row, EventNoop)
	none.Error = reasonUndone
	j.origin().progress.answer(none)
	return e, nil
}

// cancelSummary cancels a summary that is not applied yet. Its messages are spared as if it had been undone.
func (c *Compactor) cancelSummary(ctx context.Context, row Summary) (Event, error) {
	_, err := c.commit(ctx, func(s *transcript.State) (transcript.Change, error) { return s.Cancel(row.Span), nil })
	if err != nil {
		return Event{}, c.notUndone(err)
	}
	c.undoLifted = false
	return c.canceled(row), nil
}

// canceled reports what was canceled before it was applied.
func (c *Compactor) canceled(row Summary) Event {
	e := c.reports.event(row, EventUndone)
	e.Stopped = true
	e.BeforeTokens = c.meter.used(c.view)
	e.AfterTokens = e.BeforeTokens
	return c.notify(e)
}

func (c *Compactor) undoApplied(ctx context.Context, only int64) (Event, error) {
	var l transcript.Undoable
	before := 0
	_, err := c.commit(ctx, func(s *transcript.State) (change transcript.Change, err error) {
		l, err = c.o.Records.Latest(ctx)
		if err == nil && l.Version != s.HeadVersion {
			err = transcript.ErrStale
		}
		if err != nil || l.Why != "" {
			return change, err
		}
		if only != 0 && !slices.Contains(transcript.IDs(l.Act().Rows), only) {
			l.Why = reasonOlder
			return change, nil
		}
		undo, cannot := l.Undo(s)
		if cannot != nil {
			l.Why = cannot.Error()
			return change, nil
		}
		l.Why = c.planner(c.meter.policy()).whyNoRoom(s.With(undo).Head(), l.Freed())
		if l.Why != "" {
			return change, nil
		}
		before = c.meter.used(c.view)
		return undo, nil
	})
	if err != nil {
		return Event{}, c.notUndone(err)
	}
	if l.Why != "" {
		e := Event{State: EventNoop, Trigger: OnManual, Window: c.o.Window(), Error: l.Why}
		c.notify(e)
		return e, nil
	}
	c.view.View = c.view.Restore(l.Freed())
	return c.undone(l.Act(), before), nil
}

// notUndone explains an error of a commit.
func (c *Compactor) notUndone(err error) error {
	if errors.Is(err, transcript.ErrStale) {
		return errors.New("people change messages faster than the latest summary can be undone: try again")
	}
	c.outdated = true // the disk is read again to see what it did
	return fmt.Errorf("undo the latest summary: %w", err)
}

func (c *Compactor) undone(act transcript.Step, before int) Event {
	c.undoLifted = c.undoLifted && act.IsRewrite()
	row := act.Rows[0]
	for _, r := range act.Rows { // report the leaf, not the folds that made room for it
		if r.By != transcript.Nobody && r.ID < row.ID || row.By == transcript.Nobody {
			row = r
		}
	}
	e := c.reports.event(row, EventUndone)
	e.Set = act.Rows
	if e.Kind == Leaf { // the event covers all of them
		e.Messages = 0
		for _, r := range act.Rows {
			if r.Kind == Leaf {
				e.From = min(e.From, r.From)
				e.To = max(e.To, r.To)
				e.Messages += r.Messages
			}
		}
	}
	e.BeforeTokens = before
	e.AfterTokens = c.meter.used(c.view)
	c.notify(e)
	return e
}
