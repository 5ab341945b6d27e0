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
		s.last = now
		s.shown = true
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

// conclude writes a result, as JSON or for people, and returns an error if it is a failure, or goals were missed.
func (s *screen) conclude(asJSON bool, r result) (err error) {
	if asJSON {
		enc := json.NewEncoder(s.out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err = enc.Encode(r)
	} else {
		_, err = fmt.Fprint(s.out, reportOf(r))
	}
	if f, ok := r.(failing); ok && f.failure() != nil { // whatever the targets are
		return errors.Join(err, f.failure())
	}
	return errors.Join(err, unmet(r.goals()))
}
