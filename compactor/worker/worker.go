// Package worker makes one summary: a model reads the messages of a span, or the summaries that a rollup folds, and writes
// their summary, which the package checks; without a model the extractive summarizer chooses sentences from the same
// messages. Package compactor decides what to summarize and applies the result, and imports this one. It imports
// transcript and chat for what it reads, llm and prompts for the model, compactor/summarize for the checks, and
// internal packages.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/observe"
	"cairn/internal/secrets"
	"cairn/llm"
	"cairn/prompts"
	"cairn/transcript"
)

// Worker makes the summaries of a conversation. Its fields do not change, and any goroutine may use it.
type Worker struct {
	Model    llm.Model // nil: there is none, and no assignment is ByModel
	Fallback llm.Model // takes over what Model's server refuses; nil: none

	Texts  prompts.Texts
	Prompt func() string // the agent's prompt for the model, read for each summary; nil or "": Texts.Worker
	System string        // the system prompt of the chat's model

	Spend func(counts bool) error         // called with true before each request; an error ends the summary; nil: no limit
	Spent func(model string, u llm.Usage) // receives the usage of each request; may be nil
	Slots chan struct{}                   // its capacity limits how many summaries models make at a time; nil: no limit

	// Open returns text that every summary of messages from..to must add; nil or "": nothing to add.
	Open func(ctx context.Context, from, to int64) (string, error)

	Log *slog.Logger
	Now func() time.Time

	byFallback observe.Incident // the fallback does the model's work
}

// Assignment is one summary to make.
type Assignment struct {
	Row      transcript.Summary       // its kind, span, messages and focus
	Children []transcript.Summary     // what a rollup folds
	Repaired transcript.Summary       // the row that it replaces, or replaces a part of; its ID is 0: none
	Removed  []transcript.DroppedLine // lines that people removed in the rows that it replaces
	Around   Around                   // what a model reads for reference
	Others   []func() []string        // the words of each other summary in the prompt, which an extract need not repeat

	Strategy    Strategy
	ByModel     bool          // the strategy may have the model write it
	Target      int           // tokens that the text should have
	Limit       int           // tokens that it may have
	Percent     int           // of its span's tokens that a repair of messages should have, if that is less than Target
	Memories    int           // memories that may be saved; 0: none
	MaxCalls    int           // calls of the model for one part of the material
	MaxDeclines int           // a child that the model declined that often is left out
	Reasoning   string        // one of llm.ReasoningEfforts; "": the server's default
	Timeout     time.Duration // without a byte from the model

	Changed <-chan struct{} // closed when people change the messages: then no further request is sent; nil: never
}

// Record is what the package needs of the job that a summary belongs to.
type Record interface {
	// ID returns the row's id.
	ID() int64
	// Messages returns the messages of each span in turn, without deleted ones, oldest first.
	Messages(ctx context.Context, spans ...transcript.Span) ([]chat.Message, error)
	// Children returns the rows that a rollup folded, oldest first, or those that the job's row is
	// folding, in their current form.
	Children(ctx context.Context, rollup int64) ([]transcript.Summary, error)
	// Tools returns memory_save, which keeps up to draftLimit drafts.
	Tools(draftLimit int) []llm.Tool
	// Kept returns the number of drafts.
	Kept() int
}

// ErrChanged ends an assignment whose messages people have changed: what was deleted must not be sent
// again. A running request may finish: its usage is known only then.
var ErrChanged = errors.New("its messages have changed since")

// Summarize makes a summary by the assignment's strategy, as soon as there is a slot if it may use the model.
func (w *Worker) Summarize(ctx context.Context, a Assignment, record Record) (s summarize.Summary, err error) {
	if a.ByModel {
		release, err := w.slot(ctx)
		if err != nil {
			return s, err
		}
		defer release()
	}
	ctx, step := observe.Begin(ctx, observe.Compaction)
	defer step.End()
	s, err = w.byStrategy(ctx, a, record)
	step.Add(a.Row.LogAttrs()...)
	step.Fail(err)
	return s, err
}

// byStrategy lets the strategy make the summary, and completes it.
func (w *Worker) byStrategy(ctx context.Context, a Assignment, record Record) (s summarize.Summary, err error) {
	a.Children, err = a.currentChildren(ctx, record)
	if err != nil {
		return s, err
	}
	s, err = a.Strategy.Summarize(ctx, Material{Assignment: a, by: w, record: record})
	if err == nil && w.Open != nil {
		var open string
		open, err = w.Open(ctx, a.Row.From, a.Row.To)
		if open != "" {
			s.Text += "\n\n" + open
		}
	}
	s.DroppedLines = slices.Clone(s.DroppedLines)
	for i, l := range s.DroppedLines {
		s.DroppedLines[i].Text = secrets.Mask(l.Text)
		s.DroppedLines[i].Why = secrets.Mask(l.Why)
	}
	return s, err
}

// currentChildren rereads the rows that a rollup summarizes: people may have edited or deleted messages since
// it was planned. Changes after this make the row stale.
func (a Assignment) currentChildren(ctx context.Context, record Record) ([]transcript.Summary, error) {
	if a.Repaired.ID != 0 || len(a.Children) == 0 {
		return a.Children, nil
	}
	children := slices.Clone(a.Children)
	now, err := record.Children(ctx, record.ID())
	for i, child := range children {
		if k := slices.IndexFunc(now, func(row transcript.Summary) bool { return row.ID == child.ID }); k >= 0 {
			children[i] = now[k]
			children[i].Span = child.Span // the plan may cover only a part of a row
		}
	}
	return children, err
}

// repairsMessages reports whether the row replaces another, and summarizes messages: the size of its span is
// only known when they are read.
func (a Assignment) repairsMessages() bool {
	return a.Repaired.ID != 0 && a.Row.Kind != transcript.Rollup
}

// Length returns the length aimed at for the summary of a span, in tokens: percent of it, up to limit.
func Length(span, percent, limit int) int {
	return max(min(span*percent/100, limit), transcript.MinSummary)
}

// slot waits for a slot and returns the function that frees it.
func (w *Worker) slot(ctx context.Context) (release func(), err error) {
	if w.Slots == nil {
		return func() {}, nil
	}
	select {
	case w.Slots <- struct{}{}:
		return func() { <-w.Slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Guard runs a part of a compaction, and converts a panic into an error.
func Guard(log *slog.Logger, part func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("worker_panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the compaction broke: %v", p)
		}
	}()
	return part()
}
