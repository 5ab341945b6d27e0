// Input aids: earlier lines, searching in them, and placeholders for pasted text.
package terminal

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// recent navigates the earlier lines.
type recent struct {
	history *history
	at      int    // 0: the input itself, 1: the newest earlier line
	draft   string // the input when the navigation started
}

// step goes n lines back; current is the text of the input.
func (r *recent) step(n int, current string) (text string, ok bool) {
	next := r.at + n
	if next < 0 || next > r.history.Len() {
		return "", false
	}
	if r.at == 0 {
		r.draft = current
	}
	if r.at = next; next == 0 {
		return r.draft, true
	}
	return r.history.At(next - 1), true
}

func (r *recent) add(line string) {
	r.history.Add(line)
	r.at, r.draft = 0, ""
}

// search is an incremental search in the earlier lines.
type search struct {
	history *history
	query   string
	at      int // index of the line that was found; -1: none
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

// find goes to the first line that contains the query, from the given index to older lines.
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

// searchKey handles a key in the search. It returns false if the key ended the search and should be
// handled by the input.
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
	default: // Enter, Tab, an arrow: accept the line, for editing or sending
		s.search = nil
		if found.at < 0 || found.query == "" {
			return false
		}
		s.set(found.history.At(found.at))
	}
	return true
}

// pastes has the texts for which the input shows a placeholder, because it supports no tabs and
// becomes slow with much text. They are kept until the chat ends, because an earlier line may be
// recalled.
type pastes struct{ texts []string }

const (
	pasteRows  = inputRows // a text with more lines gets a placeholder
	pasteRunes = 2000
)

// fold returns text as the input shows it.
func (p *pastes) fold(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	rows := strings.Count(text, "\n") + 1
	if !strings.Contains(text, "\t") && rows <= pasteRows && utf8.RuneCountInString(text) <= pasteRunes {
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

// expand replaces the placeholders by their texts.
func (p *pastes) expand(line string) string {
	var marks []string
	for i, text := range p.texts {
		marks = append(marks, p.mark(i), text)
	}
	return strings.NewReplacer(marks...).Replace(line)
}
