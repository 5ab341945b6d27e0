package compactor

import (
	"context"
	"errors"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/transcript"
)

// Records is the part of the store that a conversation's compactor needs. Each call is one
// transaction.
type Records interface {
	// Load returns what the view is rebuilt from. A row in state running becomes failed: its worker
	// died with the process.
	Load(ctx context.Context) (transcript.Snapshot, error)

	// Reload returns what the view is rebuilt from, with Snapshot.Changed, and Snapshot.Running from running, if the head is of
	// another version than known. Otherwise it returns only that version and the prepared rows.
	Reload(ctx context.Context, known int64, running []chat.Message) (transcript.Snapshot, error)

	// Begin writes row in state running and returns its job.
	Begin(ctx context.Context, row Summary) (Job, error)

	// Commit writes a change that package transcript computed from s, a state from
	// transcript.Snapshot.State, and returns the committed head, in which new rows have their ids.
	// transcript.ErrStale: the stored state is not s any more, and nothing has changed.
	Commit(ctx context.Context, s *transcript.State, change transcript.Change) (Head, error)

	// Stretch counts the messages of a span, for transcript.State.Cover.
	Stretch(ctx context.Context, sp Span) (transcript.Stretch, error)

	// Latest returns the latest act of the session that was not undone yet, with its folds and repairs since, without
	// what was applied with it in earlier sessions. Emergencies do not count.
	Latest(ctx context.Context) (transcript.Undoable, error)

	// Span returns the messages of [from, to], deleted ones left out, oldest first.
	Span(ctx context.Context, from, to int64) ([]chat.Message, error)

	// Declined records how often a model declined to summarize a row's span; row 0: all that were declined.
	Declined(ctx context.Context, row int64, d Declined) error

	// Measured records the tokens used before and after an applied compaction.
	Measured(ctx context.Context, row int64, before, after int) error
}

// Job is one compaction in progress.
type Job = summarize.Job

// commitTries is how often a change is decided: edits, deletions and pins in the meantime make it
// stale.
const commitTries = 3

// commit writes the change that decide returns, unless it is empty, and shows the resulting head.
// If the stored state has changed, it is read and decide is called again.
// transcript.ErrStale: it changed too often.
func (c *Compactor) commit(ctx context.Context, decide func(*transcript.State) (transcript.Change, error)) (change transcript.Change, err error) {
	for range commitTries {
		s := c.view.current(c.rows())
		var head Head
		change, err = decide(s)
		if err == nil && !change.Empty() {
			head, err = c.o.Records.Commit(ctx, s, change)
		}
		if err == nil {
			if !change.Empty() {
				c.view.committed(change, head)
				c.outdate(func(j *job) bool { return undoes(change, j.row) })
			}
			return change, nil
		}
		if !errors.Is(err, transcript.ErrStale) {
			return change, err
		}
		c.outdated = true
		if failed := c.Reread(ctx); failed != nil {
			return change, failed
		}
	}
	return change, err
}

// undoes reports whether a change undoes a summary that overlaps a row. The row may be on disk and not in the state yet.
func undoes(change transcript.Change, row Summary) bool {
	return slices.ContainsFunc(change.Summaries, func(old Summary) bool { return old.State == Undone && old.Overlaps(row.Span) })
}
