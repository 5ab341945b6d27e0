package compactor

import (
	"cmp"
	"maps"
	"math"
	"time"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
)

// What the next request costs. Messages and summaries bear estimates, which never
// change; what they cost in real tokens is told by the provider. Its last count is the
// anchor: used is that count and an estimate of what has changed since: what was added,
// and what other budgets show at another length. Where it cannot hold, because a part
// that was counted is another one now, used is an estimate of the whole. Both are
// corrected by the model's factor.

// lastRequest is what was sent last.
type lastRequest struct {
	rendering rendering
	at        time.Time // which is the age of the provider's cache
	measured
}

// measured describes what it showed, until Sent has told that.
type measured struct {
	revision int
	estimate int // tokens
	counted  int // tokens, as the provider counted; 0: it did not report any
	context  int // tokens of the turn context
	pictures int // how many of them are pictures'
	reserve  int // for the reply
	spare    int // of the window
}

// used returns what the next request costs, including the reply's reserve.
func (c *Compactor) used(s view) int {
	return c.prompt(s) + Reserve(c.o.MaxOutput, c.o.Window())
}

// prompt is what the next request's prompt costs. Messages that were added since the
// anchor, and reasoning that is sent no more, are the difference of two estimates. An answer is counted like any message: what the provider counted for it
// holds reasoning that is not sent back. What is shown no longer may have cost less than
// its estimate, so that what is left is not taken to cost less than its own, nor more
// than all of it did.
func (c *Compactor) prompt(s view) int {
	estimate := c.frame() + s.cost()
	if s.anchor.Prompt > 0 {
		left := min(c.real(estimate), s.anchor.Prompt)
		return max(s.anchor.Prompt+c.real(estimate-s.anchor.Estimate), left)
	}
	return c.real(estimate)
}

// uncertainty returns by how many tokens the prompt may exceed the estimate: an eighth of what no
// provider has counted.
func (c *Compactor) uncertainty(s view) int {
	return c.real(max(c.frame()+s.cost()-s.anchor.Estimate, 0))/uncertaintyShare + leastUncertainty
}

const (
	uncertaintyShare = 8  // an estimate is at most an eighth too low
	leastUncertainty = 64 // tokens, for short texts
)

// excess returns how many estimated tokens must leave to bring used down to goal. Removing anything
// also drops the anchor and the contexts of earlier turns.
func (c *Compactor) excess(s view, goal int) int {
	return c.frame() + s.withNewHead().cost() - c.estimated(goal-Reserve(c.o.MaxOutput, c.o.Window()))
}

// fixedCost is what each request costs beside the view, as estimated.
type fixedCost struct{ system, tools int }

// frame estimates the system prompt and the tools.
func (c *Compactor) frame() int {
	if c.o.Learnt().Facts().RefusesTools {
		return c.fixed.system
	}
	return c.fixed.system + c.fixed.tools
}

func (c *Compactor) real(estimated int) int {
	return int(math.Round(float64(estimated) * c.o.Learnt().Factor()))
}

func (c *Compactor) estimated(real int) int {
	return int(float64(real) / c.o.Learnt().Factor())
}

// learntOf returns what is known about the worker's model, or about the fallback: see remembering.
func learntOf(model llm.Model) *llm.Learnt { return llm.LearntOf(model, new(llm.Learnt)) }

// remembering is a model that remembers what is learnt about it, for one that does not by itself.
type remembering struct {
	llm.Model
	learnt llm.Learnt
}

func (m *remembering) Learnt() *llm.Learnt { return &m.learnt }

func remembered(m llm.Model) llm.Model {
	if _, remembers := m.(llm.Learner); m == nil || remembers {
		return m
	}
	return &remembering{Model: m}
}

// budget is about the window in estimated tokens, and hardly ever another one. The
// shares of the window that single parts may take are shares of this.
func (c *Compactor) budget() int { return c.o.Window() * 100 / c.o.Learnt().Scale() }

// ask notes what the request rendered from s shows.
func (c *Compactor) ask(s view) {
	c.lastRequest.measured = measured{revision: s.revision, estimate: c.frame() + s.cost(), reserve: Reserve(c.o.MaxOutput, c.o.Window()), spare: c.o.Window() - c.used(s) - c.uncertainty(s)}
	if c.h.contextRuns {
		c.lastRequest.context = c.h.contexts[len(c.h.contexts)-1].tokens
	}
	for _, l := range s.lines {
		c.lastRequest.pictures += l.pictures * chat.PictureTokens
	}
}

// Reported is told what the provider counted for the last Request, sent with the
// tools that Options names. It becomes the anchor, unless what was counted is no
// longer what the view shows, and teaches the model's factor. A count of 0, or one
// that cannot be of the whole prompt, changes nothing.
func (c *Compactor) Reported(u llm.Usage) {
	words := c.lastRequest.estimate - c.lastRequest.pictures
	prompt := u.Prompt
	if prompt*leastPart < words {
		prompt += u.Cached + u.Written // few providers report it separately
	}
	if prompt <= 0 || prompt*leastPart < words {
		return
	}
	if c.lastRequest.pictures == 0 && words >= leastLesson {
		c.o.Learnt().Counted(words, prompt)
	}
	c.lastRequest.counted = prompt
	c.h.counted(c.lastRequest.revision, Count{Prompt: prompt, Estimate: c.lastRequest.estimate, Model: c.o.Model})
}

