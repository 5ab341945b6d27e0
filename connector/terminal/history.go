// What was typed: a history that survives restarts, and the placeholders of pasted text.

package terminal

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

const maxHistory = 1000

// maxStoredLine limits a line in the file, in bytes: a longer one was pasted.
const maxStoredLine = 10_000

// history is a file that only its owner can read. Lines are appended when they are typed, so that a
// crash loses none; the oldest are removed at the next start.
type history struct {
	file  *os.File // nil: the history is not stored
	lines []string // oldest first, as in the file: with lineEnd instead of newlines
	at    int      // how many lines back the input is; 0: it is none of them
	draft string   // the input when the navigation started
}

// openHistory reads the file at path, which may not exist yet; with an empty path the history is not stored.
func openHistory(path string) (*history, error) {
	if path == "" {
		return &history{}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the input history: %w", err)
	}
	h := &history{}
	for line := range bytes.Lines(text) {
		h.keep(strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), ""))
	}
	if bytes.Count(text, []byte("\n")) > len(h.lines) {
		if err := os.WriteFile(path, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("shorten the input history: %w", err)
		}
	}
	h.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("save the input history: %w", err)
	}
	return h, nil
}

const lineEnd = "\u2028"

// keep adds a line and returns true, unless it is blank or repeats the newest one.
func (h *history) keep(line string) bool {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return false
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > maxHistory {
		h.lines = h.lines[1:]
	}
	return true
}

// add adds a line. Write errors are ignored, because they must not disturb the conversation.
func (h *history) add(line string) {
	line = strings.ReplaceAll(line, "\n", lineEnd)
	if h.keep(line) && h.file != nil && len(line) <= maxStoredLine {
		_, _ = h.file.WriteString(line + "\n")
	}
	h.at = 0
	h.draft = ""
}

// step goes n lines back from current, the text of the input. It returns false if there is no such line.
func (h *history) step(n int, current string) (text string, ok bool) {
	next := h.at + n
	if next < 0 || next > len(h.lines) {
		return "", false
	}
	if h.at == 0 {
		h.draft = current
	}
	h.at = next
	if next == 0 {
		return h.draft, true
	}
	return h.back(next), true
}

func (h *history) back(n int) string {
	return strings.ReplaceAll(h.lines[len(h.lines)-n], lineEnd, "\n")
}

func (h *history) search(current string) (text string, ok bool) {
	if h.at == 0 {
		h.draft = current
	}
	for at := h.at + 1; at <= len(h.lines); at++ {
		if text := h.back(at); strings.Contains(strings.ToLower(text), strings.ToLower(h.draft)) {
			h.at = at
			return text, true
		}
	}
	return "", false
}

// pastes has the texts for which the input shows a placeholder, because it becomes slow with much text. They are kept until the
// chat ends, because an earlier line may be recalled.
type pastes struct{ texts []string }

const (
	pasteRows  = inputRows // a text with more lines gets a placeholder
	pasteRunes = 2000
)

func (p *pastes) fold(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	rows := strings.Count(text, "\n") + 1
	if rows <= pasteRows && utf8.RuneCountInString(text) <= pasteRunes {
		return text
	}
	if !slices.Contains(p.texts, text) {
		p.texts = append(p.texts, text)
	}
	return p.mark(slices.Index(p.texts, text))
}

func (p *pastes) mark(i int) string {
	text := p.texts[i]
	return fmt.Sprintf("[pasted %d: %d characters, %d lines]", i+1, utf8.RuneCountInString(text), strings.Count(text, "\n")+1)
}

func (p *pastes) expand(line string) string {
	var marks []string
	for i, text := range p.texts {
		marks = append(marks, p.mark(i), text)
	}
	return strings.NewReplacer(marks...).Replace(line)
}
