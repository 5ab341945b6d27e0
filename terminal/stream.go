// A reply that appears on the terminal while it is written.
package terminal

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/channel"
)

// stream shows a reply: finished blocks appear above the line that is typed for
// good, the one that is being written changes until it is.
type stream struct {
	editor  *editor
	answers int64
	shown   string // the beginning of the text, which stays on the terminal
}

// Show shows the text so far. A text that does not continue what was shown is a new
// beginning.
func (s *stream) Show(text string) {
	text = readable(text)
	if !strings.HasPrefix(text, s.shown) {
		s.Cancel()
	}
	done := finishedBlocks(text[len(s.shown):])
	if block := strings.TrimSpace(text[len(s.shown) : len(s.shown)+done]); block != "" {
		_ = s.editor.writeReply(s.editor.markdown(block)+"\n\n", false)
	}
	s.shown = text[:len(s.shown)+done]
	s.editor.showUnfinished(text[len(s.shown):])
}

// Send writes what is missing of the reply.
func (s *stream) Send(_ context.Context, piece channel.Piece) (string, error) {
	text := readable(piece.Text)
	if channel.IsNotice(piece) {
		if buttons := channel.Buttons(piece); len(buttons) == 2 {
			s.editor.asked.Store(&buttons)
			text += " [y/n]"
		}
		return piece.Reply, s.editor.write(s.editor.quiet(text))
	}
	if !strings.HasPrefix(text, s.shown) {
		s.Cancel()
	}
	rows := ""
	if rest := strings.TrimRight(text[len(s.shown):], " \t\n"); rest != "" {
		rows = s.editor.markdown(rest) + "\n\n"
	}
	s.editor.answered(s.answers)
	if err := s.editor.writeReply(rows, true); err != nil {
		return "", err
	}
	s.shown = ""
	return piece.Reply, nil
}

// Cancel says that what was shown does not count.
func (s *stream) Cancel() {
	rows := ""
	if s.shown != "" {
		rows = s.editor.quiet("[this answer broke off]")
	}
	_ = s.editor.writeReply(rows, true)
	s.shown = ""
}

// readable is what an answer shows of text, from its first word on.
func readable(text string) string {
	return strings.TrimLeft(strings.ReplaceAll(Printable(text), string(utf8.RuneError), ""), " \t\n")
}

// printable is readable with blanks for tabs.
func printable(text string) string { return expandTabs(readable(text)) }

// tabStop is how many columns lie between two stops of a tab.
const tabStop = 8

// expandTabs puts blanks up to its stop in the place of each tab: the screen has none.
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
