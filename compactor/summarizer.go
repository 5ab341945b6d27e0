package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/lazy"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/transcript"
)

// Strategy makes the summaries of a conversation. What is planned, stored, applied and undone, and
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
	Row    Summary // From and To are its messages, Messages their number, Focus what to keep
	Target int     // length of the summary in tokens

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

// making makes a summary.
type making func(context.Context) (summarize.Summary, error)

// summarizing returns the function that runs the job's summarizer.
func (pl *planner) summarizing(j *job) making {
	record := j.record
	heading := j.row
	heading.Text = ""
	under := pl.under(j)
	kept := peopleCost(under...)
	j.removed = transcript.Removed(under...)
	left, beside := pl.stackBeside(j)
	limit := max(left-heading.Cost()-1, summarize.MinSummary) // sums of parts are rounded up
	if j.maxTokens > 0 {
		limit = min(limit, j.maxTokens)
	}
	limit = max(limit-kept, summarize.MinSummary) // what people wrote there stays
	var target int
	switch {
	case j.row.Kind == Rollup && j.extractive && j.tokens > 0: // it chooses among messages again, so leaving room gains nothing
		target = max(min(limit, j.tokens*3/4), summarize.MinSummary)
	case j.row.Kind == Rollup && !j.extractive: // of summaries, which are dense already
		target = max(min(limit*9/10, j.tokens/2), summarize.MinSummary)
	case j.tokens == 0: // unknown until the span is read
		target = max(limit*9/10, summarize.MinSummary)
	default:
		target = j.policy.target(j.tokens, limit)
	}
	m := Material{
		Row: j.row, Target: target,
		Messages: func(ctx context.Context) ([]chat.Message, error) {
			sources, err := sourcesFor(ctx, j, record)
			return messagesIn(sources), err
		},
		Extractive: func(ctx context.Context) (summarize.Summary, error) {
			return extractive(ctx, j, record, target, beside)
		},
	}
	if !j.extractive {
		w := pl.models.newWorker(j, record, pl.ahead.around(j.row), target, limit)
		m.Worker = func(ctx context.Context) (summarize.Summary, error) {
			return pl.models.byModel(ctx, w, func(ctx context.Context, most int) ([]summarize.Item, error) {
				return pl.models.read(ctx, j, record, most)
			})
		}
	}
	strategy := pl.models.strategy(j.policy.Strategy)
	return func(ctx context.Context) (summarize.Summary, error) { return strategy.Summarize(ctx, m) }
}

// under returns the rows that the job's row takes the place of.
func (pl *planner) under(j *job) []Summary {
	return slices.DeleteFunc(pl.ahead.Head.Rows(), func(row Summary) bool { return !row.Overlaps(j.row.Span) })
}

// termsOf returns the words of a text.
type termsOf func() []string

// stackBeside returns how many tokens the job's row may take in the stack, and the words of the other
// rows: it may take what they leave of the budget. If they leave little they are folded.
func (pl *planner) stackBeside(j *job) (room int, others []termsOf) {
	planned := pl.ahead
	left := j.policy.stackBudget(pl.meter.budget()) - planned.Past.Tokens
	if j.row.From < planned.Head.Start { // it is shown among what is from before
		left = min(left, j.policy.maxPast(pl.meter.budget())-transcript.NewSessionTokens)
	}
	if j.row.Kind == Rollup && j.extractive {
		left = 0 // it folds again and again: no row should take most of the stack
	}
	known := make(map[string]termsOf, len(planned.Head.Stack))
	for _, other := range planned.Head.Stack {
		if !other.Overlaps(j.row.Span) {
			left -= other.Tokens
			terms := pl.terms[other.Text]
			if terms == nil {
				terms = lazy.Value(func() []string { return words.Content(other.Text) })
			}
			known[other.Text] = terms
			others = append(others, terms)
		}
	}
	pl.terms = known
	return j.policy.entryCap(pl.meter.budget(), left), others
}

// aim returns the target length, in tokens, for a material that was read: a repair knows its span
// only now.
func (j *job) aim(target int, material func() []summarize.Item) int {
	if j.repaired.ID == 0 || j.row.Kind == Rollup {
		return target
	}
	return j.policy.target(summarize.CostOfItems(material()), target)
}

// byModel runs the worker's model, and the fallback, from the beginning, if its server fails. read
// returns the material with at most most tokens in one item: each model has its own window.
func (m models) byModel(ctx context.Context, w worker, read func(ctx context.Context, most int) ([]summarize.Item, error)) (summarize.Summary, error) {
	work := func(model llm.Model) (summarize.Summary, error) {
		w, most := w.withModel(ctx, model)
		items, err := read(ctx, min(most/2, summarize.MostOfMessage))
		if err != nil {
			return summarize.Summary{}, err
		}
		w.target = w.j.aim(w.target, func() []summarize.Item { return items })
		w.limit = min(w.limit, max(2*w.target, 3*summarize.MinSummary))
		w, most = w.withModel(ctx, model) // a short summary leaves more room for material
		return w.run(ctx, items, min(most, w.piece()))
	}
	s, err := work(m.worker)
	failed := llm.KindOf(err) != "" || errors.Is(err, context.DeadlineExceeded)
	if m.fallback == nil || !failed || ctx.Err() != nil {
		if err == nil && m.byFallback.End() {
			m.log.Info("worker_model_recovered", "model", m.worker.Name())
		}
		return s, err
	}
	why := err
	s, err = work(m.fallback)
	if err != nil {
		return s, err // reported as a failed compaction
	}
	s.Model = m.fallback.Name()
	m.log.Log(ctx, m.byFallback.Begin(), "worker_model_failed",
		append([]any{"worker", m.worker.Name(), "instead", s.Model}, llm.LogAttrs(why)...)...)
	return s, nil
}

// renew rereads the rows that a rollup summarizes: people may have edited or deleted messages since
// it was planned. Changes after this make the row stale.
func (j *job) renew(ctx context.Context, record Job) error {
	if j.repaired.ID != 0 || len(j.children) == 0 {
		return nil
	}
	now, err := record.Children(ctx, record.ID())
	for i, child := range j.children {
		if k := slices.IndexFunc(now, func(row Summary) bool { return row.ID == child.ID }); k >= 0 {
			span := child.Span // the plan may cover only a part of a row
			j.children[i] = now[k]
			j.children[i].Span = span
		}
	}
	return err
}
