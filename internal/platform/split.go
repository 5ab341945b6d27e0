package platform

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Part is a piece of a text with the marks that reopen its code block before it, and close it after
// it.
type Part struct{ Opening, Text, Closing string }

func (p Part) String() string { return p.Opening + p.Text + p.Closing }

// Splitter splits replies into messages: between paragraphs, else lines, else words. A code block
// that is split is closed, and reopened in the same language. Apart from that, and from empty lines
// at the splits, the messages together are the text.
type Splitter struct {
	Limit int            // of a message; at least 300, which leaves room for the longest fence
	Cost  func(rune) int // of a character; nil: its length in UTF-16
}

// Texts returns the parts of a text as people see them; for a blank text, it returns empty.
func (s Splitter) Texts(text, empty string) (all []string) {
	for _, p := range s.Split(text) {
		all = append(all, p.String())
	}
	if len(all) == 0 {
		return []string{empty}
	}
	return all
}

// Split splits a text; a blank one has no parts.
func (s Splitter) Split(text string) (all []Part) {
	text = cutEmptyLines(strings.ToValidUTF8(text, "\uFFFD"))
	for fence := ""; text != ""; {
		var p Part
		if fence != "" {
			p.Opening = fence + "\n"
		}
		end, next := s.fit(text, fence, s.Limit-s.CostOf(p.Opening))
		shows := holds(text[:end], fence)
		if p.Text, text, fence = text[:end], text[end:], next; fence != "" {
			p.Closing = marks(fence)
			if !strings.HasSuffix(p.Text, "\n") {
				p.Closing = "\n" + p.Closing
			}
		} else {
			text = cutEmptyLines(text)
		}
		if shows || len(all) == 0 && text == "" && strings.TrimSpace(p.Text) != "" {
			all = append(all, p)
		}
	}
	return all
}

// cutEmptyLines removes empty lines at the start. The first remaining line keeps its indentation.
func cutEmptyLines(text string) string {
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return text
		}
		text = rest
	}
}

// holds reports whether a text that starts in the code block fence has any content besides the
// starts and ends of code blocks.
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

// fit returns where to split a text that starts in the code block fence, so that the first piece
// takes at most room, including the end of its code block; next is the code block at the split.
func (s Splitter) fit(text, fence string, room int) (end int, next string) {
	used, at, paragraph, begin := 0, 0, 0, fence
	for at < len(text) {
		line := text[at:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		after := fenceAfter(line, fence)
		if used+s.CostOf(line)+closing(after) > room {
			break
		}
		if fence == "" && after != "" && holds(text[:at], begin) {
			paragraph = at // prefer a split before a code block to one inside
		}
		used, at, fence = used+s.CostOf(line), at+len(line), after
		if strings.TrimSpace(line) == "" && fence == "" {
			paragraph = at
		}
	}
	switch {
	case at == len(text):
		return at, ""
	case paragraph*3 > at:
		return paragraph, ""
	case at > 0:
		return at, fence
	}
	return s.inLine(text, room-closing(fence)), fence
}

// inLine returns where to split a line so that at most room units precede: after a space in the
// second half, else anywhere.
func (s Splitter) inLine(line string, room int) int {
	used, end, space := 0, 0, 0
	for i, r := range line {
		size := s.cost(r)
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

// maxFence is the maximum length, in bytes, of a line that starts or ends a code block: it is
// repeated in each message.
const maxFence = 40

// fenceAfter returns the fence of the code block that is open after a line: the line that opened
// it, without what follows the language.
func fenceAfter(line, fence string) string {
	if len(strings.TrimRight(line, "\r\n")) > maxFence {
		return fence
	}
	line = strings.TrimSpace(line)
	m := marks(line)
	info := strings.TrimSpace(line[len(m):])
	switch {
	case m == "":
		return fence
	case fence != "" && info == "" && m[0] == fence[0] && len(m) >= len(marks(fence)):
		return ""
	case fence != "" || strings.Contains(info, "`"):
		return fence
	}
	language, _, _ := strings.Cut(info, " ")
	return m + language
}

// marks returns the run of ` or ~ with which a line opens or closes a code block.
func marks(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// closing returns the cost of ending a code block.
func closing(fence string) int {
	if fence == "" {
		return 0
	}
	return 1 + len(marks(fence))
}

// CostOf returns how much of the limit a text takes.
func (s Splitter) CostOf(text string) (n int) {
	for _, r := range text {
		n += s.cost(r)
	}
	return n
}

func (s Splitter) cost(r rune) int {
	switch {
	case s.Cost != nil:
		return s.Cost(r)
	case r > 0xffff:
		return 2
	}
	return 1
}
