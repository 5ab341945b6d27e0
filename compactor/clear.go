package compactor

import (
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
)

// Old tool results are cleared from the view in batches. Which ones follows from one stored number,
// clearedTo: of the results up to it the newest stay, the others become a placeholder. So nothing
// changes while that number stays the same.

// result is a tool's result in the forms that the view may show. They are built once, so that
// choosing among them costs nothing.
type result struct {
	whole form // complete, clipped if it is huge
	brief form // its first and last lines
	gone  form // the placeholder
}

type form struct {
	text   string
	tokens int
}

// resultOf builds the forms of m's result. A form that would not be smaller than the one before
// equals it.
func resultOf(m chat.Message, whole form, sh shape) *result {
	r := &result{whole: whole, brief: whole}
	smaller := func(than form, text string) form {
		if tokens := chat.ShownTokens(m, text); tokens < than.tokens {
			return form{text, tokens}
		}
		return than
	}
	r.brief = smaller(whole, shorten(whole.text, sh.maxLines))
	r.gone = r.brief
	if len(whole.text) >= sh.minChars && !slices.Contains(chat.MemoryTools, m.Tool) {
		r.gone = smaller(r.brief, placeholder(m.Tool, m.Seq, whole.text))
	}
	return r
}

// clearResults sets the form of each tool result: those after clearedTo and the newest one up to it
// are whole, the next kept-1 are shortened, the others are cleared. It returns the change in
// tokens.
func clearResults(lines []line, clearedTo int64, kept int) (grown int) {
	n := 0
	for i := len(lines) - 1; i >= 0; i-- {
		l := &lines[i]
		if l.result == nil {
			continue
		}
		shown := l.result.whole
		if l.Seq <= clearedTo {
			switch {
			case n == 0:
			case n < kept:
				shown = l.result.brief
			default:
				shown = l.result.gone
			}
			n++
		}
		grown += shown.tokens - l.tokens
		l.text, l.tokens = shown.text, shown.tokens
	}
	return grown
}

// placeholder returns the text that replaces a cleared result. It contains the number, so that
// expand can show the result. A failure keeps its first line: the model should not try the same
// again.
func placeholder(tool string, seq int64, text string) string {
	mark := fmt.Sprintf("[Previous: used %s (#%d)]", chat.CleanLine(tool, 64), seq)
	if first, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "Error: ") {
		return mark + " " + tokens.Clip(first, 60)
	}
	return mark
}

// shorten keeps the first and last lines of a long output, most lines in all.
func shorten(text string, most int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= most {
		return text
	}
	head := (most + 1) / 2
	tail := most - head
	short := slices.Concat(lines[:head], []string{fmt.Sprintf("[… %d lines left out …]", len(lines)-most)}, lines[len(lines)-tail:])
	return strings.Join(short, "\n")
}

// lastResult returns the seq of the newest tool result of lines, at most upTo; 0 if there is none.
func lastResult(lines []line, upTo int64) int64 {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i].Role == llm.RoleTool && lines[i].Seq <= upTo {
			return lines[i].Seq
		}
	}
	return 0
}
