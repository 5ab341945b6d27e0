package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// screen writes results to standard output, with colours only on a terminal, and progress to
// standard error, only if that is a terminal.
type screen struct {
	out, err io.Writer
	color    bool
	watched  bool

	mu    sync.Mutex // guards writes to err, last and shown
	last  time.Time
	shown bool // a line of progress is on the screen
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
)

// paint colours text, on a terminal.
func (s *screen) paint(color, text string) string {
	if !s.color || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// progress shows the progress, at most ten times a second.
func (s *screen) progress(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.watched && now.Sub(s.last) > 100*time.Millisecond {
		s.last, s.shown = now, true
		fmt.Fprintf(s.err, "\r\x1b[K%s", fmt.Sprintf(format, args...))
	}
}

// done removes the line of progress.
func (s *screen) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		fmt.Fprint(s.err, "\r\x1b[K")
		s.shown = false
	}
}

// json writes v as JSON.
func (s *screen) json(v any) error {
	enc := json.NewEncoder(s.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// conclude writes a result, as JSON or for people, and returns an error if goals were missed.
func (s *screen) conclude(asJSON bool, r result) error {
	var err error
	switch own, ok := r.(interface{ table() string }); {
	case asJSON:
		err = s.json(r)
	case ok:
		_, err = fmt.Fprint(s.out, own.table())
	default:
		_, err = fmt.Fprint(s.out, s.report(r))
	}
	return errors.Join(err, unmet(r.goals()))
}
