// The summaries of a replay: recorded ones, or else extracts.

package simulate

import (
	"context"
	"errors"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/compactor/worker"
	"cairn/internal/tokens"
	"cairn/prompts"
	"cairn/transcript"
)

// summaries writes the summaries of a replay.
type summaries struct {
	rec     *Recording
	o       Options
	records *compactor.InMemory

	known        map[attempt][]Summary // recorded ones, oldest first
	meanDuration time.Duration         // of a recorded one by a model
	took         time.Duration         // by the one that was just written
	spent        Spent                 // on the worker
}

func newSummaries(rec *Recording, o Options, records *compactor.InMemory) *summaries {
	w := &summaries{rec: rec, o: o, records: records, known: map[attempt][]Summary{}}
	var total time.Duration
	n := 0
	for _, s := range rec.Summaries {
		if s.Text != "" || s.State == compactor.Failed {
			w.known[attemptOf(s.Summary)] = append(w.known[attemptOf(s.Summary)], s)
		}
		if !s.Ended.IsZero() && s.State != compactor.Failed && s.By == compactor.ByWorker {
			total += s.Ended.Sub(s.Began)
			n++
		}
	}
	w.meanDuration = total / time.Duration(max(n, 1))
	return w
}

// attempt is what attempts to make the same summary have in common.
type attempt struct {
	from, to int64
	rollup   bool
	by       compactor.By
}

func attemptOf(s compactor.Summary) attempt { return attempt{s.From, s.To, s.IsRollup(), s.By} }

// recorded is a strategy that uses recorded summaries.
type recorded struct {
	worker.Strategy
	from *summaries
}

func (w *summaries) strategy(name string) worker.Strategy {
	s := worker.StrategyOf(name)
	if name == worker.StrategyWindow {
		return s // it makes them all again
	}
	return recorded{s, w}
}

// Summarize returns the recorded summary of the span, or an extract.
func (r recorded) Summarize(ctx context.Context, m worker.Material) (result summarize.Summary, err error) {
	w := r.from
	row := m.Row
	byModel := row.By == compactor.ByWorker
	if byModel {
		w.took = w.meanDuration
	}
	var s Summary // the recorded outcome of the next attempt
	left := w.known[attemptOf(row)]
	known := len(left) > 0
	if known {
		s = left[0]
		w.known[attemptOf(row)] = left[1:]
	}
	if !s.Ended.IsZero() {
		w.took = s.Ended.Sub(s.Began)
	}
	switch {
	case known && s.Text == "":
		words := strings.TrimSuffix(s.Error, "; nothing was lost")
		if strings.HasPrefix(words, "the model") {
			return result, judge.Refusal(words)
		}
		return result, errors.New(words)
	case known:
		result = summarize.Summary{Text: s.Text, Tokens: s.Tokens, Sources: s.Sources, Lines: s.Lines, Dropped: s.Dropped, DroppedLines: s.DroppedLines, Model: s.Model}
	case len(w.rec.Messages) > maxExtracted && len(w.o.Questions) == 0:
		result.Text = w.asLong(row, m.Target)
	default:
		result, err = m.Extract(ctx)
		if err != nil {
			return result, err
		}
	}
	if byModel {
		memories := 0
		if w.o.Policy.ExtractMemories {
			memories = min(w.o.Policy.MaxMemories, usualMemories)
		}
		frame := tokens.Estimate(prompts.In(w.o.Engine.Language).Worker) + tokens.Estimate(w.o.Engine.System)
		w.spent.add(w.o.Worker, frame+w.material(row), 0, 0, tokens.Estimate(result.Text)+memories*tokensOfMemory)
	}
	return result, nil
}

// maxExtracted is the maximum number of messages in a recording for which extracts are made; an
// extract takes half a millisecond per message. For longer ones only the length of a summary is
// simulated: extracts fill 93 to 99 % of their target (measured).
const (
	maxExtracted = 5000
	filled       = 97 // percent of its target
)

// asLong returns a text about as long as an extract of row would be.
func (w *summaries) asLong(row compactor.Summary, target int) string {
	if row.Trigger == compactor.OnRepair && row.Kind == compactor.Leaf { // its target depends on what is read
		target = min(target, max(w.material(row)*w.o.Policy.TargetPct/100, transcript.MinSummary))
	}
	return filler(target*filled/100 + compactor.ContextTokens(""))
}

// material returns how many tokens a summary is made from.
func (w *summaries) material(row compactor.Summary) (n int) {
	if row.Kind != compactor.Rollup {
		for _, m := range w.rec.between(row.From, row.To) {
			n += m.Tokens
		}
		return n
	}
	for _, id := range row.Children {
		child, _ := w.records.Row(id)
		n += child.Tokens
	}
	return n
}

// What a worker usually writes in addition to a summary.
const usualMemories, tokensOfMemory = 6, 45
