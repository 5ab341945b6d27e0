// A verbatim message as the prompt shows it.

package transcript

import (
	"encoding/json"
	"unicode/utf8"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
)

// Verbatim is a message in the form that a View shows. The message is never changed, because other views share it.
type Verbatim struct {
	*chat.Message
	As     Form
	calls  []llm.Call // the shown calls
	result *result    // of a tool's result: the forms in which it may be shown
	short  *Clipped   // of a message that is too long: how much of it is shown
}

// Form is one way to show a message.
type Form struct {
	Text     string // speaker and time included
	Tokens   int    // of the shown message
	Pictures int    // how many of its pictures may be shown, the first ones; none of a form that saves tokens
}

// Clipped describes how much the model sees of a message that is too long.
type Clipped struct {
	chat.Message
	First, Last, All int // characters
}

// Clipped returns how much of the message is shown; nil if all of it is.
func (s Verbatim) Clipped() *Clipped { return s.short }

// shortQuote is how many characters of a quote are shown where a message is too long: a complete one may
// take more than a small window leaves for the message.
const shortQuote = 100

// Show returns m in at most sh.ClipTo tokens: of a larger message it drops pictures, then shrinks
// the arguments of calls, then clips the text in the middle. Message keeps all of it.
func Show(m chat.Message, sh Shape) Verbatim {
	if m.Tokens == 0 {
		m.Tokens = chat.TokensOf(m)
	}
	kept := new(m)
	m.Calls = chat.BrokenCalls(m.Calls)
	head := chat.Header(m)
	text := chat.Escape(m.Body())
	full := head + text
	if text == m.Text {
		kept.Text = full[len(head):] // one copy in memory
	}
	s := Verbatim{Message: kept, As: Form{full, m.Tokens, len(m.Pictures())}, calls: m.Calls}
	if m.Tokens > sh.ClipTo {
		s = s.clipped(m, text, sh.ClipTo)
	}
	s.As.Tokens += costOfReasoning(m)
	if m.Role == llm.RoleTool {
		s.result = resultOf(m, s.As, sh)
	}
	return s
}

// clipped returns the message in at most limit tokens. m is a copy of it, and text its escaped body.
func (s Verbatim) clipped(m chat.Message, text string, limit int) Verbatim {
	if len(m.Calls) > 0 {
		s.calls = shrinkCalls(m.Calls, limit/2)
		m.Calls = s.calls // for its cost; the message itself keeps all of them
	}
	words := chat.ShownTokens(m, s.As.Text)
	s.As.Pictures = min(s.As.Pictures, max(limit-words, 0)/chat.PictureTokens)
	if words > limit {
		m.Quote = chat.Excerpt(m.Quote, shortQuote)
		head := chat.Header(m)
		rest := chat.ShownTokens(m, head)
		// Escape again: clipping may start a line where none started.
		first, mark, last := tokens.Parts(text, max(limit-rest-tokens.PerMessage, 0))
		s.As.Text = head + chat.Escape(first+mark+last)
		if first != text {
			s.short = &Clipped{*s.Message, utf8.RuneCountInString(first), utf8.RuneCountInString(last), utf8.RuneCountInString(text)}
		}
		words = chat.ShownTokens(m, s.As.Text)
	}
	s.As.Tokens = words + s.As.Pictures*chat.PictureTokens
	return s
}

// CostOf returns the tokens of messages.
func CostOf(messages []Verbatim) (cost int) {
	for _, m := range messages {
		cost += m.As.Tokens
	}
	return cost
}

// costOfReasoning returns the cost of m's reasoning while it is sent, in tokens.
func costOfReasoning(m chat.Message) int {
	if len(m.Native) == 0 {
		return 0
	}
	if m.Reasoning > 0 {
		return m.Reasoning
	}
	return tokens.Estimate(string(m.Native))
}

// The arguments of a call can be as long as an answer, and a turn has many steps. So where a
// message is clipped, its calls are too.

// minArguments is the smallest size that a call's arguments are shrunk to, in tokens.
const minArguments = 16

// shrinkCalls returns calls of at most limit tokens together, unless minArguments for each exceeds
// that: arguments that take more than their share are shrunk.
func shrinkCalls(calls []llm.Call, limit int) []llm.Call {
	if chat.CallTokens(calls...) <= limit {
		return calls
	}
	shrunk := make([]llm.Call, len(calls))
	for i, call := range calls {
		shrunk[i] = call
		rest := chat.CallTokens(llm.Call{ID: call.ID, Name: call.Name})
		shrunk[i].Arguments = shrinkArguments(call.Arguments, max(limit/len(calls)-rest, minArguments))
	}
	return shrunk
}

// shrinkArguments returns a JSON object of at most limit tokens: the arguments unchanged, or their
// beginning and end.
func shrinkArguments(arguments string, limit int) string {
	if tokens.Fits(arguments, limit) {
		return arguments
	}
	for room := limit; room >= minArguments/2; room -= max(room/8, 1) {
		shrunk, err := json.Marshal(map[string]string{"clipped": tokens.Clip(arguments, room)})
		if err == nil && tokens.Fits(string(shrunk), limit) { // quotes inside cost more once they are escaped
			return string(shrunk)
		}
	}
	return "{}"
}
