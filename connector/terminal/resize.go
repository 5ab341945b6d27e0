// What a terminal does to the drawn screen when it becomes narrower: it breaks long rows in two. Bubble Tea does
// not know that, and would draw the screen again below a part of the old one.

package terminal

import (
	"fmt"
	"os"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// frame is a drawn screen.
type frame struct {
	rows   []string // without styles and trailing blanks
	cursor [2]int   // column and row
}

func frameOf(v tea.View) (f frame) {
	if v.Cursor == nil {
		return f
	}
	for row := range strings.SplitSeq(ansi.Strip(v.Content), "\n") {
		f.rows = append(f.rows, strings.TrimRight(row, " "))
	}
	f.cursor = [2]int{v.Cursor.X, v.Cursor.Y}
	return f
}

// erasure returns what erases the frame on a terminal that has become width columns wide, and leaves the cursor in
// the row where Bubble Tea expects it; "" if no row above the cursor was broken.
func (f frame) erasure(width int) string {
	column := f.cursor[0]
	row := f.cursor[1]
	if row >= len(f.rows) || width < 1 {
		return ""
	}
	above := append([]string{}, f.rows[:row]...)
	above = append(above, ansi.Truncate(f.rows[row], column, ""))
	broken := 0
	for _, text := range above {
		broken += strings.Count(ansi.Hardwrap(text, width, true), "\n")
	}
	if broken == 0 {
		return ""
	}
	erase := fmt.Sprintf("\r\x1b[%dA\x1b[J", broken+row)
	if row > 0 {
		erase += fmt.Sprintf("\x1b[%dB", row)
	}
	return erase
}

// breaksRows reports whether the terminal breaks rows when it becomes narrower, as almost all do. xterm, the
// console of Linux and GNU screen cut them off instead.
func breaksRows() bool {
	return os.Getenv("XTERM_VERSION") == "" && os.Getenv("STY") == "" && os.Getenv("TERM") != "linux"
}

// canvas is the terminal that Bubble Tea draws on.
type canvas struct {
	*os.File
	drawn func() // called when the screen is drawn for the first time, which ends by showing the cursor

	mu            sync.Mutex // guards the fields below
	current, next frame      // what the terminal shows, and what the next write draws
	erase         string     // is written before the next write
}

func (c *canvas) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.erase != "" {
		_, _ = c.File.WriteString(c.erase) // if that fails, the next write fails too
		c.erase = ""
	}
	c.current = c.next
	n, err := c.File.Write(b)
	if err != nil || strings.Contains(string(b), "\x1b[?25h") {
		c.drawn()
	}
	return n, err
}

// draws notes the screen that the next write draws.
func (c *canvas) draws(v tea.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = frameOf(v)
}

// resized prepares the terminal for the screen of its new width, before Bubble Tea draws it.
func (c *canvas) resized(_ tea.Model, m tea.Msg) tea.Msg {
	size, ok := m.(tea.WindowSizeMsg)
	if !ok || !breaksRows() {
		return m
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase = c.current.erasure(size.Width)
	return m
}
