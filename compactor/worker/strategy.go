package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/transcript"
)

// Strategy makes the summaries of a conversation: it says what an Assignment is made with. What is planned, stored, applied and undone, and
// when, is the same with all of them. A strategy is used by many conversations at a time, from any
// goroutine.
type Strategy interface {
	// AsksModel reports whether it needs a model: while none can be called, or it fails too often,
	// Summarize gets a Material without Worker.
	AsksModel() bool
	// Summarize returns a summary of about m.Target tokens, with the memories in it. An error is
	// logged, and the summary is retried later; meanwhile nothing is lost.
	Summarize(ctx context.Context, m Material) (summarize.Summary, error)
}

// Material is what a strategy summarizes.
type Material struct {
	Row    transcript.Summary // From and To are its messages, Messages their number, Focus what to keep
	Target int                // length of the summary in tokens

	// Messages reads the messages without secrets; of a rollup, those its children were made from.
	Messages func(context.Context) ([]chat.Message, error)
	// Extractive chooses sentences, without a model.
	Extractive func(context.Context) (summarize.Summary, error)
	// Worker has the worker's model summarize; nil: none may be called now.
	Worker func(context.Context) (summarize.Summary, error)
}

// The strategies that a policy may name.
const (
	StrategyWorker     = "worker"     // a model summarizes; the extractive summarizer takes over if it fails
	StrategyExtractive = "extractive" // sentences are chosen without a model
	StrategyWindow     = "window"     // messages leave the window without a summary; they can be searched and expanded
)

var strategies = map[string]Strategy{
	StrategyWorker: builtIn(StrategyWorker), StrategyExtractive: builtIn(StrategyExtractive), StrategyWindow: builtIn(StrategyWindow),
}

// builtIn is one of them, by its name.
type builtIn string

func (b builtIn) AsksModel() bool { return b == StrategyWorker }

func (b builtIn) Summarize(ctx context.Context, m Material) (summarize.Summary, error) {
	switch {
	case b == StrategyWindow:
		return summarize.Summary{Text: fmt.Sprintf("%d messages have left the window here, without a summary. recall finds them, expand shows them.", m.Row.Messages)}, nil
	case b == StrategyWorker && m.Worker != nil:
		return m.Worker(ctx)
	}
	return m.Extractive(ctx)
}

// StrategyOf returns the strategy of that name, as Policy.Strategy names it; nil if there is none.
func StrategyOf(name string) Strategy { return strategies[name] }

// Strategies returns the names of all strategies, sorted.
func Strategies() []string { return slices.Sorted(maps.Keys(strategies)) }

// material returns what the strategy of an assignment summarizes.
func (w *Worker) material(a Assignment, record Record) Material {
	m := Material{
		Row: a.Row, Target: a.Target,
		Messages: func(ctx context.Context) ([]chat.Message, error) {
			sources, err := a.sources(ctx, record)
			return messagesIn(sources), err
		},
		Extractive: func(ctx context.Context) (summarize.Summary, error) { return Extract(ctx, a, record) },
	}
	if a.ByModel {
		m.Worker = func(ctx context.Context) (summarize.Summary, error) { return w.byModel(ctx, a, record) }
	}
	return m
}
