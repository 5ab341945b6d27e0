package compactor

import (
	"cmp"
	"time"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/transcript"
)

// lastRequest describes the last request.
type lastRequest struct {
	rendering transcript.Rendering
	viewed    int       // the revision of its view
	at        time.Time // which determines the age of the provider's cache
	measured
}

// measured is the size of the last request, until sent has returned it.
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

// next returns the request for a view.
func (r *lastRequest) next(system string, v view, m meter, now time.Time) Prompt {
	r.at = now
	r.viewed = v.Revision
	r.measure(v, m)
	messages := r.rendering.Next(system, v.View)
	return Prompt{
		Messages: messages, Head: r.rendering.HeadLen(), MaxTokens: r.answer,
		Estimate: r.estimate, Revision: v.Revision, Spare: max(r.spare, 1),
	}
}

// For returns the prompt as another model gets it, which has that window, and factor real tokens per estimated one. ok is false if it
// does not fit there together with a reply of up to maxOutput tokens.
func (p Prompt) For(window, maxOutput int, factor float64) (_ Prompt, ok bool) {
	words := int(float64(p.Estimate) * factor)
	left := window - words - tokens.Uncertainty(words) - Reserve(maxOutput, window)
	p.MaxTokens = Reserve(maxOutput, window)
	p.Spare = max(left, 1)
	return p, left >= 0
}

func (r *lastRequest) measure(v view, m meter) {
	estimate := m.estimate(v)
	uncertain := tokens.Uncertainty(m.real(max(estimate-v.Counted.Estimate, 0))) // of what no provider has counted
	answer := m.maxTokens(v)
	r.measured = measured{
		revision: v.Revision, estimate: estimate, reserve: m.reserve(), answer: answer,
		spare: m.o.Window() - m.prompt(v) - answer - uncertain,
	}
	_, r.context, _ = v.RunningContext()
	for _, m := range v.Messages {
		r.pictures += m.As.Pictures * chat.PictureTokens
	}
}

// reported takes the provider's count and returns the tokens of the prompt; ok is false for a count of 0, or one that
// cannot include the whole prompt, or one that no window could hold. It updates the model's factor.
func (r *lastRequest) reported(u llm.Usage, m meter) (prompt int, ok bool) {
	words := r.estimate - r.pictures
	prompt = u.Prompt
	if prompt*minCountedPart < words {
		prompt += u.Cached + u.Written // few providers report them separately
	}
	if prompt <= 0 || prompt*minCountedPart < words || prompt > max(m.o.Window(), maxCountedPart*r.estimate) {
		return 0, false
	}
	if r.pictures == 0 && words >= minSample {
		m.o.Learned().Counted(words, prompt)
	}
	r.counted = prompt
	return prompt, true
}

const (
	// minCountedPart: at least half of the estimate must have been counted. Less is a part of the prompt,
	// or one that the server has truncated silently.
	minCountedPart = 2

	// maxCountedPart: a count above the window is believed up to this multiple of the estimate. More
	// is the sum of many requests, or a bug of the server; it would hide half of the conversation.
	maxCountedPart = 4

	// minSample is the smallest estimate, in tokens, from which the factor is learned: in a shorter
	// prompt what the server adds weighs too much.
	minSample = 400
)

// sent returns the size of the last request, once; the zero value if there was none since the last call.
func (r *lastRequest) sent(m meter) (s Sent) {
	if r.estimate == 0 {
		return s
	}
	s = Sent{Window: m.o.Window(), Counted: r.counted, Estimated: r.estimate, Context: r.context, Factor: m.o.Learned().Factor()}
	s.Used = cmp.Or(s.Counted, m.real(s.Estimated)) + r.reserve
	r.measured = measured{}
	return s
}

// Reported receives the provider's count for the last Request, sent with the tools of Options. The
// count becomes the anchor, unless the view has changed since, and updates the model's factor. A
// count of 0, or one that cannot include the whole prompt, is ignored, and so is one that no
// window could hold.
func (w *contextWindow) Reported(u llm.Usage) {
	prompt, ok := w.lastRequest.reported(u, w.meter)
	if ok {
		w.view.counted(w.lastRequest.revision, transcript.Count{Prompt: prompt, Estimate: w.lastRequest.estimate, Model: w.meter.o.Model})
	}
}

// Count returns the current anchor, to be stored with the turn, so that every Status shows one
// number, also after a restart and in a second process.
func (w *contextWindow) Count() transcript.Count { return w.view.Counted }

// Sent returns the last Request, once; the zero value if there was none since the last call.
func (w *contextWindow) Sent() Sent { return w.lastRequest.sent(w.meter) }

// ReasoningOf returns the cost of m's reasoning, in estimated tokens, if the provider counted
// completion tokens for all of m; 0 if it counted none.
func (w *contextWindow) ReasoningOf(m chat.Message, completion int) int {
	return w.meter.reasoningOf(m, completion)
}