const (
	// leastPart of what was estimated must have been counted: less is a part of the
	// prompt, or one that the server has cut in silence.
	leastPart = 2

	// leastLesson is the fewest estimated tokens a factor is learnt from: of a shorter
	// prompt what the server itself adds is too large a part.
	leastLesson = 400
)

// Count returns the count that holds now, to be stored with the turn: so every Status
// shows one number, also after a restart and beside a running bot.
func (c *Compactor) Count() Count { return c.h.anchor }

// Sent returns the last Request since it was called last.
func (c *Compactor) Sent() (s Sent) {
	if c.lastRequest.estimate == 0 {
		return s
	}
	s = Sent{Window: c.o.Window(), Counted: c.lastRequest.counted, Estimated: c.lastRequest.estimate, Context: c.lastRequest.context, Factor: c.o.Learnt().Factor()}
	s.Used = cmp.Or(s.Counted, c.real(s.Estimated)) + c.lastRequest.reserve
	c.lastRequest.measured = measured{}
	return s
}

func (h *History) counted(revision int, count Count) {
	if h.revision == revision {
		h.anchor = count
		h.anchor.Version = h.head.Version
	}
}

// changed tells that a part of the view which was there is another one now:
// what was counted of it holds no longer.
func (h *History) changed() {
	h.revision++
	h.anchor = Count{}
}

// Status says how full a conversation's window is, and of what.
type Status struct {
	Used, Window int // tokens; used counts the prompt of the next request and the reply's reserve
	Frame        int // of Used: system prompt and tools
	Head         int // of Used: first messages and the stack
	Verbatim     int // of Used: messages and turn contexts
	Contexts     int // of Verbatim: turn contexts
	Reserve      int // of Used: kept free for the reply
	PinBudget    int // what first messages and pins may take, in tokens
	Lines        int // verbatim messages
	InPart       int // of Lines: messages that are too long and shown in part, without tool results
	Stack        []Compaction
	Past         Past
	Prepared     []Compaction // prepared, not applied yet
	Next         Trigger      // the next level
	NextAt       int          // tokens used at which it is reached; 0: emergency is reached
	Running      *Event       // what a worker is doing; nil: nothing
	Scheduled    bool         // a request is queued; it begins when that has ended
	Last         Event        // the last thing that happened; its State is empty if nothing has
	Failed       Event        // the last failure that no compaction has followed; its State is empty if there is none
	BackingOff   bool         // a level is reached that waits only because the last attempt failed
	Paused       string       // why automatic compaction is paused; empty: it is not
	Policy       Policy
}

// StatusReader returns a function that returns the current Status. It may be called in any goroutine, at
// any time.
func (c *Compactor) StatusReader() func() Status {
	s, retries, undoLifted := c.h.view, c.retries, c.undoLifted
	retries.vetoes = maps.Clone(retries.vetoes)
	_, ready := c.summarizer(c.policy(), s, c.o.Now())
	waits := c.busy == nil && !ready
	known := Status{Last: c.reports.last, Failed: c.reports.failed, Prepared: c.prepared, Scheduled: c.queued != nil}
	if c.busy != nil {
		event := c.busy.event(EventStarted)
		known.Running = &event
	}
	return func() Status {
		g, now := c.measure(s, known), c.o.Now()
		g.BackingOff = waits && levelOf(g.Used, g.Window, g.Policy) != levelNone
		if g.Paused = retries.why(now); !g.Policy.Enabled {
			g.Paused = reasonOff
		}
		if g.Paused == "" && s.head.SparedTo >= s.head.Start && !undoLifted {
			g.Paused = reasonSpared
		}
		return g
	}
}

// Usage returns Used, Head and Verbatim of a Status. It costs the same however much is shown.
// It is for the owner.
func (c *Compactor) Usage() (used, head, verbatim int) {
	s := c.h.view
	prompt, frame := c.prompt(s), c.frame()
	share := func(estimated int) int { return prompt * estimated / max(frame+s.cost(), 1) }
	head = share(s.headCost)
	return prompt + Reserve(c.o.MaxOutput, c.o.Window()), head, prompt - share(frame) - head
}

// measure adds the costs of a view to a Status.
func (c *Compactor) measure(s view, g Status) Status {
	window := c.o.Window()
	prompt, frame := c.prompt(s), c.frame()
	share := func(estimated int) int { return prompt * estimated / max(frame+s.cost(), 1) }
	g.Window, g.Reserve, g.Policy = window, Reserve(c.o.MaxOutput, window), c.policy()
	g.Used, g.Frame, g.Head, g.Contexts = prompt+g.Reserve, share(frame), share(s.headCost), share(s.contextCost)
	g.Verbatim = prompt - g.Frame - g.Head
	g.PinBudget = c.shape(g.Policy).firstMost
	g.Lines, g.Stack, g.Past = len(s.lines), s.head.Stack, s.pastOf()
	for _, l := range s.lines {
		if l.short != nil && l.Role != llm.RoleTool {
			g.InPart++
		}
	}
	g.Next, g.NextAt = nextLevel(g.Used, window, g.Policy)
	return g
}

func frameCost(system string, tools []llm.Tool) int {
	return tokens.PerMessage + tokens.Estimate(system) + costOfTools(tools)
}

func costOfTools(tools []llm.Tool) (cost int) {
	for _, t := range tools {
		cost += tokens.PerMessage + tokens.Estimate(t.Name) + tokens.Estimate(t.Description) + tokens.Estimate(string(t.Parameters))
	}
	return cost
}
