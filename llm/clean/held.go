// What is held back: calls written as text, and blocks, until it is known what they are.

package clean

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/llm"
)

// held is what is held back, with what is known of it.
type held struct {
	text   strings.Builder
	block  string // the name of the block that it may be; "": it may be calls
	marked bool   // it has a mark of calls
	inText bool   // there is text before it
	judged int    // bytes of it at the last look

	calls []llm.Call // that it is, once it is released
}

// read holds the input back. It looks at what is held whenever that has doubled, so that looking stays cheap.
func (h *held) read(in *input) step {
	h.text.WriteString(in.take(len(in.raw)))
	if h.marked || h.text.Len() < 2*h.judged {
		return step{verdict: handled}
	}
	h.judged = h.text.Len()
	text := h.text.String()
	switch {
	case h.block == "" && !in.tools.mayBePlain(text):
		return step{verdict: letGo}
	case h.block != "" && behindBlocks(text, h.block, false) != "":
		return h.release(in)
	}
	return step{verdict: handled}
}

// release decides about what is held back, at the end of the answer or of a block.
func (h *held) release(in *input) step {
	text := h.text.String()
	if h.block == "" {
		return h.releaseCalls(text, &in.request)
	}
	rest := behindBlocks(text, h.block, true)
	switch {
	case rest == "":
		return step{verdict: endAnswer}
	case h.inText:
		return step{verdict: letGo}
	}
	in.putBack(rest)
	return step{verdict: dropHeld}
}

// releaseCalls is release for what may be calls.
func (h *held) releaseCalls(text string, r *request) step {
	mayBeCalls := h.marked || r.tools.mayBePlain(text) // which more of it may have changed since the last look
	if mayBeCalls && h.readCalls(text, r) {
		return step{verdict: callHeld}
	}
	return step{verdict: letGo}
}

// readCalls reads a text as calls, and reports whether it is calls. Behind some text, or before some, only calls of
// offered tools are: anything else may be an example. A call in the prompt is repeated, not made.
func (h *held) readCalls(text string, r *request) bool {
	text = strings.ReplaceAll(text, minimax, "")
	p := parser{rest: text, tools: r.tools, marked: h.marked}
	p.parse()
	if p.marked || isUnfinished(p.rest) {
		p.salvage(text)
	}
	if h.marked && !h.inText && len(p.calls) == 0 && !strings.ContainsFunc(withoutMarks(text), unicode.IsLetter) {
		return true // marks without a call
	}
	behind := strings.TrimSpace(p.rest)
	if p.ended {
		behind = ""
	}
	read := text[:len(text)-len(p.rest)]
	offered := !slices.ContainsFunc(p.calls, func(c llm.Call) bool { return r.tools.tool(c.Name) == nil })
	newLine := strings.Contains(p.rest[:len(p.rest)-len(strings.TrimLeftFunc(p.rest, unicode.IsSpace))], "\n") || isGluedTo(read, p.rest)
	switch {
	case len(p.calls) == 0,
		!h.marked && (!offered || behind != ""),
		h.inText && !offered,
		behind != "" && (!offered || !newLine && !strings.HasSuffix(read, "\n")),
		r.isRepeated(read, p.calls):
		return false
	}
	h.calls = p.calls
	return true
}

// isGluedTo reports whether a remark follows the last token of calls directly, as in answers of LFM2:
// huggingface.co/LiquidAI/LFM2-1.2B, "Tool use".
func isGluedTo(calls, behind string) bool {
	first, _ := utf8.DecodeRuneInString(behind)
	return strings.HasSuffix(calls, "|>") && unicode.IsLetter(first) && !unicode.IsLower(first)
}

// plainCall holds an answer back that begins like a call without special marks, of a tool that is offered.
func plainCall(in *input) step {
	if in.textOnly || !in.tools.mayBePlain(in.raw) {
		return step{verdict: nothing}
	}
	return hold(false, false)
}

// laterCall holds back what begins like a call behind some text.
func (b *body) laterCall(in *input, m mark, next following) step {
	text := &b.text
	if (m.closes || strings.HasSuffix(m.name, "end")) && next.end && !b.mentions.any && (!text.inLine || !unicode.IsSpace(text.last)) {
		return step{verdict: endAnswer} // the mark is of a call that the server has read
	}
	starts := !text.inLine || endsSentence(text.solid) || text.solid == ':' || text.isGlued()
	if in.textOnly || m.closes || next.goesOn() || next.end && !text.inLine || !starts {
		return b.mention(in, m, next)
	}
	return hold(true, true)
}

// maxPlainHeld limits how often something without a mark is held back behind text: it may be all that follows.
const maxPlainHeld = 8

// laterPlain holds back what may be a call without special marks behind some text. What only looks like one at first counts,
// too: that must not depend on the size of pieces.
func (b *body) laterPlain(in *input, mayBe bool) step {
	if in.textOnly || len(in.tools) == 0 || b.code.inline > 0 || b.traits.plainHeld == maxPlainHeld {
		return step{verdict: nothing}
	}
	b.traits.plainHeld++
	if !mayBe {
		return step{verdict: nothing}
	}
	return hold(false, true)
}
