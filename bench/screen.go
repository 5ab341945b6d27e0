package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is where results and progress go: results to standard output, coloured for a
// person alone; progress to standard error, and only where somebody watches it.
type screen struct {
	out, err io.Writer
	color    bool
	watched  bool

	mu    sync.Mutex // guards what is written to err, and last
	last  time.Time
	shown bool // a line of progress stands there
}

func screenOf(out, err io.Writer) *screen {
	return &screen{out: out, err: err, color: isTerminal(out) && os.Getenv("NO_COLOR") == "", watched: isTerminal(err)}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

// paint colours text, on a terminal.
func (s *screen) paint(color, text string) string {
	if !s.color || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// progress shows how far the work is, at most ten times a second.
func (s *screen) progress(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.watched && now.Sub(s.last) > 100*time.Millisecond {
		s.last, s.shown = now, true
		fmt.Fprintf(s.err, "\r\x1b[K%s", fmt.Sprintf(format, args...))
	}
}

// done takes the progress away.
func (s *screen) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		fmt.Fprint(s.err, "\r\x1b[K")
		s.shown = false
	}
}

// json writes v for a program.
func (s *screen) json(v any) error {
	enc := json.NewEncoder(s.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// conclude writes a result, as JSON or as people read it, and returns an error for goals
// that were missed.
func (s *screen) conclude(asJSON bool, r result) error {
	var err error
	if asJSON {
		err = s.json(r)
	} else {
		_, err = fmt.Fprint(s.out, r.table(s))
	}
	return errors.Join(err, unmet(r.goals()))
}

// bar is as long as value is of most, width characters at most, in eighths.
func bar(value, most float64, width int) string {
	if most <= 0 || value <= 0 {
		return ""
	}
	eighths := int(math.Round(min(value/most, 1) * float64(width*8)))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}

// grid is a table. Its first row is the heading; a column is as wide as its widest cell.
type grid struct {
	rows   [][]string
	colors map[int]string // of rows, by their number
}

func newGrid(heading ...string) *grid {
	return &grid{rows: [][]string{heading}, colors: map[int]string{0: dim}}
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// paint colours the row that was added last.
func (g *grid) paint(color string) { g.colors[len(g.rows)-1] = color }

func (g *grid) text(s *screen) string {
	width, number := map[int]int{}, map[int]bool{}
	for n, row := range g.rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
			number[i] = number[i] || n > 0 && i > 0 && cell != "" && strings.ContainsRune("-0123456789", rune(cell[0]))
		}
	}
	var b strings.Builder
	for n, row := range g.rows {
		line := ""
		for i, cell := range row {
			pad := left
			if number[i] {
				pad = right
			}
			line += pad(cell, width[i]) + "  "
		}
		b.WriteString(s.paint(g.colors[n], strings.TrimRight(line, " ")) + "\n")
	}
	return b.String()
}

// left and right pad text to width characters.
func left(text string, width int) string {
	return text + strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
}

func right(text string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0)) + text
}

// thousands writes n with a narrow gap between its groups: "2 517".
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
