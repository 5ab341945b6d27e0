package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
)

// Strategy says what writes the summaries of a conversation. What is planned, stored, applied and undone, and
// when, is the same with all of them. A strategy is used by many conversations at a time, from any
// goroutine.
type Strategy interface {
	// AsksModel reports whether it needs a model: while none can be called, or it fails too often,
	// the assignment is not ByModel.
	AsksModel() bool
	// Summarize returns a summary of about m.Target tokens, with the memories in it. An error is
	// logged, and the summary is retried later; meanwhile nothing is lost.
	Summarize(ctx context.Context, m Material) (summarize.Summary, error)
}

// Material is an assignment, with access to what it summarizes.
type Material struct {
	Assignment
	by     *Worker
	record Record
}

// Messages reads the messages without secrets; of a rollup, those that its children summarize.
func (m Material) Messages(ctx context.Context) ([]chat.Message, error) {
	sources, err := m.sources(ctx)
	return messagesIn(sources), err
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
	case b == StrategyWorker && m.ByModel:
		return m.Write(ctx)
	}
	return m.Extract(ctx)
}

// StrategyOf returns the strategy of that name, as Policy.Strategy names it; nil if there is none.
func StrategyOf(name string) Strategy { return strategies[name] }

// Strategies returns the names of all strategies, sorted.
func Strategies() []string { return slices.Sorted(maps.Keys(strategies)) }
