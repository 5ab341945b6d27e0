// Cutting a reply into messages.

package slack

import (
	"strings"
	"unicode/utf8"
)

// Limits of one message, in UTF-16 units, which are at least as many as characters.
const (
	maxMarkdown = 12_000 // of markdown_text
	maxPlain    = 4_000  // of text, as Slack advises, and of an edit
)

// Split cuts a reply into pieces that Slack takes.
func (s *Slack) Split(text string) []string {
	if s.plain.Load() {
		return split(text, maxPlain, plainCost)
	}
	return split(text, maxMarkdown, markdownCost)
}

// markdownCost is how many units a character may take when it is sent: see quiet.
func markdownCost(r rune) int {
	switch {
	case r == '@' || r == '!':
		return 2
	case r > 0xFFFF:
		return 2
	}
	return 1
}

// plainCost is that of a text that is escaped.
func plainCost(r rune) int {
	switch r {
	case '&':
		return 5
	case '<', '>':
		return 4
	}
	return markdownCost(r)
}

func costOf(text string, cost func(rune) int) (n int) {
	for _, r := range text {
		n += cost(r)
	}
	return n
}

// split cuts a text into pieces that cost at most limit each: after a paragraph, else
// after a line, else after a word. A code block that is cut is closed, and opened
// again in the next piece. Nothing else is added or lost, but for pieces of nothing
// but space.
func split(text string, limit int, cost func(rune) int) []string {
	var pieces []string
	open := "" // the line that opened the code block
	for rest := text; rest != ""; {
		head := ""
		if open != "" {
			head = open + "\n"
		}
		size := len(rest)
		if costOf(head+rest, cost) > limit {
			size = cutAt(rest, limit-costOf(head, cost)-maxFence, cost)
		}
		part := rest[:size]
		rest = rest[size:]
		open = fenceAfter(open, part)
		if strings.TrimSpace(part) == "" {
			continue
		}
		piece := head + part
		if open != "" && rest != "" {
			if !strings.HasSuffix(piece, "\n") {
				piece += "\n"
			}
			piece += marker(open)
		}
		pieces = append(pieces, piece)
	}
	if len(pieces) == 0 { // it is nothing but space
		if costOf(text, cost) > limit {
			text = text[:cutAt(text, limit, cost)]
		}
		return []string{text}
	}
	return pieces
}

// maxFence is the most that closing and opening a code block takes.
const maxFence = 40

// cutAt returns where the first piece of text ends, in bytes.
func cutAt(text string, room int, cost func(rune) int) int {
	end := 0
	for i, r := range text {
		if room -= cost(r); room < 0 {
			break
		}
		end = i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, width := utf8.DecodeRuneInString(text[i:])
			end = i + width
		}
	}
	for _, sep := range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(text[:end], sep); i+len(sep) > end/2 {
			return i + len(sep)
		}
	}
	return end
}

// fenceAfter returns the line that opened the code block in which a text ends, given
// that of the one in which it begins; empty: none.
func fenceAfter(open, text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		m := marker(line)
		switch {
		case m == "":
		case open == "" && !strings.Contains(line[len(m):], "`"):
			open = shortFence(line, m)
		case open != "" && m[0] == open[0] && len(m) >= len(marker(open)) && line == m:
			open = ""
		}
	}
	return open
}

// shortFence is a line that opens a code block, as far as it is worth repeating.
func shortFence(line, m string) string {
	m = m[:min(len(m), maxFence/4)]
	language, _, _ := strings.Cut(strings.TrimSpace(strings.TrimLeft(line, m[:1])), " ")
	if len(language) > maxFence/4 {
		language = ""
	}
	return m + language
}

// marker is the run of ` or ~ with which a line opens or closes a code block.
func marker(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}
