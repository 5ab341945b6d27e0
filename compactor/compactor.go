// Package compactor keeps a conversation inside its model's context window: it watches how
// full the window is, summarizes the oldest turns in the background, and shows the summaries,
// stacked, in their place. It never changes messages. A span is chosen in planner.go and plan.go,
// summarized in run.go, and applied in apply.go. Package transcript renders the prompt.
package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cairn/compactor/worker"
	"cairn/llm"
	"cairn/transcript"
)

// Options configures a conversation's compactor. Policy and Window are called at each check, so
// that changed settings and learned limits take effect immediately.
type Options struct {
	Records Records
	Policy  func() Policy
	Window  func() int // the model's context window, in tokens

	Model   string              // its name
	Learned func() *llm.Learned // what is known about the model; nil: only what this compactor learns

	// CacheTTL returns how long the model's provider keeps its prompt cache, for a policy that leaves
	// it to the provider. nil: DefaultTTL.
	CacheTTL func() time.Duration

	System    string     // the system prompt; counted and rendered
	Language  string     // language of the worker's prompt, a code of prompts.Languages; "": English
	Tools     []llm.Tool // counted in every request
	MaxOutput int        // maximum tokens of a reply; at most an eighth of the window is reserved for it

	Worker   llm.Model     // an llm.Learner, or nothing is learned about it; nil: no model; the extractive summarizer does all the work
	Fallback llm.Model     // takes over what Worker's server refuses; nil: none
	Prompt   func() string // the agent's prompt for the worker, read for each summary; nil or "": the one in prompts/
	Slots    chan struct{} // its capacity limits how many workers run in the process; nil: no limit

	// Spend is called before each request to the worker's or the fallback's model, retries included.
	// An error, normally ErrSpent, ends the job. counts is false if no request follows: while that
	// returns an error, the extractive summarizer takes over; readers of a Status ask too, in any goroutine. nil: no limit.
	Spend func(counts bool) error
	// Spent receives the usage of each request to the worker's or the fallback's model, with the
	// model's name, failed attempts included. It must not block; may be nil.
	Spent func(model string, u llm.Usage)

	// Strategy returns the strategy that the policy names. nil: worker.StrategyOf.
	Strategy func(name string) worker.Strategy

	// Before is called before each job starts. An error vetoes the job, with the error's text as the
	// reason; a job that was not requested by a person is not proposed again for the policy's
	// cooldown, at least a minute. A non-empty focus replaces the proposed one. Before is part of a
	// job's Work: no turn waits for it, an emergency makes room meanwhile, and its
	// context ends with the job. It is not called for emergencies and for what a provider's refusal
	// forces (OnEmergency, OnReactive), because without them the next request could not be sent, nor
	// for the folds that make room for a summary. nil: no vetoes.
	Before func(context.Context, Proposal) (focus string, veto error)

	// Open returns text that every summary of messages from..to must add: what started in that span
	// and is not finished. It may read from disk. nil or "": nothing to add.
	Open func(ctx context.Context, from, to int64) (string, error)

	Log *slog.Logger     // nil: slog.Default()
	Now func() time.Time // the clock for all waits; nil: time.Now
}

// Compactor keeps one conversation inside its window. It belongs to the goroutine that owns the
// conversation, starts none itself, calls nobody back, and never waits for a model. After each call the owner takes what has
// become due, Work, which it runs in other goroutines and ends with Done, and what has happened, Events; Wake returns when Check
// is next needed.
type Compactor struct {
	o      *Options
	ctx    context.Context // of all background work
	cancel context.CancelFunc

	// The conversation.
	contextWindow
	lookahead      transcript.Ahead // caches the view once everything prepared is applied
	outdated       bool             // the disk may differ from what the view was built from
	contextsOnDisk bool             // contexts that ended in memory are still on disk

	// Its compactions.
	jobs
	reports
	models       models
	retries      retries
	wake         time.Time
	draining     bool                       // work that can wait is left to the next start
	undoLifted   bool                       // undone spans are no longer spared
	tokenDeficit int                        // tokens that a level demanded beyond what is prepared
	terms        map[string]func() []string // of the stack's texts, which job after job reads; nil while nothing is due
}

