// A reply is cut into messages that Discord takes.

package discord

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxContent is the length of a message in UTF-16 units, the strictest reading of
// Discord's "2000 characters" (Message: Create Message).
const maxContent = 2000

// Split cuts a reply into messages: between paragraphs, else lines, else words. A code
// block that is cut is closed, and opened again in the same language. Apart from that,
// and from space where it is cut, the messages together are the text.
func (d *Discord) Split(text string) []string {
	var pieces []string
	for _, p := range parts(text) {
		pieces = append(pieces, strings.TrimRightFunc(p.opening+p.text+p.closing, unicode.IsSpace))
	}
	if len(pieces) == 0 {
		return []string{"…"} // Discord takes no empty message
	}
	return pieces
}

// part is a piece of a text between the marks that open its code block again, and
// those that close it.
type part struct{ opening, text, closing string }

// parts cuts a text.
func parts(text string) (all []part) {
	text = trimLines(strings.ToValidUTF8(text, "\uFFFD"))
	for fence := ""; text != ""; {
		var p part
		if fence != "" {
			p.opening = fence + "\n"
		}
		end, next := fit(text, fence, maxContent-units(p.opening))
		shows := holds(text[:end], fence)
		if p.text, text, fence = text[:end], text[end:], next; fence != "" {
			p.closing = marks(fence)
			if !strings.HasSuffix(p.text, "\n") {
				p.closing = "\n" + p.closing
			}
		} else {
			text = trimLines(text)
		}
		if shows || len(all) == 0 && text == "" && strings.TrimSpace(p.text) != "" {
			all = append(all, p)
		}
	}
	return all
}

// trimLines cuts off empty lines at the begin and space at the end. The first line
// keeps its indentation.
func trimLines(text string) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return text
		}
		text = rest
	}
}

// holds tells whether a text that begins in the code block fence has anything to show
// beside the begins and ends of code blocks.
func holds(text, fence string) bool {
	for line := range strings.Lines(text) {
		after := fenceAfter(line, fence)
		if after == fence && strings.TrimSpace(line) != "" {
			return true
		}
		fence = after
	}
	return false
}

// fit returns where a text, which begins in the code block fence, is best cut so that
// what is before takes at most room with the end of its code block, and in which code
// block the cut is.
func fit(text, fence string, room int) (end int, next string) {
	used, at, paragraph, begin := 0, 0, 0, fence
	for at < len(text) {
		line := text[at:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		after := fenceAfter(line, fence)
		if used+units(line)+closing(after) > room {
			break
		}
		if fence == "" && after != "" && holds(text[:at], begin) {
			paragraph = at // rather before a code block than in it
		}
		used, at, fence = used+units(line), at+len(line), after
		if strings.TrimSpace(line) == "" && fence == "" {
			paragraph = at
		}
	}
	switch {
	case at == len(text):
		return at, ""
	case paragraph*3 > at:
		return paragraph, ""
	case holds(text[:at], begin):
		return at, fence
	}
	return at + inLine(text[at:], room-used-closing(fence)), fence
}

// inLine returns where a line is cut of which room units fit: after a space in the
// second half of that, else where it must.
func inLine(line string, room int) int {
	used, end, space := 0, 0, 0
	for i, r := range line {
		size := units(string(r))
		if used+size > room || r == '\n' {
			break
		}
		used, end = used+size, i+utf8.RuneLen(r)
		if unicode.IsSpace(r) && used > room/2 {
			space = end
		}
	}
	if space > 0 {
		return space
	}
	return end
}

// fenceAfter is the open code block after a line, as the line that opened it, short
// enough to be repeated.
func fenceAfter(line, fence string) string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "```") {
		return fence
	}
	ticks := marks(line)
	word := strings.TrimSpace(line[len(ticks):])
	switch {
	case fence != "" && word == "" && len(ticks) >= len(marks(fence)):
		return ""
	case fence != "" || strings.Contains(word, "`"):
		return fence
	}
	word, _, _ = strings.Cut(word, " ")
	if len(ticks) > 20 || len(word) > 30 {
		return "```"
	}
	return ticks + word
}

// marks is the row of backticks a line begins with, which also ends its code block.
func marks(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, "`"))]
}

// closing is what the end of a code block takes.
func closing(fence string) int {
	if fence == "" {
		return 0
	}
	return 1 + len(marks(fence))
}

// units is the length of a text in UTF-16.
func units(text string) (n int) {
	for _, r := range text {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
