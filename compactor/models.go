package compactor

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/observe"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/prompts"
)

// models are the models that make summaries, and what limits their use. It never changes, and may be used in any
// goroutine.
type models struct {
	settings func() Policy // as in Options
	worker   llm.Model     // nil: there is none
	fallback llm.Model     // nil: there is none
	strategy func(name string) Strategy
	spend    func(counts bool) error         // as in Options
	spent    func(model string, u llm.Usage) // as in Options
	slots    chan struct{}                   // as in Options
	log      *slog.Logger
	now      func() time.Time
	texts    prompts.Texts
	prompt   func() string // as in Options
	system   string        // as in Options

	open func(ctx context.Context, from, to int64) (string, error) // as in Options

	byFallback *observe.Incident // the fallback does the worker's jobs
}

func newModels(o Options) models {
	return models{
		settings: o.Policy, worker: o.Worker, fallback: o.Fallback, strategy: o.Strategy,
		spend: o.Spend, spent: o.Spent, slots: o.Slots, log: o.Log, now: o.Now,
		open: o.Open, texts: prompts.In(o.Language), prompt: o.Prompt, system: o.System, byFallback: new(observe.Incident),
	}
}

// frame returns the tokens of a worker's instructions, with the agent's.
func (m models) frame() int {
	return tokens.Estimate(m.texts.Worker) + min(FrameCost(m.system, nil), maxAgentTokens) + requestCost
}

// learnedOf returns what is known about the worker's model, or about the fallback.
func learnedOf(model llm.Model) *llm.Learned { return llm.LearnedOf(model, new(llm.Learned)) }

// has reports whether p lets a model make summaries, though perhaps not right now.
func (m models) has(p Policy) bool {
	return m.worker != nil && m.strategy(p.Strategy).AsksModel()
}

// none reports whether p or the budget allows no model to make summaries now.
func (m models) none(p Policy) bool {
	return !m.has(p) || m.spend != nil && m.spend(false) != nil
}

// choose reports whether the extractive summarizer makes the next summary, and whether any
// summarizer may run now. A conversation in which the bot takes no part is not worth the cost of a
// model.
func (m models) choose(p Policy, addressed bool, r retries, now time.Time) (extractive, ready bool) {
	switch waiting := now.Before(r.retryAt); {
	case m.none(p), waiting && r.failures >= p.FailureLimit:
		return true, !now.Before(r.extractiveRetryAt)
	case waiting:
		return false, false
	}
	return !addressed, true
}

// declineCount returns how often the current worker model declined row's span.
func (m models) declineCount(row Summary) int {
	if m.worker == nil || row.Declined.By != m.worker.Name() {
		return 0
	}
	return row.Declined.Times
}

// gaveUp reports whether no model is called for row any more.
func (m models) gaveUp(row Summary) bool { return m.declineCount(row) >= m.settings().FailureLimit }

// ready reports whether row can be folded: no model is going to improve it first.
func (m models) ready(row Summary) bool {
	return !row.NeedsRepair() || row.Kind != Placeholder && (!row.AwaitsModel || !m.has(m.settings()) || m.gaveUp(row))
}

// worthFolding reports whether a model should fold rows: all are ready, and a worker wrote at least
// one.
func (m models) worthFolding(rows []Summary) bool {
	return !slices.ContainsFunc(rows, func(row Summary) bool { return !m.ready(row) }) &&
		slices.ContainsFunc(rows, func(row Summary) bool { return row.By == ByWorker })
}

// piece returns how many tokens to summarize ahead at once: one request's material, less
// instructions and answer.
func (m models) piece(p Policy) int {
	fits := throughput(m.worker) - m.frame()
	return max(fits/(100+p.TargetPct)*100, minPiece)
}

// throughput returns how many tokens a model processes in the time aimed at for a piece.
func throughput(model llm.Model) int {
	speed := learnedOf(model).Speed.PerSecond()
	if speed <= 0 {
		return math.MaxInt
	}
	return int(min(speed*aimedPiece.Seconds(), math.MaxInt32))
}

// slot waits for a worker's slot and returns the function that frees it.
func (m models) slot(ctx context.Context) (release func(), err error) {
	if m.slots == nil {
		return func() {}, nil
	}
	select {
	case m.slots <- struct{}{}:
		return func() { <-m.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// guarded runs a summarizer and converts a panic into an error.
func (m models) guarded(ctx context.Context, how making) (s summarize.Summary, err error) {
	defer func() {
		if p := recover(); p != nil {
			m.log.Error("worker_panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the worker broke: %v", p)
		}
	}()
	return how(ctx)
}
