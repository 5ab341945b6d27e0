// Passages: the part of what was found that a question is about.

package memory

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/words"
)

// Passage is the part of the message that speaks most of what was asked, at most so many
// characters of its text, and what came with it: names, captions, and of the file that
// speaks most of it as many characters of its contents. What is left out is marked by "…".
func (f Found) Passage(most int) string {
	parts := make([]string, 0, 1+len(f.Attachments))
	text, _ := f.about(f.Text, most)
	parts = append(parts, text)
	best, at := 0.0, -1
	var contents string
	for i, a := range f.Attachments {
		parts = append(parts, a.Words())
		if part, tells := f.about(a.Text, most); tells > best {
			best, at, contents = tells, i, part
		}
	}
	if at >= 0 {
		parts[1+at] += "\n" + contents
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// pieces is how many a passage is made of: where it begins is as exact as that.
const pieces = 4

// about is the stretch of a text, of at most so many characters, in which the terms that
// were looked up tell most, each counted once, and what they tell there.
func (f Found) about(text string, most int) (part string, tells float64) {
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
	first, upto := 0, 0 // the stretches that tell most begin with these pieces: the one in the middle shows what is around it
	for i := range max(len(all)-pieces+1, 1) {
		sum := 0.0
		for _, l := range f.lookups {
			if slices.ContainsFunc(has[i:min(i+pieces, len(all))], l.in) {
				sum += l.tell
			}
		}
		if sum > tells {
			first, upto, tells = i, i, sum
		} else if sum == tells && upto == i-1 {
			upto = i
		}
	}
	if tells > 0 {
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
	return part, tells
}

// in reports whether the term, or a stem of its word, is among those of a text.
func (l lookup) in(terms map[string]bool) bool {
	return terms[l.term] || slices.ContainsFunc(l.stems, func(stem string) bool { return terms[stem] })
}

// split cuts a text into pieces of at most so many characters, behind a blank where a
// piece has one.
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
