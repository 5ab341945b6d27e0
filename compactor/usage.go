package compactor

import (
	"cmp"
	"math"
	"time"

	"cairn/chat"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/transcript"
)

// What the next request costs. Messages and summaries have estimates, which never change; the
// provider reports real tokens. Its last count is the anchor: used is that count plus an estimate
// of what has changed since. If a part that was counted has changed, there is no anchor, and used
// is an estimate of the whole. Both are corrected by the model's factor.

// lastRequest describes the last request.
type lastRequest struct {
	rendering rendering
	at        time.Time // which determines the age of the provider's cache
	measured
}

// measured is the size of the last request, until Sent has returned it.
type measured struct {
	revision int
	estimate int // tokens
	counted  int // tokens, as the provider counted; 0: it reported none
	context  int // tokens of the turn context
	pictures int // of estimate: tokens of pictures
	reserve  int // tokens reserved for the reply
	spare    int // tokens of the window left
}

// used returns what the next request costs, including the reply's reserve.
func (c *Compactor) used(s view) int {
	return c.prompt(s) + Reserve(c.o.MaxOutput, c.o.Window())
}

func (c *Compactor) level() level { return levelOf(c.used(c.h.view), c.o.Window(), c.policy()) }

// prompt returns the cost of the next request's prompt. Messages added since the anchor, and
// reasoning that is no longer sent, count as the difference of two estimates. An answer counts like
// any message, because the provider's count for it includes reasoning that is not sent back.
// Content that has left may have cost less than its estimate, so the result is at least the
// estimate of what is left, but not more than the anchor.
func (c *Compactor) prompt(s view) int {
	estimate := c.frame() + s.cost()
	if s.anchor.Prompt > 0 {
		left := min(c.real(estimate), s.anchor.Prompt)
		return max(s.anchor.Prompt+c.real(estimate-s.anchor.Estimate), left)
	}
	return c.real(estimate)
}

// By how many tokens a prompt may exceed its estimate.
const (
	uncertaintyShare = 8  // an eighth of what no provider has counted
	minUncertainty   = 64 // for short texts
)

// excess returns how many estimated tokens must leave to bring used down to goal. Removing anything
// also drops the anchor and the contexts of earlier turns.
func (c *Compactor) excess(s view, goal int) int {
	return c.frame() + s.withNewHead().cost() - c.estimated(goal-Reserve(c.o.MaxOutput, c.o.Window()))
}

func (c *Compactor) frame() int {
	if c.o.Learnt().Facts().RefusesTools {
		return c.systemCost
	}
	return c.systemCost + c.toolsCost
}

func (c *Compactor) real(estimated int) int {
	return int(math.Round(float64(estimated) * c.o.Learnt().Factor()))
}

func (c *Compactor) estimated(real int) int {
	return int(float64(real) / c.o.Learnt().Factor())
}

// learntOf returns what is known about the worker's model, or about the fallback.
func learntOf(model llm.Model) *llm.Learnt { return llm.LearntOf(model, new(llm.Learnt)) }

// budget returns about the window in estimated tokens; it rarely changes. The shares of the window
// that single parts may take are shares of this.
func (c *Compactor) budget() int { return c.o.Window() * 100 / c.o.Learnt().Scale() }

func (c *Compactor) ask(s view) {
	c.h.asked = s.revision
	estimate := c.frame() + s.cost()
	uncertain := c.real(max(estimate-s.anchor.Estimate, 0))/uncertaintyShare + minUncertainty
	c.lastRequest.measured = measured{revision: s.revision, estimate: estimate, reserve: Reserve(c.o.MaxOutput, c.o.Window()), spare: c.o.Window() - c.used(s) - uncertain}
	if c.h.contextRuns {
		c.lastRequest.context = c.h.contexts[len(c.h.contexts)-1].tokens
	}
	for _, l := range s.lines {
		c.lastRequest.pictures += l.pictures * chat.PictureTokens
	}
}

