// A reply that is shown while it is generated.

package terminal

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/channel"
)

// stream shows a reply: finished blocks are printed above the input, the incomplete one is shown on the screen.
type stream struct {
	editor *editor
	shown  string // the part of the text that is already printed
}

// Show shows the text so far. A text that does not continue the printed part starts again.
func (s *stream) Show(text string) {
	text = readable(text)
	if !strings.HasPrefix(text, s.shown) {
		s.Cancel()
	}
	done := finishedBlocks(text[len(s.shown):])
	rows := ""
	if block := strings.TrimSpace(text[len(s.shown) : len(s.shown)+done]); block != "" {
		rows = s.editor.markdown(block) + "\n\n"
	}
	s.shown = text[:len(s.shown)+done]
	_ = s.editor.writeReply(rows, s.editor.markdown(text[len(s.shown):]), true)
}

func (s *stream) Send(_ context.Context, piece channel.Piece) (string, error) {
	text := readable(piece.Text)
	if channel.IsNotice(piece) {
		if len(channel.Buttons(piece)) > 0 {
			text += " [y/n]"
		}
		return piece.Reply, s.editor.write(s.editor.dimmed(text))
	}
	if !strings.HasPrefix(text, s.shown) {
		s.Cancel()
	}
	rows := ""
	if rest := strings.TrimRight(text[len(s.shown):], " \t\n"); rest != "" {
		rows = s.editor.markdown(rest) + "\n\n"
	}
	if err := s.editor.writeReply(rows, "", false); err != nil {
		return "", err
	}
	s.shown = ""
	return piece.Reply, nil
}

func (s *stream) Cancel() {
	rows := ""
	if s.shown != "" {
		rows = s.editor.dimmed("[this answer was interrupted]")
	}
	_ = s.editor.writeReply(rows, "", false)
	s.shown = ""
}

// readable returns the printable part of an answer, without leading space.
func readable(text string) string {
	return strings.TrimLeft(strings.ReplaceAll(Printable(text), string(utf8.RuneError), ""), " \t\n")
}

// printable is readable with tabs expanded.
func printable(text string) string { return expandTabs(readable(text)) }

const tabStop = 8

// expandTabs replaces tabs by spaces: the screen does not support them.
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

// Printable removes characters that could move the cursor, change the terminal's state or reverse
// the direction of text: the text may come from a stranger. Newlines and tabs remain.
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
