// What helps while a line is typed: earlier lines, the search in them, and marks for
// what was pasted.
package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// recent is the way through the lines that were typed before.
type recent struct {
	history *history
	at      int    // 0: the line that is being typed, 1 the newest before it
	typed   string // what stood there
}

// step goes n lines back; current is the text of the input.
func (r *recent) step(n int, current string) (text string, ok bool) {
	next := r.at + n
	if next < 0 || next > r.history.Len() {
		return "", false
	}
	if r.at == 0 {
		r.typed = current
	}
	if r.at = next; next == 0 {
		return r.typed, true
	}
	return r.history.At(next - 1), true
}

func (r *recent) add(line string) {
	r.history.Add(line)
	r.at, r.typed = 0, ""
}

// search looks for an earlier line as its letters are typed.
type search struct {
	history *history
	query   string
	at      int // the line that was found; -1: none
}

func newSearch(h *history) *search { return &search{history: h, at: -1} }

func (s *search) String() string {
	return fmt.Sprintf("search: %s  (%s; Ctrl-R an older one, Enter takes it, Esc ends)", s.query, s.found())
}

func (s *search) found() string {
	switch {
	case s.query == "":
		return "type what the line contains"
	case s.at < 0:
		return "no such line"
	}
	return strings.ReplaceAll(s.history.At(s.at), "\n", " ")
}

// find goes to the newest line from the given one on that contains the query.
func (s *search) find(from int) {
	for i := from; i < s.history.Len(); i++ {
		if strings.Contains(strings.ToLower(s.history.At(i)), strings.ToLower(s.query)) {
			s.at = i
			return
		}
	}
	if from == 0 {
		s.at = -1
	}
}

// searchKey does what a key means in a search; false: the search has ended, and the key
// means what it does in a line.
func (s *screen) searchKey(k tea.KeyPressMsg) bool {
	found := s.search
	switch name := k.String(); {
	case name == "ctrl+r" && found.query != "":
		found.find(found.at + 1)
	case name == "ctrl+r":
	case name == "esc", name == "ctrl+g", name == "ctrl+c":
		s.search = nil
	case name == "backspace":
		if _, size := utf8.DecodeLastRuneInString(found.query); size > 0 {
			found.query = found.query[:len(found.query)-size]
			found.find(0)
		}
	case k.Text != "":
		found.query += k.Text
		found.find(0)
	default: // Enter, Tab, an arrow: the line is taken, to be changed or sent
		if s.search = nil; found.at >= 0 && found.query != "" {
			s.set(found.history.At(found.at))
			return true
		}
		return false
	}
	return true
}

// pastes are texts that a mark in the input represents, which has no tabs and becomes slow
// with much text. They are kept until the chat ends, since a line may come back.
type pastes struct{ texts []string }

const (
	pasteRows  = inputRows // a text with more lines gets a mark
	pasteRunes = 2000
)

// fold returns how the input shows text.
func (p *pastes) fold(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	rows := strings.Count(text, "\n") + 1
	if !strings.Contains(text, "\t") && rows <= pasteRows && utf8.RuneCountInString(text) <= pasteRunes {
		return text
	}
	p.texts = append(p.texts, text)
	return p.mark(len(p.texts) - 1)
}

func (p *pastes) mark(i int) string {
	text := p.texts[i]
	return fmt.Sprintf("[pasted %d: %d characters, %d lines]", i+1, utf8.RuneCountInString(text), strings.Count(text, "\n")+1)
}

// expand puts the texts in the place of their marks.
func (p *pastes) expand(line string) string {
	var marks []string
	for i, text := range p.texts {
		marks = append(marks, p.mark(i), text)
	}
	return strings.NewReplacer(marks...).Replace(line)
}
