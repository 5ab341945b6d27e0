// Package compactor keeps a conversation inside its model's context window: it watches how
// full the window is, summarizes the oldest turns in the background, and shows the summaries,
// stacked, in their place. It never changes messages. A span is chosen in plan.go and job.go,
// summarized in run.go, applied in apply.go, and rendered in render.go.
package compactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cairn/compactor/summarize"
	"cairn/llm"
)

// Options is what a conversation's compactor works with. Policy and Window are
// asked at each check, so that settings and learnt limits take effect at once.
type Options struct {
	Records Records
	Policy  func() Policy
	Window  func() int // the model's context window, in tokens

	Model  string             // its name
	Learnt func() *llm.Learnt // what is known about the model; nil: only what this compactor learns

	// CacheTTL tells how long the model's provider keeps its prompt cache, for a policy that
	// leaves it to the provider. nil: DefaultTTL.
	CacheTTL func() time.Duration

	System    string     // the system prompt; counted and rendered
	Language  string     // language of the worker's prompt, a code of prompts.Languages; "": English
	Tools     []llm.Tool // counted, in every request
	MaxOutput int        // tokens a reply may take; at most an eighth of the window is reserved for it

	Worker   llm.Model     // nil: there is no model, and the extractive summarizer does all work
	Fallback llm.Model     // does what Worker's server refuses; nil: none
	Prompt   func() string // the agent's own prompt for the worker, read once per job; nil or "": the one in prompts/
	Slots    chan struct{} // its capacity bounds the workers that run in the process; nil: no bound

	// Spend is called before each request to the worker's or the fallback's model, retries
	// included. Its error, which should be ErrSpent, ends the work. nil: no limit.
	Spend func() error
	// Afford reports whether Spend would allow a request. While it does not, the extractive
	// summarizer does the work. nil: always.
	Afford func() bool
	// Spent gets the usage of each request to the worker's or the fallback's model, by the model's
	// name, failed attempts included. It must not block; may be nil.
	Spent func(model string, u llm.Usage)

	// Strategy returns the strategy that the policy names. nil: StrategyOf.
	Strategy func(name string) Strategy

	// Start runs slow work in a goroutine, and then calls what it returned on the owner's. nil:
	// there is no background work. Start itself must not wait, nor call it at once.
	Start func(slow func() (finish func()))

	// Before is asked about each piece of work that is about to begin. An error is a veto:
	// nothing is begun, the error's words are the reason, and what was to begin by itself is
	// not asked about again for the policy's cooldown, at least a minute. A focus, unless it is
	// "", takes the place of the proposed one. Before runs in a child: no turn waits for it,
	// and while it is asked an emergency makes room as always. Its context ends with the work.
	// It is not asked about emergencies and what the provider's refusal forces (OnEmergency,
	// OnReactive): without them the next request could not be sent. Nor about the folds that
	// make room for a summary. nil: nothing is vetoed.
	Before func(context.Context, Proposal) (focus string, veto error)
	After  func(Event) // called after each step; must not block; may be nil

	// Open returns what every summary of messages up to a seq must say besides: what was begun in
	// them and goes on. It may ask the disk; "": nothing. nil: nothing ever.
	Open func(ctx context.Context, from, to int64) (string, error)

	Saved func([]summarize.MemoryDraft) // called with new memories; must not block; may be nil
	Log   *slog.Logger                  // nil: slog.Default()
	Now   func() time.Time              // the clock for all waiting; nil: time.Now
}

// Compactor guards one conversation's window. It belongs to the one goroutine that owns the
// conversation, has none of its own, and never waits for a model: what is slow it gives to
// Options.Start, and what must wait for a time it tells by Wake.
type Compactor struct {
	o      Options
	h      *History
	ctx    context.Context // of all background work
	cancel context.CancelFunc

	fixed       fixedCost
	lastRequest lastRequest

	busy         *work                 // nil: nothing is being summarized
	filling      *work                 // nil: no placeholder is being filled
	prepared     []Compaction          // prepared summaries, in the order of applying
	prospect     prospect              // caches the view once all of them are applied
	tokenDeficit int                   // tokens that a level demanded beyond what was prepared
	queued       *Requested            // a request that starts when the running work ends; nil if none
	awaited      map[int64]func(Event) // called when a row ends, by its id

	retries    retries
	wake       time.Time
	draining   bool // work that can wait is left to the next start
	undoLifted bool // what was undone is no longer spared
	reports    reports
}

// ErrSpent means that the budget for a model is spent for now.
var ErrSpent = errors.New("what a model may cost here is used up for now")

// policy returns the policy in force, for the current window.
func (c *Compactor) policy() Policy { return c.o.Policy().At(c.o.Window()) }

// noModel reports whether p allows no model to make summaries now.
func (c *Compactor) noModel(p Policy) bool {
	return !c.hasModel(p) || c.o.Afford != nil && !c.o.Afford()
}

