package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"cairn/compactor/summarize"
	"cairn/llm"
)

// A failed compaction: what is reported and logged, and when the next attempt is made.

func (c *Compactor) fail(w *work, err error) {
	j := w.making
	if w.ctx.Err() == nil { // otherwise it was stopped
		c.backOff(j, err)
		c.o.Log.Log(c.ctx, c.logLevelFor(err, !j.extractive), "compaction_failed", append(llm.LogAttrs(err), "trigger", j.row.Trigger, "by", j.row.By)...)
	}
	e := j.event(EventFailed)
	e.Error, e.BeforeTokens, e.AfterTokens = inWords(err), w.before, c.used(c.h.view)
	c.notify(e)
	j.notifyEnd(e)
}

// backOff determines when the next attempt is made. A row that cannot be repaired because of its
// content does not hold up other work; a model that does not answer does.
func (c *Compactor) backOff(j *job, err error) {
	var provider *llm.Error
	down := errors.As(err, &provider) && provider.Temporary() || errors.Is(err, context.DeadlineExceeded)
	now, repair := c.o.Now(), j.repaired.ID != 0
	switch {
	case !repair && j.extractive:
		c.retries.extractiveFailed(now)
	case !j.extractive && modelDeclines(err):
		return // declined spans have their own backoff
	case !repair || down:
		c.retries.failed(now)
	}
	if repair {
		c.retries.repairFailed(j.repaired.ID, now, c.h.head.Rows())
	}
}

// logLevelFor returns the level at which to log a failure of a model's or the extractive
// summarizer's job. A spent budget is reported where it is spent; a server that is down is one
// incident for turns and summaries of all conversations.
func (c *Compactor) logLevelFor(err error, ofModel bool) slog.Level {
	switch {
	case !ofModel:
		return c.reports.byExtractive.Begin()
	case errors.Is(err, ErrSpent):
		return slog.LevelDebug
	case llm.OfServer(err):
		return learntOf(c.o.Worker).Down.Begin()
	}
	return c.reports.byModel.Begin()
}

// worked ends the incident that a successful job resolves.
func (c *Compactor) worked(j *job) {
	incident := &c.reports.byModel
	if j.extractive {
		incident = &c.reports.byExtractive
	}
	if j.degraded {
		return
	}
	ended := incident.End()
	if !j.extractive {
		ended = learntOf(c.o.Worker).Down.End() || ended
	}
	if ended {
		c.o.Log.Info("compactions_recovered", "by", j.row.By)
	}
}

// inWords explains a failure to people, without internals.
func inWords(err error) string {
	return cmp.Or(reasonFor(err), "the summary could not be made or stored") + "; nothing was lost"
}

// reasonFor returns why no summary was made, in words for people; "" if the reason is of no use to
// them.
func reasonFor(err error) string {
	var refused summarize.Refusal
	switch {
	case errors.Is(err, ErrSpent):
		return ErrSpent.Error()
	case errors.Is(err, llm.ErrWorkSilent):
		return "the summarizing model sent nothing for too long"
	case errors.Is(err, context.DeadlineExceeded):
		return "the summary took too long"
	case errors.Is(err, context.Canceled):
		return "stopped before the summary was ready"
	case errors.As(err, &refused):
		return string(refused)
	}
	remedy, _ := llm.RemedyOf(err)
	return remedy.Reason
}

// guarded runs a summarizer and converts a panic into an error.
func (c *Compactor) guarded(ctx context.Context, summarize func(context.Context) (summarize.Summary, error)) (s summarize.Summary, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.o.Log.Error("worker_panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the worker broke: %v", p)
		}
	}()
	return summarize(ctx)
}
