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

// screen writes results to standard output, and progress to standard error if that is a terminal.
type screen struct {
	out, err io.Writer
	watched  bool // err is a terminal

	mu    sync.Mutex // guards writes to err, last and shown
	last  time.Time
	shown bool // a line of progress is on the screen
}

func screenOf(out, err io.Writer) *screen {
	file, ok := err.(*os.File)
	return &screen{out: out, err: err, watched: ok && term.IsTerminal(int(file.Fd()))}
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

// conclude writes a result as JSON, and returns an error if goals were missed.
func (s *screen) conclude(r result) error {
	enc := json.NewEncoder(s.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return errors.Join(enc.Encode(r), unmet(r.goals()))
}

// thousands formats n with a space between groups: "2 517".
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
