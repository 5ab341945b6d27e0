package compactor

import (
	"cmp"
	"math"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// What the next request costs. Messages and summaries have estimates, which never change; the
// provider reports real tokens. Its last count is the anchor: used is that count plus an estimate
// of what has changed since. If a part that was counted has changed, there is no anchor, and used
// is an estimate of the whole. Both are corrected by the model's factor.

// lastRequest describes the last request.
type lastRequest struct {
	rendering transcript.Rendering
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
	reserve  int // tokens that counted as used for the reply
	answer   int // tokens that the reply may take
	spare    int // tokens of the window left
}

// used returns what the next request costs, including the reply's reserve.
func (c *Compactor) used(s view) int {
	return c.prompt(s) + c.reserve()
}

func (c *Compactor) level() level { return levelOf(c.used(c.h.view), c.o.Window(), c.policy()) }

// prompt returns the cost of the next request's prompt. Messages added since the anchor, and
// reasoning that is no longer sent, count as the difference of two estimates. An answer counts like
// any message, because the provider's count for it includes reasoning that is not sent back.
// Content that has left may have cost less than its estimate, so the result is at least the
// estimate of what is left, but not more than the anchor.
func (c *Compactor) prompt(s view) int {
	estimate := c.frame() + s.Cost()
	if s.Counted.Prompt > 0 {
		left := min(c.real(estimate), s.Counted.Prompt)
		return max(s.Counted.Prompt+c.real(estimate-s.Counted.Estimate), left)
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
	return c.frame() + s.WithoutOldContexts().Cost() - c.estimated(goal-c.reserve())
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

// effectiveWindow returns the tokens that budgets are shares of.
func (c *Compactor) effectiveWindow() int { return c.o.Policy().Window(c.o.Window()) }

// budget returns about the effective window in estimated tokens; it rarely changes. The shares of the window
// that single parts may take are shares of this.
func (c *Compactor) budget() int { return c.effectiveWindow() * 100 / c.o.Learnt().Scale() }

// reserve returns the tokens that count as used because the reply will take them.
func (c *Compactor) reserve() int { return Reserve(c.o.MaxOutput, c.effectiveWindow()) }

// maxTokens returns how many tokens the reply to s may take: what the model's window allows. A lower effective
// window limits what a conversation keeps, not what the model may write once.
func (c *Compactor) maxTokens(s view) int {
	window := c.o.Window()
	return min(Reserve(c.o.MaxOutput, window), window-c.prompt(s))
}

func (c *Compactor) ask(s view) {
	c.h.asked = s.Revision
	estimate := c.frame() + s.Cost()
	uncertain := c.real(max(estimate-s.Counted.Estimate, 0))/uncertaintyShare + minUncertainty
	answer := c.maxTokens(s)
	c.lastRequest.measured = measured{
		revision: s.Revision, estimate: estimate, reserve: c.reserve(), answer: answer,
		spare: c.o.Window() - c.prompt(s) - answer - uncertain,
	}
	_, c.lastRequest.context, _ = s.RunningContext()
	for _, m := range s.Messages {
		c.lastRequest.pictures += m.As.Pictures * chat.PictureTokens
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
func (c *Compactor) Count() transcript.Count { return c.h.view.Counted }

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

// ReasoningOf returns the cost of m's reasoning, in estimated tokens, if the provider counted
// completion tokens for all of m; 0 if it counted none.
func (c *Compactor) ReasoningOf(m chat.Message, completion int) int {
	if completion <= 0 {
		return 0
	}
	return max(c.estimated(completion)-chat.TokensOf(m), 1)
}

func (h *History) counted(revision int, count transcript.Count) {
	if h.view.Revision == revision {
		h.view.Counted = count
		h.view.Counted.Version = h.view.Head.Version
	}
}
