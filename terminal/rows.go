// Rows printed above the screen: they stay there.

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

// write prints whole rows above the screen. During a reply they wait for its end and are shown on
// the screen meanwhile: inside the reply they would look like a part of it.
func (e *editor) write(rows string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.replying {
		return e.putLocked(rows)
	}
	e.queued = append(e.queued, rows)
	e.sendLocked(queuedMsg(strings.Join(e.queued, "")))
	return nil
}

// writeReply prints rows of a reply, and after its last row those that waited for it.
func (e *editor) writeReply(rows string, last bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.putLocked(rows)
	e.replying = !last
	if last {
		err = errors.Join(err, e.putLocked(strings.Join(e.queued, "")))
		e.queued = nil
		e.sendLocked(unfinishedMsg(""))
		e.sendLocked(queuedMsg(""))
	}
	return err
}

func (e *editor) showUnfinished(text string) {
	rows := e.markdown(text)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.replying = true
	e.sendLocked(unfinishedMsg(rows))
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
