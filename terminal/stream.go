// A reply that appears on the terminal while it is written.
package terminal

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/channel"
)

// stream shows a reply row by row: a row is written when it is full, for the prompt
// stands below it.
type stream struct {
	editor  *editor
	answers int64
	shown   string // the beginning of the text that stands on the terminal
}

// Show writes the rows that are full by now. A text that does not go on from what
// was shown is a new beginning.
func (s *stream) Show(text string) {
	text = printable(text)
	if !strings.HasPrefix(text, s.shown) {
		s.Cancel()
	}
	rows, used := full(text[len(s.shown):], s.editor.width())
	if used == 0 {
		return
	}
	s.shown = text[:len(s.shown)+used]
	_ = s.editor.writeReply(rows, false)
}

// Send writes what is missing of the reply.
func (s *stream) Send(_ context.Context, piece channel.Piece) (string, error) {
	text := printable(piece.Text)
	if channel.IsNotice(piece) {
		return piece.Reply, s.editor.write(s.editor.quiet(text))
	}
	if !strings.HasPrefix(text, s.shown) {
		s.Cancel()
	}
	rest := text[len(s.shown):]
	rows, used := full(rest, s.editor.width())
	if err := s.editor.writeReply(rows+rest[used:]+"\n\n", true); err != nil {
		return "", err
	}
	s.shown = ""
	s.editor.answered(s.answers)
	return piece.Reply, nil
}

// Cancel says that what was shown does not count.
func (s *stream) Cancel() {
	if s.shown != "" {
		_ = s.editor.writeReply(s.editor.quiet("[this answer broke off]"), true)
	}
	s.shown = ""
}

// full returns the full rows that text begins with, each with its end, and how many
// bytes of text they used. Rows end at a newline, else at the last space that fits.
func full(text string, width int) (rows string, used int) {
	var b strings.Builder
	for {
		row, size := nextRow(text[used:], width)
		if size == 0 {
			return b.String(), used
		}
		b.WriteString(row + "\n")
		used += size
	}
}

// nextRow returns the first row of text and its size in bytes with what ends it, or
// 0 if text may go on in the same row.
func nextRow(text string, width int) (row string, size int) {
	columns, space := 0, -1
	for i, r := range text {
		if r == '\n' {
			return text[:i], i + 1
		}
		if columns == width {
			switch {
			case r == ' ':
				return text[:i], i + 1
			case space > 0:
				return text[:space], space + 1
			}
			return text[:i], i
		}
		if r == ' ' {
			space = i
		}
		columns++
	}
	return "", 0
}

// printable is what an answer shows of text: blanks up to a tab's stop, since the line
// editor has none, and its first word at the beginning.
func printable(text string) string {
	text = strings.ReplaceAll(Printable(text), string(utf8.RuneError), "")
	return expandTabs(strings.TrimLeft(text, " \t\n"))
}

// tabStop is how many columns lie between two stops of a tab.
const tabStop = 8

func expandTabs(text string) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	column := 0
	for _, r := range text {
		switch r {
		case '\t':
			blanks := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", blanks))
			column += blanks
			continue
		case '\n':
			column = -1
		}
		b.WriteRune(r)
		column++
	}
	return b.String()
}

// Printable leaves out what could move the cursor, change the terminal or turn around
// the order of letters: what is shown may be what a stranger wrote. Newlines and tabs
// stay.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
			return -1
		}
		return r
	}, text)
}
