// Placeholders for pasted text.

package terminal

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// pastes has the texts for which the input shows a placeholder, because it supports no tabs and becomes slow with
// much text. They are kept until the chat ends, because an earlier line may be recalled.
type pastes struct{ texts []string }

const (
	pasteRows  = inputRows // a text with more lines gets a placeholder
	pasteRunes = 2000
)

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

func (p *pastes) expand(line string) string {
	var marks []string
	for i, text := range p.texts {
		marks = append(marks, p.mark(i), text)
	}
	return strings.NewReplacer(marks...).Replace(line)
}
