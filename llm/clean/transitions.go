// What a Filter does after each step: it hands the input from one reader to the next.

package clean

import "strings"

// do does what a step says.
func (f *Filter) do(found step) {
	switch found.verdict {
	case beginAnswer:
		f.beginAnswer()
	case endAnswer:
		f.endAnswer()
	case beginThought:
		f.thought = found.thought
		f.mode = inThought
	case endThought:
		f.endThought()
	case callThought:
		f.Calls = f.thought.calls
		f.Reasoned = f.Reasoned || f.thought.isMore
		f.thought = nil
		f.endAnswer()
	case keepThought:
		f.keepThought()
	case holdBack:
		f.holdBack(found.held)
	case letGo:
		f.letGo()
	case callHeld:
		f.Calls = f.held.calls
		f.endAnswer()
	case dropHeld:
		f.held = nil
		f.opening.stripped = true
		f.mode = atStart
	case takeBack:
		f.takeBack(found.held)
	}
}

// beginAnswer passes what is known of the answer from the opening to the body.
func (f *Filter) beginAnswer() {
	f.mode = inBody
	f.body.traits = f.opening.traits
	f.body.text.put(f.opening.takeLead())
}

// endAnswer drops the rest of the answer.
func (f *Filter) endAnswer() {
	f.cut = true
	f.mode = inBody
	f.in.raw = ""
}

// holdBack holds back all that follows.
func (f *Filter) holdBack(what *held) {
	f.held = what
	f.mode = inHeld
}

// endThought drops the thought. What is behind it begins the answer, or goes on with it.
func (f *Filter) endThought() {
	over := f.thought
	f.thought = nil
	f.callInThought = over.call.String()
	f.Reasoned = true
	if over.inBody {
		f.mode = inBody
		f.body.traits.reasoned = true
		f.body.gap = true
		return
	}
	f.mode = atStart
	f.opening.traits.reasoned = true
	f.opening.stripped = true
}

// keepThought makes text of what seemed to be a thought.
func (f *Filter) keepThought() {
	was := f.thought
	f.thought = nil
	if !was.inBody {
		f.beginAnswer()
	}
	f.mode = inBody
	f.body.keepThought(&f.in, was)
}

// letGo makes text of what was held back.
func (f *Filter) letGo() {
	was := f.held
	f.held = nil
	f.in.textOnly = f.in.textOnly || was.marked
	if !was.inText {
		f.beginAnswer()
	}
	f.mode = inBody
	f.body.keepHeld(&f.in, was)
}

// takeBack drops the text: it was a thought without a mark at its beginning. behind is held back behind it; nil: nothing is.
func (f *Filter) takeBack(behind *held) {
	text := &f.body.text
	f.Reasoned = f.Reasoned || text.out.Len() > 0
	f.TakenBack = f.TakenBack || text.returned > 0
	traits := f.body.traits
	traits.reasoned = f.Reasoned
	f.body = body{}
	f.opening = opening{traits: traits, stripped: true}
	f.mode = atStart
	if behind != nil {
		f.holdBack(behind)
	}
}

// readCallInThought reads the calls with which the last thought ends, if the answer is nothing else. vLLM, too, ends the
// thought there (vllm/reasoning/kimi_k2_reasoning_parser.py).
func (f *Filter) readCallInThought() {
	text := f.body.text.out.String()
	if !f.in.textOnly && len(f.Calls) == 0 && strings.TrimSpace(text) == "" {
		f.Calls = callsInThought(f.callInThought, &f.in.request)
	}
}
