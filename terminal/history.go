// The lines typed at a terminal, kept from one session to the next.
package terminal

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// maxHistory bounds what is kept, in lines.
const maxHistory = 1000

// maxKept bounds a line in the file, in bytes: what is longer was pasted.
const maxKept = 10_000

// history is a file of its owner's. Lines are appended as they
// are typed, so that a crash loses none; what is too old goes at the next start.
type history struct {
	file  *os.File // nil: nothing is kept
	lines []string // oldest first
}

// openHistory reads the file at path, which need not exist; an empty path keeps
// nothing.
func openHistory(path string) (*history, error) {
	if path == "" {
		return &history{}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the typed lines: %w", err)
	}
	h := &history{}
	for line := range bytes.Lines(text) {
		h.keep(strings.ReplaceAll(strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), ""), lineEnd, "\n"))
	}
	if bytes.Count(text, []byte("\n")) > len(h.lines) {
		if err := os.WriteFile(path, []byte(h.text()), 0o600); err != nil {
			return nil, fmt.Errorf("shorten the typed lines: %w", err)
		}
	}
	h.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep the typed lines: %w", err)
	}
	return h, nil
}

// lineEnd replaces, in the file, the end of a line within one entry.
const lineEnd = "\u2028"

func (h *history) text() string {
	var b strings.Builder
	for _, line := range h.lines {
		b.WriteString(strings.ReplaceAll(line, "\n", lineEnd) + "\n")
	}
	return b.String()
}

// keep takes a line unless it says nothing new.
func (h *history) keep(line string) bool {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return false
	}
	if h.lines = append(h.lines, line); len(h.lines) > maxHistory {
		h.lines = h.lines[1:]
	}
	return true
}

// Add keeps the newest line. That it could not be written is no reason to disturb
// the conversation.
func (h *history) Add(line string) {
	if h.keep(line) && h.file != nil && len(line) <= maxKept {
		_, _ = h.file.WriteString(strings.ReplaceAll(line, "\n", lineEnd) + "\n")
	}
}

// Len is how many lines are kept.
func (h *history) Len() int { return len(h.lines) }

// At returns a line, 0 the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

// Close closes the file.
func (h *history) Close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}
