package simulate

import (
	"context"
	"errors"
	"strings"

	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/internal/promptcache"
	"cairn/internal/tokens"
	"cairn/prompts"
)

// recorded is a strategy that uses recorded summaries.
type recorded struct {
	compactor.Strategy
	p *player
}

func (p *player) strategy(name string) compactor.Strategy {
	s := compactor.StrategyOf(name)
	if name == compactor.StrategyWindow {
		return s // it makes them all again
	}
	return recorded{s, p}
}

// Summarize returns the recorded summary of the span, or an extract.
func (r recorded) Summarize(ctx context.Context, m compactor.Material) (made summarize.Summary, err error) {
	p, row := r.p, m.Row
	byModel := row.By == compactor.ByWorker
	if byModel {
		p.took = p.meanDuration
	}
	s, known := p.recall(row)
	if known && !s.Ended.IsZero() {
		p.took = s.Ended.Sub(s.Began)
	}
	switch {
	case known && s.Text == "":
		words := strings.TrimSuffix(s.Error, "; nothing was lost")
		if strings.HasPrefix(words, "the model") {
			return made, summarize.Refusal(words)
		}
		return made, errors.New(words)
	case known:
		made = summarize.Summary{Text: s.Text, Tokens: s.Tokens, Sources: s.Sources, Model: s.Model}
	case len(p.rec.Messages) > mostExtracted && len(p.o.Questions) == 0:
		made.Text = p.asLong(row, m.Target)
	default:
		if made, err = m.Extractive(ctx); err != nil {
			return made, err
		}
	}
	if byModel {
		p.result.Worker.add(promptcache.Priced{Uncached: p.material(row)}, tokens.Estimate(made.Text)+p.memories())
	}
	return made, nil
}

// recall returns the recorded outcome of the next attempt to summarize a row.
func (p *player) recall(row compactor.Compaction) (s Summary, known bool) {
	key := attemptOf(row)
	left := p.known[key]
	if len(left) == 0 {
		return s, false
	}
	p.known[key] = left[1:]
	return left[0], true
}

// mostExtracted is the maximum number of messages in a recording for which extracts are made; an
// extract takes half a millisecond per message. For longer ones only the length of a summary is
// simulated: extracts fill 93 to 99 % of their target (measured).
const (
	mostExtracted = 5000
	filled        = 97 // percent of its target
)

// asLong returns a text about as long as an extract of row would be.
func (p *player) asLong(row compactor.Compaction, target int) string {
	if row.Trigger == compactor.OnRepair && row.Kind == compactor.Leaf { // its target depends on what is read
		target = min(target, max(p.rec.tokens(row)*p.o.Policy.TargetPct/100, summarize.MinSummary))
	}
	return filler(target*filled/100 + compactor.ContextTokens(""))
}

// material returns roughly how many tokens a worker reads for a summary.
func (p *player) material(row compactor.Compaction) int {
	n := tokens.Estimate(prompts.In(p.o.Engine.Language).Worker) + tokens.Estimate(p.o.Engine.System)
	if row.Kind != compactor.Rollup {
		return n + p.rec.tokens(row)
	}
	for _, id := range row.Children {
		child, _ := p.records.Row(id)
		n += child.Tokens
	}
	return n
}

func (r *Recording) tokens(row compactor.Compaction) (n int) {
	for _, m := range r.said(row.From, row.To) {
		n += m.Tokens
	}
	return n
}

// memories returns roughly how many tokens a worker writes in addition to a summary.
func (p *player) memories() int {
	if !p.o.Policy.ExtractMemories {
		return 0
	}
	return min(p.o.Policy.MaxMemories, usualMemories) * tokensOfMemory
}

const usualMemories, tokensOfMemory = 6, 45