// Open loads a conversation and returns its compactor.
func Open(ctx context.Context, o Options) (*Compactor, error) {
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Strategy == nil {
		o.Strategy = worker.StrategyOf
	}
	if o.Learned == nil {
		learned := new(llm.Learned)
		o.Learned = func() *llm.Learned { return learned }
	}
	state, err := o.Records.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the conversation: %w", err)
	}
	c := &Compactor{
		o: &o, contextWindow: newContextWindow(&o, state), models: newModels(&o), reports: reports{o: &o},
		retries: retries{vetoes: map[Trigger]veto{}, repairs: map[int64]backoff{}},
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return c, nil
}

// Close cancels all background work and starts no more. What runs ends soon: its row becomes failed, and its span stays
// visible.
func (c *Compactor) Close() { c.cancel() }

// Wake returns when to call Check even if no message arrives until then; zero: no need.
func (c *Compactor) Wake() time.Time { return c.wake }

// Check measures how full the window is and does what the level demands: an emergency immediately
// and without a model, the others by starting the worker. It never waits for a model. Call it after
// every appended message; Request calls it too.
func (c *Compactor) Check(ctx context.Context) {
	p := c.meter.policy()
	c.view.reshape(c.meter)
	_ = c.Reread(ctx) // with an error the next check tries again, and Request fails
	c.flush(ctx)
	c.applyDue(ctx)
	if c.meter.level(c.view) == emergency {
		c.makeRoom(ctx, OnEmergency, int(p.BackgroundThreshold*float64(c.o.Window())))
	}
	c.clearBatch(ctx)
	c.proceed()
}

// ErrTooLarge is returned by Request if the required part does not fit the window, however much is
// hidden.
var ErrTooLarge = errors.New("the request does not fit the context window")

// Prompt is the next request to the model.
type Prompt struct {
	Messages  []llm.Message // the caller may change only their pictures
	Head      int           // how many of them stay the same until the head changes: the system prompt and the head
	MaxTokens int           // tokens that the answer may take
	Estimate  int           // of messages and tools, in tokens
	Revision  int           // the same as before if the messages begin with those of the last request
	Spare     int           // tokens of the window left beside the answer, less the uncertainty of the estimate: a request whose limit exceeds the window is refused
}

// Request calls Check and renders the next request. It fits the window, or the error is
// ErrTooLarge.
func (c *Compactor) Request(ctx context.Context) (Prompt, error) {
	window := c.o.Window()
	c.applyCold(ctx)
	for range requestTries {
		c.Check(ctx)
		if c.outdated {
			return Prompt{}, errOutdated
		}
		if c.lastRequest.rendering.DropsPictures(c.view.View) {
			c.newHead(ctx)
		}
		if c.meter.used(c.view) <= window {
			return c.lastRequest.next(c.o.System, c.view, c.meter, c.o.Now()), nil
		}
	}
	return Prompt{}, fmt.Errorf("%w: %d of %d tokens, of which the system prompt and tools take %d", ErrTooLarge, c.meter.used(c.view), window, c.meter.real(c.meter.frame()))
}

// requestTries is how often Request makes room before it gives up.
const requestTries = 3

// Overflow is called after the provider has refused the last request as too long; what the refusal
// revealed about the window must already be known to Window. It hides the oldest turns and reports
// whether the next request will be smaller, in its prompt or in the reply it reserves. times counts the refusals of this turn:
// the second one means that the window is far from what Window says, so half of the prompt leaves.
func (c *Compactor) Overflow(ctx context.Context, times int) bool {
	p := c.meter.policy()
	window := c.o.Window()
	if anchor := c.view.Counted; anchor.Prompt > 0 {
		c.meter.refused = float64(anchor.Prompt) / float64(anchor.Estimate)
	}
	s := c.view
	c.view.reshape(c.meter)
	used := c.meter.used(c.view)
	goal := min(int(p.BackgroundThreshold*float64(window)), used-used/8)
	if times > 1 {
		goal = min(goal, used/2)
	}
	c.makeRoom(ctx, OnReactive, goal)
	return c.view.Cost() < s.Cost() || Reserve(c.o.MaxOutput, window) < c.lastRequest.answer
}

// Drain starts no more work that can wait for the next start of the program: repairs and
// preparation, which it also cancels. What a level demands, folds, and filling placeholders still
// run.
func (c *Compactor) Drain() {
	c.draining = true
	c.wake = time.Time{}
	if c.busy != nil && c.busy.mayWait() {
		c.busy.cancel()
	}
}
