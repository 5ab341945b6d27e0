// A summary that is still too long is shortened by whole sentences, the least important first. A
// mark shows where something was left out.

package summarize

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"cairn/internal/tokens"
	"cairn/words"
)

// shortened marks where sentences were left out of a summary.
const shortened = "[shortened]"

// dropOrder is the order in which sections are shortened, by their Headings; text without a heading is
// dropped with the facts.
var dropOrder = []string{"Facts", "Preferences", "People", "Goals", "Decisions", "Open questions"}

// ShortenSummary returns text in at most limit tokens. With headings the least important section is
// dropped first, its oldest sentences before newer ones; without headings, sentences are dropped
// from the middle. No word is cut as long as one word fits.
func ShortenSummary(text string, limit int) string {
	if tokens.Estimate(text) <= limit {
		return text
	}
	o := outlineOf(text, limit)
	order := o.order()
	n := sort.Search(len(order), func(n int) bool {
		for i, at := range order {
			o.pieces[at].left = i < n
		}
		return tokens.Estimate(o.text()) <= limit
	})
	if n == len(order) { // nothing would be left
		return tokens.Clip(text, limit)
	}
	for i, at := range order {
		o.pieces[at].left = i < n
	}
	return o.text()
}

// outline is a text that is being shortened.
type outline struct {
	pieces   []piece
	sections int // headings found
}

// piece is a sentence, a word of a sentence that would not fit alone, or a heading.
type piece struct {
	text    string
	line    int // of the text
	section int // the heading it is under; 0: none
	rank    int // of the section in dropOrder
	heading bool
	left    bool // left out
}

func outlineOf(text string, limit int) (o outline) {
	rank := 0
	for n, line := range strings.Split(text, "\n") {
		if m := heading().FindStringSubmatch(line); m != nil {
			o.sections++
			rank = slices.Index(dropOrder, Headings[headingAt(m[1])])
			o.pieces = append(o.pieces, piece{text: line, line: n, section: o.sections, rank: rank, heading: true})
			continue
		}
		for _, sentence := range words.Sentences(line) {
			parts := []string{sentence}
			if tokens.Estimate(sentence)+tokens.Estimate(shortened) > limit {
				parts = strings.Fields(sentence)
			}
			for _, part := range parts {
				o.pieces = append(o.pieces, piece{text: part, line: n, section: o.sections, rank: rank})
			}
		}
	}
	return o
}

// order returns the indexes of the pieces in the order in which they are dropped.
func (o outline) order() (order []int) {
	for i, p := range o.pieces {
		if !p.heading {
			order = append(order, i)
		}
	}
	middle := len(o.pieces) - 1 // doubled: it may be between two pieces
	slices.SortStableFunc(order, func(a, b int) int {
		if o.sections > 0 {
			return cmp.Compare(o.pieces[a].rank, o.pieces[b].rank)
		}
		return cmp.Compare(max(2*a-middle, middle-2*a), max(2*b-middle, middle-2*b))
	})
	return order
}

// text returns the remaining text, with a mark where something was dropped.
func (o outline) text() string {
	kept := map[int]bool{} // sections of which something remains
	for _, p := range o.pieces {
		if !p.heading && !p.left {
			kept[p.section] = true
		}
	}
	var b strings.Builder
	line, marked := -1, false
	for _, p := range o.pieces {
		left := p.left || p.heading && !kept[p.section]
		if left && marked {
			continue
		}
		switch {
		case b.Len() == 0:
		case p.line == line:
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
		line, marked = p.line, left
		if left {
			b.WriteString(shortened)
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}
