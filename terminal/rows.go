// Rows printed above the screen: they stay there.

package terminal

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"
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

// write prints whole rows above the screen. During a reply they wait for its end and are shown on
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
	e.replying, e.below.unfinished = more, unfinished
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
