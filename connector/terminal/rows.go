// What is printed above the screen: rows, which stay there, and a reply while it is generated.

package terminal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"cairn/channel"
)

// width returns the usable columns of a row. The last column stays free: Bubble Tea erases the rest
// of each row it prints, including that column.
func (e *editor) width() int {
	width, _, err := term.GetSize(int(e.out.Fd()))
	if err != nil || width < 2 {
		return 80
	}
	return width - 1
}

func (e *editor) markdown(text string) string { return renderMarkdown(text, e.width(), e.color) }

func (e *editor) dimmed(text string) string {
	return styled(dim, wrap(expandTabs(strings.TrimRight(text, "\n")), e.width())) + "\n"
}

var dim = [2]string{"\x1b[2m", "\x1b[22m"}

// below is what the screen shows of the output, in rows.
type below struct {
	unfinished string // the incomplete block of the reply
	queued     string // what waits for the end of the reply
}

// tail returns the last rows of the output, at most limit. They may have been made for a wider terminal: what does not fit is left out, as
// Bubble Tea would, because resized must know what was drawn.
func tail(output below, limit, width int) []string {
	text := strings.Trim(output.unfinished+"\n"+output.queued, "\n")
	if text == "" || limit < 1 {
		return nil
	}
	rows := strings.Split(text, "\n")
	rows = rows[max(len(rows)-limit, 0):]
	for i, row := range rows {
		rows[i] = ansi.Truncate(row, width, "")
	}
	return rows
}

// write prints complete rows above the screen. During a reply they wait for its end and are shown on
// the screen meanwhile: inside the reply they would look like a part of it.
func (e *editor) write(rows string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.replying {
		return e.putLocked(rows)
	}
	e.below.queued += rows
	e.sendLocked(e.below)
	return nil
}

// writeReply prints rows of a reply, and after its last row those that waited for it. The screen shows
// the block that is not finished.
func (e *editor) writeReply(rows, unfinished string, more bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.replying = more
	e.below.unfinished = unfinished
	if !more {
		rows += e.below.queued
		e.below.queued = ""
	}
	err := e.putLocked(rows)
	e.sendLocked(e.below)
	return err
}

// put prints rows above the screen, even during a reply.
func (e *editor) put(rows string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.putLocked(rows)
}

// rowsAtOnce is how many rows are printed above the screen in one step. The screen leaves that many
// rows of the terminal free; otherwise it would be pushed off.
const rowsAtOnce = 4

func (e *editor) putLocked(rows string) error {
	switch {
	case rows == "":
	case e.program == nil:
		if _, err := io.WriteString(e.out, rows); err != nil {
			return fmt.Errorf("write to the terminal: %w", err)
		}
	default:
		for some := range slices.Chunk(strings.Split(strings.TrimSuffix(rows, "\n"), "\n"), rowsAtOnce) {
			e.program.Send(tea.Println(cmp.Or(strings.Join(some, "\n"), " "))()) // Println prints no empty row
		}
	}
	return nil
}

func (e *editor) sendLocked(m tea.Msg) {
	if e.program != nil {
		e.program.Send(m)
	}
}

// stream shows a reply: finished blocks are printed above the input, the incomplete one on the screen.
type stream struct {
	editor  *editor
	printed string // the part of the text that is already printed
}

// Show shows the text so far. A text that does not continue the printed part starts again.
func (s *stream) Show(text string) {
	text = readable(text)
	if !strings.HasPrefix(text, s.printed) {
		s.Cancel()
	}
	done := finishedBlocks(text[len(s.printed):])
	rows := ""
	if block := strings.TrimSpace(text[len(s.printed) : len(s.printed)+done]); block != "" {
		rows = s.editor.markdown(block) + "\n\n"
	}
	s.printed = text[:len(s.printed)+done]
	_ = s.editor.writeReply(rows, s.editor.markdown(text[len(s.printed):]), true)
}

func (s *stream) Send(_ context.Context, piece channel.Piece) (string, error) {
	text := readable(piece.Text)
	if channel.IsNotice(piece) {
		if len(channel.Buttons(piece)) > 0 {
			text += " [y/n]"
		}
		return piece.Reply, s.editor.write(s.editor.dimmed(text))
	}
	if !strings.HasPrefix(text, s.printed) {
		s.Cancel()
	}
	rows := ""
	if rest := strings.TrimRight(text[len(s.printed):], " \t\n"); rest != "" {
		rows = s.editor.markdown(rest) + "\n\n"
	}
	if err := s.editor.writeReply(rows, "", false); err != nil {
		return "", err
	}
	s.printed = ""
	return piece.Reply, nil
}

func (s *stream) Cancel() {
	rows := ""
	if s.printed != "" {
		rows = s.editor.dimmed("[" + s.editor.says("this answer was interrupted") + "]")
	}
	_ = s.editor.writeReply(rows, "", false)
	s.printed = ""
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
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t") // each begins at a stop
		for j, cell := range cells[:len(cells)-1] {
			cells[j] = cell + strings.Repeat(" ", tabStop-lipgloss.Width(cell)%tabStop)
		}
		lines[i] = strings.Join(cells, "")
	}
	return strings.Join(lines, "\n")
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
