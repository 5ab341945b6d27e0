// Rows above the screen: what is said stays there for good.
package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"
)

// width is how many columns a row may have. The last one stays free: what is written
// above the screen has the rest of its row erased, from the last column on.
func (e *editor) width() int {
	width, _, err := term.GetSize(int(e.out.Fd()))
	if err != nil || width < 2 {
		return 80
	}
	return width - 1
}

func (e *editor) wrap(text string) string { return wrap(text, e.width()) }

// markdown is a reply's text in rows. Without colour it stays as it was written.
func (e *editor) markdown(text string) string {
	if !e.color {
		return e.wrap(expandTabs(text))
	}
	return renderMarkdown(text, e.width())
}

// quiet is text in rows that do not draw the eye.
func (e *editor) quiet(text string) string {
	text = e.wrap(expandTabs(strings.TrimRight(text, "\n")))
	if e.color {
		text = styled(dim, text)
	}
	return text + "\n"
}

var dim = [2]string{"\x1b[2m", "\x1b[22m"}

// write shows whole rows above the screen. They wait on it while a reply is being
// written: text in the middle of it would read as a part of it.
func (e *editor) write(rows string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.replying {
		return e.putLocked(rows)
	}
	e.held = append(e.held, rows)
	e.sendLocked(heldMsg(strings.Join(e.held, "")))
	return nil
}

// writeReply shows rows of a reply, and behind its last row what waited for that.
func (e *editor) writeReply(rows string, last bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.putLocked(rows)
	if e.replying = !last; last {
		err = errors.Join(err, e.putLocked(strings.Join(e.held, "")))
		e.held = nil
		e.sendLocked(unfinishedMsg(""))
		e.sendLocked(heldMsg(""))
	}
	return err
}

// showUnfinished shows the block of a reply that is being written.
func (e *editor) showUnfinished(text string) {
	rows := e.markdown(text)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.replying = true
	e.sendLocked(unfinishedMsg(rows))
}

// put shows rows above the screen, whatever is being written.
func (e *editor) put(rows string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.putLocked(rows)
}

// rowsAtOnce is how many rows are put above the screen in one go. The screen leaves the
// terminal room for that many, or they would push it off.
const rowsAtOnce = 4

func (e *editor) putLocked(rows string) error {
	switch {
	case rows == "":
	case e.changing:
		e.late = append(e.late, rows)
	case e.program == nil:
		if _, err := io.WriteString(e.out, rows); err != nil {
			return fmt.Errorf("write to the terminal: %w", err)
		}
	default:
		for some := range slices.Chunk(strings.Split(strings.TrimSuffix(rows, "\n"), "\n"), rowsAtOnce) {
			e.program.Send(tea.Println(cmp.Or(strings.Join(some, "\n"), " "))()) // it prints no empty row
		}
	}
	return nil
}

func (e *editor) sendLocked(m tea.Msg) {
	if e.program != nil && !e.changing {
		e.program.Send(m)
	}
}
