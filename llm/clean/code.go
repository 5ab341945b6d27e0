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

// ticks handles backticks and tildes, which may begin or end code.
func (f *Filter) ticks(final bool) bool {
	c := f.raw[:1]
	n := len(f.raw) - len(strings.TrimLeft(f.raw, c))
	if n == len(f.raw) && !final && n < maxMark {
		return false
	}
	if n >= 3 && !f.inLine {
		const longest = 100 // bytes of the name of a language, and what follows it
		line, _, whole := strings.Cut(f.raw[n:], "\n")
		if !whole && !final && len(line) < longest {
			return false
		}
		if c == "`" && callFence().MatchString(line) && f.laterPlain(true) {
			return true
		}
		if c == "~" || !strings.Contains(line, "`") {
			f.fence = f.raw[:n]
			f.inline = 0
			f.take(n)
			return true
		}
	}
	switch {
	case c == "~":
	case f.inline == 0:
		f.inline = n
	case f.inline == n:
		f.inline = 0
	}
	f.take(n)
	return true
}

// fenced moves a line of a block of code into the text, or the marks that end the block.
func (f *Filter) fenced(final bool) bool {
	if !f.inLine {
		line := strings.TrimLeft(f.raw, " \t")
		pad := len(f.raw) - len(line)
		n := len(line) - len(strings.TrimLeft(line, f.fence[:1]))
		rest := strings.TrimLeft(line[n:], " \t\r")
		switch {
		case !final && rest == "" && (n > 0 || pad > 0) && len(f.raw) < maxMark:
			return false
		case n >= len(f.fence) && (rest == "" || strings.ContainsAny(rest[:1], "\n<[")):
			f.take(pad + n)
			f.fence = ""
			f.solid = '.'
			f.last = '.' // as behind a sentence
			return true
		}
	}
	end := strings.IndexByte(f.raw, '\n') + 1
	if end == 0 {
		end = len(f.raw)
	}
	f.take(end)
	return true
}

// isCode reports whether a mark at the front of raw is inside code in a line, or in an indented line of code. Backticks
// begin code only if others end it in the same paragraph.
func (f *Filter) isCode(m mark, final bool) (code, more bool) {
	if f.isIndented() {
		return true, false
	}
	if f.inline == 0 {
		return false, false
	}
	rest := f.raw[m.size:]
	for at := 0; at < min(len(rest), maxCode); {
		switch {
		case strings.HasPrefix(rest[at:], "\n\n"):
			f.inline = 0
			return false, false
		case rest[at] != '`':
			at++
			continue
		}
		n := len(rest[at:]) - len(strings.TrimLeft(rest[at:], "`"))
		if at+n == len(rest) && !final && n < maxCode {
			return false, true
		}
		if n == f.inline {
			return true, false
		}
		at += n
	}
	if len(rest) >= maxCode {
		return true, false
	}
	if final {
		f.inline = 0
	}
	return false, !final
}
