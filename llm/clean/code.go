// Code: nothing in it is a mark.

package clean

import (
	"strings"

	"cairn/internal/lazy"
)

// maxCode limits how far the end of code in a line is looked for, in bytes. Behind that, all is code.
const maxCode = 2048

// callFence matches the language of a block of code that is for calls: of Gemma 3, and of other models that were told so.
var callFence = lazy.Pattern(`^(?:tool_calls?|tool_code|tool_use|function_calls?)[ \t\r]*$`)

// code is what code the end of the text is in.
type code struct {
	inline int    // backticks that opened code in a line; 0: none
	fence  string // that opened a block of code; "": none
}

// open opens a block of code.
func (c *code) open(fence string) {
	c.fence = fence
	c.inline = 0
}

// pass passes backticks, which open or end code in a line, or tildes, which do neither.
func (c *code) pass(ticks string) {
	switch {
	case ticks[0] == '~':
	case c.inline == 0:
		c.inline = len(ticks)
	case c.inline == len(ticks):
		c.inline = 0
	}
}

// closes returns the size of what ends the block of code at the front of a line; 0 if it goes on.
func (c *code) closes(front string, final bool) (size int, more bool) {
	line := strings.TrimLeft(front, " \t")
	pad := len(front) - len(line)
	n := len(line) - len(strings.TrimLeft(line, c.fence[:1]))
	rest := strings.TrimLeft(line[n:], " \t\r")
	switch {
	case !final && rest == "" && (n > 0 || pad > 0) && len(front) < maxMark:
		return 0, true
	case n >= len(c.fence) && (rest == "" || strings.ContainsAny(rest[:1], "\n<[")):
		return pad + n, false
	}
	return 0, false
}

// isAround reports whether a mark is inside code in a line. behind follows the mark. Backticks begin code only if others
// end it in the same paragraph.
func (c *code) isAround(behind string, final bool) (code, more bool) {
	if c.inline == 0 {
		return false, false
	}
	for at := 0; at < min(len(behind), maxCode); {
		switch {
		case strings.HasPrefix(behind[at:], "\n\n"):
			c.inline = 0
			return false, false
		case behind[at] != '`':
			at++
			continue
		}
		n := len(behind[at:]) - len(strings.TrimLeft(behind[at:], "`"))
		if at+n == len(behind) && !final && n < maxCode {
			return false, true
		}
		if n == c.inline {
			return true, false
		}
		at += n
	}
	if len(behind) >= maxCode {
		return true, false
	}
	if final {
		c.inline = 0
	}
	return false, !final
}

// readTicks handles backticks and tildes, which may begin or end code.
func (b *body) readTicks(in *input) step {
	c := in.raw[:1]
	n := len(in.raw) - len(strings.TrimLeft(in.raw, c))
	if n == len(in.raw) && !in.final && n < maxMark {
		return step{verdict: unknown}
	}
	ticks := in.raw[:n]
	if n < 3 || b.text.inLine {
		b.code.pass(ticks)
		b.take(in, n)
		return step{verdict: handled}
	}
	const longest = 100 // bytes of the name of a language, and what follows it
	line, _, ended := strings.Cut(in.raw[n:], "\n")
	if !ended && !in.final && len(line) < longest {
		return step{verdict: unknown}
	}
	if c == "`" && callFence().MatchString(line) {
		if found := b.laterPlain(in, true); found.verdict != nothing {
			return found
		}
	}
	if c == "~" || !strings.Contains(line, "`") {
		b.code.open(ticks)
	} else {
		b.code.pass(ticks)
	}
	b.take(in, n)
	return step{verdict: handled}
}

// readFenced moves a line of a block of code into the text, or the marks that end the block.
func (b *body) readFenced(in *input) step {
	if !b.text.inLine {
		switch size, more := b.code.closes(in.raw, in.final); {
		case more:
			return step{verdict: unknown}
		case size > 0:
			b.take(in, size)
			b.code.fence = ""
			b.text.endSentence()
			return step{verdict: handled}
		}
	}
	end := strings.IndexByte(in.raw, '\n') + 1
	if end == 0 {
		end = len(in.raw)
	}
	b.take(in, end)
	return step{verdict: handled}
}
