// Input aids: earlier lines, and placeholders for pasted text.

package terminal

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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

// search goes to the next older line that contains what was typed.
func (r *recent) search(current string) (text string, ok bool) {
	if r.at == 0 {
		r.draft = current
	}
	for at := r.at + 1; at <= r.history.Len(); at++ {
		if text := r.history.At(at - 1); strings.Contains(strings.ToLower(text), strings.ToLower(r.draft)) {
			r.at = at
			return text, true
		}
	}
	return "", false
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