// Reported receives the provider's count for the last Request, sent with the tools of Options. The
// count becomes the anchor, unless the view has changed since, and updates the model's factor. A
// count of 0, or one that cannot include the whole prompt, is ignored, and so is one that no
// window could hold.
func (c *Compactor) Reported(u llm.Usage) {
	words := c.lastRequest.estimate - c.lastRequest.pictures
	prompt := u.Prompt
	if prompt*minCountedPart < words {
		prompt += u.Cached + u.Written // few providers report them separately
	}
	if prompt <= 0 || prompt*minCountedPart < words || prompt > max(c.o.Window(), maxCountedPart*c.lastRequest.estimate) {
		return
	}
	if c.lastRequest.pictures == 0 && words >= minSample {
		c.o.Learnt().Counted(words, prompt)
	}
	c.lastRequest.counted = prompt
	c.h.counted(c.lastRequest.revision, transcript.Count{Prompt: prompt, Estimate: c.lastRequest.estimate, Model: c.o.Model})
}

const (
	// minCountedPart: at least half of the estimate must have been counted. Less is a part of the prompt,
	// or one that the server has truncated silently.
	minCountedPart = 2

	// maxCountedPart: a count above the window is believed up to this multiple of the estimate. More
	// is the sum of many requests, or a bug of the server; it would hide half of the conversation.
	maxCountedPart = 4

	// minSample is the smallest estimate, in tokens, from which the factor is learned: in a shorter
	// prompt the server's own additions weigh too much.
	minSample = 400
)

// Count returns the current anchor, to be stored with the turn, so that every Status shows one
// number, also after a restart and in a second process.
func (c *Compactor) Count() transcript.Count { return c.h.anchor }

// Sent returns the last Request, once; the zero value if there was none since the last call.
func (c *Compactor) Sent() (s Sent) {
	if c.lastRequest.estimate == 0 {
		return s
	}
	s = Sent{Window: c.o.Window(), Counted: c.lastRequest.counted, Estimated: c.lastRequest.estimate, Context: c.lastRequest.context, Factor: c.o.Learnt().Factor()}
	s.Used = cmp.Or(s.Counted, c.real(s.Estimated)) + c.lastRequest.reserve
	c.lastRequest.measured = measured{}
	return s
}

func (h *History) counted(revision int, count transcript.Count) {
	if h.revision == revision {
		h.anchor = count
		h.anchor.Version = h.head.Version
	}
}

// changed records that an existing part of the view has changed, which invalidates the anchor.
func (h *History) changed() {
	h.revision++
	h.anchor = transcript.Count{}
}

// Status describes how full a conversation's window is, and with what.
type Status struct {
	Used, Window int // tokens; used counts the prompt of the next request and the reply's reserve
	Frame        int // of Used: system prompt and tools
	Head         int // of Used: first messages and the stack
	Verbatim     int // of Used: messages and turn contexts
	Contexts     int // of Verbatim: turn contexts
	Reserve      int // of Used: kept free for the reply
	PinBudget    int // most tokens of first messages and pins
	Lines        int // verbatim messages
	InPart       int // of Lines: messages that are too long and shown in part, without tool results
	Stack        []Summary
	Past         Past
	Prepared     []Summary // prepared, not applied yet
	Next         Trigger   // the next level
	NextAt       int       // tokens used at which it is reached; 0: emergency is reached
	Running      *Event    // what a worker is doing; nil: nothing
	Scheduled    bool      // a request is queued and starts when the running job ends
	Last         Event     // the last event; its State is empty if there is none
	Failed       Event     // the last failure since which no compaction was applied; its State is empty if there is none
	BackingOff   bool      // a level is reached, but waits because the last attempt failed
	Paused       string    // why automatic compaction is paused; "": it is not
	Policy       Policy
}

// Past describes what a conversation has from before its session.
type Past struct {
	Earlier   []transcript.Session // oldest first: those that may be shown, and older ones that need work
	Inherited transcript.Inheritance
	Shown     map[int64]bool // own rows in the view, by id
	Tokens    int            // of what is in the view
}

