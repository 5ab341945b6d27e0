// A splitter makes messages of a reply.

package platform

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Splitter splits replies into messages: between paragraphs, else lines, else words. A code block is closed and reopened with
// its language; so are marks such as those of bold text, and quotes. Links are not split. Apart from these fences and marks, and
// from space at the splits, the messages add up to the text.
type Splitter struct {
	Limit int            // the maximum that a message may cost; at least 300, which leaves room for the longest fence
	Cost  func(rune) int // cost of a character; nil: its length in UTF-16

	Spoilers bool // || hides text, as on Discord
}

// Texts splits a text; for a blank one it returns just empty.
func (s Splitter) Texts(text, empty string) (all []string) {
	text = cutEmptyLines(s.moveLongInfo(strings.ToValidUTF8(text, "\uFFFD")))
	spans := s.inlineSpans(text)
	fence := ""
	resume := "" // what is open at the start of the rest: a code block, or a quote and marks that are opened again
	for at := 0; at < len(text); {
		opening := resume
		if fence != "" {
			opening = fence + "\n"
		}
		c := s.cut(text, at, fence, spans, s.Limit-s.CostOf(opening))
		part := text[at:c.end]
		closing := c.closing
		visible := hasContent(part, fence)
		fence = c.fence
		if fence != "" {
			closing = fenceMarks(fence)
			if !strings.HasSuffix(part, "\n") {
				closing = "\n" + closing
			}
		}
		last := c.next + len(text[c.next:]) - len(cutEmptyLines(text[c.next:]))
		if fence == "" {
			resume = c.resume
			at = last
		} else {
			resume = ""
			at = c.next
		}
		if visible || len(all) == 0 && at == len(text) && strings.TrimSpace(part) != "" {
			if c.closing != "" {
				part = strings.TrimRightFunc(part, unicode.IsSpace)
			}
			all = append(all, opening+part+closing)
		}
	}
	if len(all) == 0 {
		return []string{empty}
	}
	return all
}

// Fit returns a text that costs at most Limit: the longest lines are shortened and, if need be, the end is left out.
func (s Splitter) Fit(text string) string {
	for limit := s.Limit; s.CostOf(text) > s.Limit && limit > 20; limit = limit * 3 / 4 {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = Short(line, limit)
		}
		text = strings.Join(lines, "\n")
	}
	return s.Texts(text, "")[0]
}

// cutEmptyLines removes empty lines at the start. The first line that is left keeps its indentation.
func cutEmptyLines(text string) string {
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return text
		}
		text = rest
	}
}

// hasContent reports whether a text that starts in the code block of a fence, if any, has more than blank lines and fences.
func hasContent(text, fence string) bool {
	for line := range strings.Lines(text) {
		after := fenceAfter(line, fence)
		if after == fence && strings.TrimSpace(line) != "" {
			return true
		}
		fence = after
	}
	return false
}

// fit returns where to split a text so that the first piece costs at most room, including the end of its code block. fence is
// that of the code block in which the text starts, next that of the one in which it is split; empty if there is none.
func (s Splitter) fit(text, fence string, room int) (end int, next string) {
	used := 0
	at := 0
	paragraph := 0
	initial := fence
	for at < len(text) {
		line := text[at:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		after := fenceAfter(line, fence)
		if used+s.CostOf(line)+closingCost(after) > room {
			break
		}
		if fence == "" && after != "" && hasContent(text[:at], initial) {
			paragraph = at // prefer a split before a code block to one inside
		}
		used = used + s.CostOf(line)
		at = at + len(line)
		fence = after
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
	return s.splitLine(text, room-closingCost(fence)), fence
}

// splitLine returns where to split a line so that the first part costs at most room: in the second half after a space, or after a
// sentence of a script without spaces; else before a letter, with its accents, or an emoji, with all its parts.
func (s Splitter) splitLine(line string, room int) int {
	used := 0
	end := 0
	gap := 0
	for i, r := range line {
		size := s.cost(r)
		if used+size > room || r == '\n' {
			break
		}
		used = used + size
		end = i + utf8.RuneLen(r)
		if (unicode.IsSpace(r) || strings.ContainsRune("。！？", r)) && used > room/2 {
			gap = end
		}
	}
	if gap > 0 {
		return gap
	}
	_, size := utf8.DecodeRuneInString(line[end:])
	letter := "" // the one that the character at end belongs to, up to that character
	for rest, state := line[:end+size], -1; rest != ""; {
		letter, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
	}
	return cmp.Or(end+size-len(letter), end) // end if the line begins with a letter that is too long
}

const (
	maxFenceLine = 200 // bytes of a line that counts as the start or the end of a code block
	maxFence     = 40  // bytes of its start that are repeated in each message: the marks and the language
)

// fenceAfter returns the fence of the code block that is open after a line: the line that opened it, up to the language.
func fenceAfter(line, fence string) string {
	line = strings.TrimSpace(line)
	m := fenceMarks(line)
	info := strings.TrimSpace(line[len(m):])
	switch {
	case m == "", len(m) > maxFence, len(line) > maxFenceLine:
		return fence
	case fence != "" && info == "" && m[0] == fence[0] && len(m) >= len(fenceMarks(fence)):
		return ""
	case fence != "" || strings.Contains(info, "`"):
		return fence
	}
	if language, _, _ := strings.Cut(info, " "); len(m)+len(language) <= maxFence {
		return m + language
	}
	return m
}

// moveLongInfo moves what follows the language in a long first line of a code block to the next line. Such a line could
// fill a message, and its code block would begin in another one.
func (s Splitter) moveLongInfo(text string) string {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return text
	}
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		m := fenceMarks(trimmed)
		info := strings.TrimSpace(trimmed[len(m):])
		long := len(trimmed) > maxFenceLine || s.CostOf(line) > s.Limit/4
		if fence == "" && m != "" && len(m) <= maxFence && long && !strings.Contains(info, "`") {
			if language, more, _ := strings.Cut(info, " "); len(m)+len(language) <= maxFence {
				b.WriteString(m + language + "\n")
				line = strings.TrimLeft(more, " ")
			} else {
				b.WriteString(m + "\n")
				line = info
			}
			b.WriteString(line + "\n")
			fence = m
			continue
		}
		fence = fenceAfter(line, fence)
		b.WriteString(line)
	}
	return b.String()
}

// fenceMarks returns the run of three or more ` or ~ with which a line opens or closes a code block.
func fenceMarks(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

func closingCost(fence string) int {
	if fence == "" {
		return 0
	}
	return 1 + len(fenceMarks(fence))
}

// CostOf returns how much of the limit a text uses.
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
