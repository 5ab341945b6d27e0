// Passages: the part of a found text that a question is about.

package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/words"
)

// Passage returns the stretch of a text, of at most most characters, in which the question's terms are worth most, each counted
// once, and that worth. "…" marks what is left out.
func (q *Query) Passage(text string, most int) (part string, worth float64) {
	const pieces = 4 // make up a passage, which determines the precision of its start
	all := []string{text}
	if utf8.RuneCountInString(text) > most {
		all = split(text, max(most/pieces, 1))
	}
	has := make([]map[string]bool, len(all)) // the terms of each
	for i, piece := range all {
		has[i] = make(map[string]bool)
		for _, term := range append(words.Content(piece), words.Stems(piece)...) {
			has[i][term] = true
		}
	}
	first, upto := 0, 0 // the best stretches begin with these pieces: the middle one shows the context
	for i := range max(len(all)-pieces+1, 1) {
		sum := 0.0
		for _, t := range q.terms {
			if slices.ContainsFunc(has[i:min(i+pieces, len(all))], t.in) {
				sum += t.worth
			}
		}
		if sum > worth {
			first, upto, worth = i, i, sum
		} else if sum == worth && upto == i-1 {
			upto = i
		}
	}
	if worth > 0 {
		first = (first + upto + 1) / 2
	}
	last := min(first+pieces, len(all))
	part = strings.TrimSpace(strings.Join(all[first:last], ""))
	if first > 0 {
		part = "… " + part
	}
	if last < len(all) {
		part += " …"
	}
	return part, worth
}

// in reports whether the term, or a stem of its word, is among those of a text.
func (t term) in(terms map[string]bool) bool {
	return terms[t.text] || slices.ContainsFunc(t.stems, func(stem string) bool { return terms[stem] })
}

// split cuts a text into pieces of at most most characters, after a space where a piece has one.
func split(text string, most int) (all []string) {
	for text != "" {
		end, blank, n := len(text), 0, 0
		for i, r := range text {
			if n == most {
				end = i
				if blank > 0 {
					end = blank
				}
				break
			}
			if n++; unicode.IsSpace(r) {
				blank = i + utf8.RuneLen(r)
			}
		}
		all = append(all, text[:end])
		text = text[end:]
	}
	return all
}