// StatusReader returns a function that returns the Status of this moment, under the policy, window and budget, and at the
// time, of the call. That may be called in any goroutine, at any time.
func (c *Compactor) StatusReader() func() Status {
	at := &moment{
		c: c, s: c.h.view, retries: c.retries, last: c.reports.last, failed: c.reports.failed,
		prepared: c.prepared, scheduled: c.queued != nil, undoLifted: c.undoLifted,
	}
	if c.busy != nil {
		at.running = new(c.event(c.busy.row, EventStarted))
	}
	return at.status
}

// moment is what a Status is computed from. The loop makes one after each step, so making one must be cheap.
type moment struct {
	c                     *Compactor
	s                     view
	retries               retries // its map repairs is the loop's, and not to be read
	last, failed          Event
	prepared              []Summary
	running               *Event
	scheduled, undoLifted bool
}

func (m *moment) status() Status {
	c, now := m.c, m.c.o.Now()
	g := c.shares(m.s)
	g.Last, g.Failed, g.Running, g.Scheduled, g.Lines = m.last, m.failed, m.running, m.scheduled, len(m.s.lines)
	g.Stack, g.Prepared, g.PinBudget = m.s.head.Stack, m.prepared, c.shape(g.Policy).maxFirst
	g.Past = Past{Earlier: m.s.head.Earlier, Inherited: m.s.head.Inherited, Shown: make(map[int64]bool), Tokens: m.s.past.tokens}
	for _, e := range m.s.past.entries {
		if e.own {
			g.Past.Shown[e.row.ID] = true
		}
	}
	for _, l := range m.s.lines {
		if l.short != nil && l.Role != llm.RoleTool {
			g.InPart++
		}
	}
	g.Next, g.NextAt = nextLevel(g.Used, g.Window, g.Policy)
	if m.running == nil && levelOf(g.Used, g.Window, g.Policy) != levelNone {
		_, ready := c.summarizer(g.Policy, m.s, &m.retries, now)
		g.BackingOff = !ready
	}
	g.Paused = m.retries.why(now)
	if !g.Policy.Enabled {
		g.Paused = reasonOff
	}
	if g.Paused == "" && m.s.head.Spared.To >= m.s.head.Start && !m.undoLifted {
		g.Paused = reasonSpared
	}
	return g
}

// Usage returns Used, Head and Verbatim of a Status, at a cost independent of the size of the view.
// Call it on the owner's goroutine.
func (c *Compactor) Usage() (used, head, verbatim int) {
	g := c.shares(c.h.view)
	return g.Used, g.Head, g.Verbatim
}

// shares returns a Status that says what takes how much of the window.
func (c *Compactor) shares(s view) (g Status) {
	prompt, frame := c.prompt(s), c.frame()
	share := func(estimated int) int { return prompt * estimated / max(frame+s.cost(), 1) }
	g.Window, g.Policy = c.o.Window(), c.policy()
	g.Reserve = Reserve(c.o.MaxOutput, g.Window)
	g.Used, g.Frame, g.Head, g.Contexts = prompt+g.Reserve, share(frame), share(s.headCost), share(s.contextCost())
	g.Verbatim = prompt - g.Frame - g.Head
	return g
}

// reports keeps the last events, for Status, and the incidents that were logged and must not be
// logged again.
type reports struct {
	last      Event // the last event that ended something
	failed    Event // the last failure since a summary was applied
	appliedAt int64 // the next seq when messages were last summarized; 0: not yet

	byModel, byExtractive, byFallback observe.Incident // jobs of a model fail; jobs of the extractive summarizer fail; the fallback does the worker's jobs
	tooLarge                          observe.Incident // nothing more can be hidden
}

func (r *reports) note(e Event, next int64) {
	switch e.State {
	case EventStarted, EventPrepared, EventScheduled:
		return
	case EventFailed:
		r.failed = e
	case EventApplied:
		if e.Kind == Placeholder {
			break
		}
		r.failed = Event{}
		if e.Kind == Leaf && e.Trigger != OnRepair {
			r.appliedAt = next
		}
	}
	r.last = e
}
