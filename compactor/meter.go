package compactor

import (
	"math"

	"cairn/chat"
	"cairn/transcript"
)

// What the next request costs. Messages and summaries have estimates, which never change; the
// provider reports real tokens. Its last count is the anchor: used is that count plus an estimate
// of what has changed since. If a part that was counted has changed, there is no anchor, and used
// is an estimate of the whole. Both are corrected by the model's factor.

// meter measures views against the model's window. It never changes, and may be used in any goroutine.
type meter struct {
	o      *Options
	system int // tokens of the system prompt, estimated
	tools  int // tokens of the tools, estimated

	refused float64 // real tokens for one estimated in a prompt of this turn that was too long; 0: none was
}

func newMeter(o *Options) meter {
	return meter{o: o, system: FrameCost(o.System, nil), tools: chat.ToolTokens(o.Tools...)}
}

// policy returns the policy of this moment, with all levels as shares of the window.
func (m meter) policy() Policy { return m.o.Policy().At(m.o.Window()) }

// shape returns the shape of the view for p and the known facts about the model.
func (m meter) shape(p Policy) transcript.Shape {
	sh := p.shape(m.budget())
	sh.KeepReasoning = m.o.Learned().Facts().WantsReasoning
	return sh
}

// used returns what the next request costs, including the reply's reserve.
func (m meter) used(v view) int { return m.prompt(v) + m.reserve() }

func (m meter) level(v view) level { return levelOf(m.used(v), m.o.Window(), m.policy()) }

// prompt returns the cost of the next request's prompt. Messages added since the anchor, and
// reasoning that is no longer sent, count as the difference of two estimates. An answer counts like
// any message, because the provider's count for it includes reasoning that is not sent back.
// Content that has left may have cost less than its estimate, so the result is at least the
// estimate of what is left, but not more than the anchor.
func (m meter) prompt(v view) int {
	estimate := m.estimate(v)
	anchor := v.Counted
	if anchor.Prompt > 0 {
		left := min(m.real(estimate), anchor.Prompt)
		return max(anchor.Prompt+m.real(estimate-anchor.Estimate), left)
	}
	return m.real(estimate)
}

// estimate returns the estimated cost of the next request's prompt.
func (m meter) estimate(v view) int { return m.frame() + v.Cost() }

// excess returns how many estimated tokens must leave to bring used down to goal. Removing anything
// also drops the anchor and the contexts of earlier turns.
func (m meter) excess(v view, goal int) int {
	return m.frame() + v.WithoutOldContexts().Cost() - m.estimated(goal-m.reserve())
}

// room returns by how many estimated tokens a repair may grow a view that uses that many tokens: a repair must never
// cause an emergency.
func (m meter) room(used int, p Policy) int {
	return m.estimated(int(0.95*p.EmergencyThreshold*float64(m.o.Window())) - used)
}

// frame returns the tokens of the system prompt and the tools, estimated.
func (m meter) frame() int {
	if m.o.Learned().Facts().RefusesTools {
		return m.system
	}
	return m.system + m.tools
}

func (m meter) real(estimated int) int {
	return int(math.Round(float64(estimated) * m.factor()))
}

func (m meter) estimated(real int) int {
	return int(float64(real) / m.factor())
}

// factor returns the real tokens for one estimated. What the model's factor is slow to learn from one prompt is certain for the turn
// that the prompt belongs to.
func (m meter) factor() float64 { return max(m.o.Learned().Factor(), m.refused) }

// effectiveWindow returns the tokens that budgets are shares of.
func (m meter) effectiveWindow() int { return m.o.Policy().Window(m.o.Window()) }

// budget returns about the effective window in estimated tokens; it rarely changes. The shares of the window
// that single parts may take are shares of this.
func (m meter) budget() int {
	return m.effectiveWindow() * 100 / max(m.o.Learned().Scale(), int(100*m.refused))
}

// reserve returns the tokens that count as used because the reply will take them.
func (m meter) reserve() int { return Reserve(m.o.MaxOutput, m.effectiveWindow()) }

// maxTokens returns how many tokens the reply to v may take: what the model's window allows. A lower effective
// window limits what a conversation keeps, not what the model may write once.
func (m meter) maxTokens(v view) int {
	window := m.o.Window()
	return min(Reserve(m.o.MaxOutput, window), window-m.prompt(v))
}

// reasoningOf returns the cost of a message's reasoning, in estimated tokens, if the provider counted
// completion tokens for all of it; 0 if it counted none.
func (m meter) reasoningOf(one chat.Message, completion int) int {
	if completion <= 0 {
		return 0
	}
	return max(m.estimated(completion)-chat.TokensOf(one), 1)
}

// shares returns a Status that says what takes how much of the window.
func (m meter) shares(v view) (g Status) {
	prompt := m.prompt(v)
	frame := m.frame()
	share := func(estimated int) int { return prompt * estimated / max(frame+v.Cost(), 1) }
	g.Window = m.o.Window()
	g.Effective = m.effectiveWindow()
	g.Policy = m.policy()
	g.Reserve = m.reserve()
	g.Used = prompt + g.Reserve
	g.Frame = share(frame)
	g.Head = share(v.HeadCost)
	g.Contexts = share(v.ContextCost())
	g.Verbatim = prompt - g.Frame - g.Head
	return g
}
