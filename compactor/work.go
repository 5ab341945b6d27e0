package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cairn/compactor/summarize"
	"cairn/compactor/worker"
	"cairn/transcript"
)

// Slow work of a compaction. It takes values and returns one, so it may run in any goroutine. A job has two pieces: its row is
// written, and its summary is created and stored.

// Work is a piece of slow work that is due.
type Work struct {
	job  *job // for Done: the work itself takes values
	ctx  context.Context
	row  Summary
	step step
	log  *slog.Logger
}

// step is what a piece does: beginning or summarizing.
type step interface {
	run(ctx context.Context, r *Result) error
}

// Result is what a piece of work led to, for Compactor.Done.
type Result struct {
	Saved []summarize.MemoryDraft // new memories

	job    *job
	row    Summary // as it is on disk
	record Job     // nil: the row was not written
	veto   error   // of Before
	err    error
}

// Run does the work, which may take minutes, and returns its result. A panic becomes an error.
func (w Work) Run() Result {
	r := Result{job: w.job, row: w.row}
	r.err = worker.Guard(w.log, func() error { return w.step.run(w.ctx, &r) })
	return r
}

// beginning asks Before, limits a repair to what one request can contain, and writes the row.
type beginning struct {
	before  func(context.Context) (focus string, veto error) // nil: nobody is asked
	narrow  func(context.Context) (Summary, error)
	records Records
}

func (b beginning) run(ctx context.Context, r *Result) (err error) {
	var focus string
	if b.before != nil {
		focus, r.veto = b.before(ctx)
		if r.veto != nil {
			return nil
		}
	}
	r.row, err = b.narrow(ctx)
	if err != nil {
		return err
	}
	r.row.Focus = cmp.Or(focus, r.row.Focus)
	record, err := b.records.Begin(ctx, r.row)
	if err != nil {
		return fmt.Errorf("write the compaction: %w", err)
	}
	r.record = record
	r.row.ID = record.ID()
	return nil
}

// summarizing makes the summary and stores it, with its memories.
type summarizing struct {
	by         *worker.Worker
	assignment worker.Assignment
	record     Job
	unchanged  context.Context // see job
}

func (s summarizing) run(ctx context.Context, r *Result) error {
	err := worker.Guard(s.by.Log, func() error { return s.store(ctx, r) })
	if err == nil {
		return nil
	}
	// The row must become failed even if the process is stopping.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	saved, failed := s.record.Fail(late, inWords(err))
	r.Saved = saved
	return errors.Join(err, failed)
}

func (s summarizing) store(ctx context.Context, r *Result) error {
	summary, err := s.by.Summarize(ctx, s.assignment, s.record)
	if err == nil && s.unchanged.Err() != nil {
		err = worker.ErrChanged
	}
	if err != nil {
		return err
	}
	row, summary := finished(r.row, summary)
	r.Saved, err = s.record.Store(ctx, summary)
	if err == nil {
		r.row = row
	}
	return err
}

// finished returns the row with its summary, and the summary as it is stored.
func finished(row Summary, s summarize.Summary) (Summary, summarize.Summary) {
	s.Text = transcript.WithoutMarks(s.Text)
	row.State = Prepared
	row.Text = s.Text
	s.Lines = row.LinesIn(s.Lines)
	s.DroppedLines = row.Dropping(s.DroppedLines...).DroppedLines
	row = s.In(row)
	row.Tokens = row.Cost()
	s.Tokens = row.Tokens
	return row, s
}
