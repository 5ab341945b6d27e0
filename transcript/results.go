// Old tool results are cleared from the view in batches. Which ones follows from one stored number,
// ClearedTo: of the results up to it the newest stay, the others become a placeholder. So nothing
// changes while that number stays the same.

package transcript

import (
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
)

// result is a tool's result in the forms that the view may show. They are built once, so that
// choosing among them costs nothing.
type result struct {
	full    Form // complete, clipped if it is huge
	brief   Form // its first and last lines
	cleared Form // the placeholder
}

// resultOf builds the forms of m's result. A form that would not be smaller than the one before
// equals it.
func resultOf(m chat.Message, full Form, sh Shape) *result {
	r := &result{full: full, brief: full}
	smaller := func(than Form, text string) Form {
		if tokens := chat.ShownTokens(m, text); tokens < than.Tokens {
			return Form{text, tokens, 0}
		}
		return than
	}
	r.brief = smaller(full, firstAndLastLines(full.Text, sh.ResultMaxLines))
	r.cleared = r.brief
	if len(full.Text) >= sh.ResultMinChars && !slices.Contains(chat.MemoryTools, m.Tool) {
		r.cleared = smaller(r.brief, clearedText(m.Tool, m.Seq, full.Text))
	}
	return r
}

// clearResults sets the form of each tool result: those after clearedTo and the newest one up to it
// are whole, the next kept-1 are brief, the others are cleared. It returns the change in
// tokens.
func clearResults(messages []Verbatim, clearedTo int64, kept int) (grown int) {
	n := 0
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.result == nil {
			continue
		}
		form := m.result.full
		if m.Seq <= clearedTo {
			switch {
			case n == 0:
			case n < kept:
				form = m.result.brief
			default:
				form = m.result.cleared
			}
			n++
		}
		grown += form.Tokens - m.As.Tokens
		m.As = form
	}
	return grown
}

// clearedText returns the text that replaces a cleared result. It contains the number, so that
// expand can show the result. A failure keeps its first line: the model should not try the same
// again.
func clearedText(tool string, seq int64, text string) string {
	mark := fmt.Sprintf("[Previous: used %s (#%d)]", chat.CleanLine(tool, 64), seq)
	if first, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "Error: ") {
		return mark + " " + tokens.Clip(first, 60)
	}
	return mark
}

// firstAndLastLines keeps the first and last lines of a long output, at most limit lines in all.
func firstAndLastLines(text string, limit int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= limit {
		return text
	}
	head := (limit + 1) / 2
	tail := limit - head
	mark := fmt.Sprintf("[… %d lines left out …]", len(lines)-limit)
	short := slices.Concat(lines[:head], []string{mark}, lines[len(lines)-tail:])
	return strings.Join(short, "\n")
}

// LastResult returns the seq of the newest verbatim tool result that is at most upTo; 0 if there is none.
func (v View) LastResult(upTo int64) int64 {
	for i := len(v.Messages) - 1; i >= 0; i-- {
		if v.Messages[i].Role == llm.RoleTool && v.Messages[i].Seq <= upTo {
			return v.Messages[i].Seq
		}
	}
	return 0
}

// ClearsTo returns the seq up to which to clear results, of those up to stored, if that frees at least want tokens;
// else 0. What the running turn had to clear is cleared in any case.
func (v View) ClearsTo(stored int64, want int) int64 {
	to := int64(0)
	if v.newestResult > v.Head.ClearedTo {
		to = v.LastResult(stored)
	}
	if to <= v.Head.ClearedTo {
		return 0
	}
	if v.clearedTo != v.Head.ClearedTo {
		return to
	}
	results := 0
	for _, m := range slices.Backward(v.Messages) {
		if m.result == nil {
			continue
		}
		results++
		if results > v.Shape.ResultsKept && m.Seq > v.Head.ClearedTo {
			want -= m.As.Tokens - m.result.cleared.Tokens
		}
	}
	if want > 0 {
		return 0
	}
	return to
}

// Clear shows tool results up to seq cleared, and the others in full.
func (v View) Clear(seq int64) View {
	last := max(v.clearedTo, seq)
	v.clearedTo = seq
	if v.LastResult(last) == 0 {
		return v
	}
	v.Messages = slices.Clone(v.Messages)
	v.MessageCost += clearResults(v.Messages, seq, v.Shape.ResultsKept)
	return v
}

// ClearRunning clears all tool results, those of the running turn included. Until the turn ends it also shows the
// messages of the bot and its tools in at most limit tokens each.
func (v View) ClearRunning(limit int) View {
	v.clearedTo = v.Next - 1
	return v.rework(limit, false)
}

// rework shows tool results and the bot's messages and calls in at most limit tokens each; 0: as
// the shape says. peoples: also people's messages, in the current shape.
func (v View) rework(limit int, peoples bool) View {
	sh := v.Shape
	v.squeezed = limit > 0 && limit < sh.ClipTo
	if limit > 0 {
		sh.ClipTo = min(sh.ClipTo, limit)
	}
	messages := slices.Clone(v.Messages)
	for i, m := range messages {
		if peoples || m.Role != llm.RoleUser {
			messages[i] = Show(*m.Message, sh)
		}
	}
	return v.showing(messages)
}