// Open loads a conversation and returns its compactor.
func Open(ctx context.Context, o Options) (*Compactor, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.After == nil {
		o.After = func(Event) {}
	}
	if o.Saved == nil {
		o.Saved = func([]summarize.MemoryDraft) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Learnt == nil {
		own := new(llm.Learnt)
		o.Learnt = func() *llm.Learnt { return own }
	}
	o.Worker, o.Fallback = remembered(o.Worker), remembered(o.Fallback)
	state, err := o.Records.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the conversation: %w", err)
	}
	c := &Compactor{o: o, prepared: state.Prepared, awaited: make(map[int64]func(Event))}
	c.fixed = fixedCost{system: frameCost(o.System, nil), tools: costOfTools(o.Tools)}
	c.h = newHistory(state, c.shape(c.policy()))
	c.lastRequest.at = o.Now()
	for _, m := range state.Messages {
		if m.Role == llm.RoleAssistant {
			c.lastRequest.at = m.Time
		}
	}
	if state.Count.Model == o.Model {
		c.h.counted(c.h.view.revision, state.Count)
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return c, nil
}

// shape returns the view's shape by this policy and what is known about the model.
func (c *Compactor) shape(p Policy) shape {
	sh := p.shape(c.budget())
	sh.reasoning = c.o.Learnt().Facts().WantsReasoning
	return sh
}

// Close cancels all background work and starts no more. Work given to Start returns soon, and its
// result must still be passed on: the row becomes failed, and its span stays visible.
func (c *Compactor) Close() { c.cancel() }

// Busy reports whether any work is running.
func (c *Compactor) Busy() bool { return c.busy != nil || c.filling != nil }

// Wake returns when to call Check even if no message arrives until then; zero: no need.
func (c *Compactor) Wake() time.Time { return c.wake }

// History returns the conversation's history, for its owner.
func (c *Compactor) History() *History { return c.h }

// Check looks at how full the window is, and does what the level demands: an emergency immediately
// and without a model, the others by starting the worker. It never waits for a model. Call it after
// every message taken up; Request calls it too.
func (c *Compactor) Check(ctx context.Context) {
	p, window := c.policy(), c.o.Window()
	c.h.reshape(c.shape(p))
	c.reread(ctx)
	c.flush(ctx)
	c.applyDue(ctx, p, window)
	if levelOf(c.used(c.h.view), window, p) == emergency {
		c.makeRoom(ctx, OnEmergency, int(p.BackgroundThreshold*float64(window)))
	}
	c.clearBatch(ctx, p)
	c.proceed()
}

// ErrTooLarge is returned by Request when the required part does not fit the window, however much
// is hidden.
var ErrTooLarge = errors.New("the request does not fit the context window")

// Prompt is the next request to the model.
type Prompt struct {
	Messages  []llm.Message // the caller may change their pictures, and nothing else
	Head      int           // how many of them stay the same until the head changes: the system prompt, and what is kept of earlier talk
	MaxTokens int           // tokens that the answer may take
	Estimate  int           // tokens of the messages and the tools, as estimated
	Spare     int           // tokens of the window left beside the answer, less the doubt about their estimate: a bound that exceeds the window is refused
}

// Request calls Check and renders the next request. It fits the window, or the error is
// ErrTooLarge.
func (c *Compactor) Request(ctx context.Context) (Prompt, error) {
	window := c.o.Window()
	c.applyCold(ctx, c.policy())
	for range requestTries {
		c.Check(ctx)
		if c.h.outdated {
			return Prompt{}, errOutdated
		}
		if c.lastRequest.rendering.dropsPictures(c.h.view) {
			c.newHead(ctx)
		}
		if c.used(c.h.view) <= window {
			c.lastRequest.at = c.o.Now()
			c.ask(c.h.view)
			messages := c.lastRequest.rendering.next(c.o.System, c.h.view)
			return Prompt{messages, c.lastRequest.rendering.headLen, Reserve(c.o.MaxOutput, window), c.lastRequest.estimate, max(c.lastRequest.spare, 1)}, nil
		}
	}
	return Prompt{}, fmt.Errorf("%w: %d of %d tokens, of which the system prompt and tools take %d", ErrTooLarge, c.used(c.h.view), window, c.real(c.frame()))
}

// requestTries is how often Request makes room before it gives up.
const requestTries = 3

// Overflow is told that the provider found the last request too long. What it
// taught about the window is known to Window by now. It hides the oldest turns and
// reports whether the next request is smaller: its prompt, or what it wants in reply.
func (c *Compactor) Overflow(ctx context.Context) bool {
	p, window := c.policy(), c.o.Window()
	c.h.reshape(c.shape(p))
	s := c.h.view
	used := c.used(s)
	goal := int(p.BackgroundThreshold * float64(window))
	c.makeRoom(ctx, OnReactive, min(goal, used-used/8))
	return c.h.cost() < s.cost() || Reserve(c.o.MaxOutput, window) < c.lastRequest.reserve
}

// Drain has nothing begin any more that may wait for the next start: repairs and work ahead,
// which are cancelled too. What a level demands, folds, and placeholders that are to be filled
// are still made.
func (c *Compactor) Drain() {
	c.draining, c.wake = true, time.Time{}
	if c.busy != nil && c.busy.mayWait() {
		c.busy.cancel()
	}
}
