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
// from the middle. A text of which no sentence fits is clipped.
func ShortenSummary(text string, limit int) string {
	if tokens.Estimate(text) <= limit {
		return text
	}
	pieces := piecesOf(text)
	middle := len(pieces) - 1 // doubled: it may be between two pieces
	sections := slices.ContainsFunc(pieces, func(p piece) bool { return p.heading != "" })
	order := make([]*piece, len(pieces))
	for i := range pieces {
		if order[i] = &pieces[i]; !sections {
			pieces[i].rank = max(2*i-middle, middle-2*i)
		}
	}
	slices.SortStableFunc(order, func(a, b *piece) int { return cmp.Compare(a.rank, b.rank) })
	without := func(n int) string {
		for i, p := range order {
			p.left = i < n
		}
		return joined(pieces)
	}
	n := sort.Search(len(order), func(n int) bool { return tokens.Estimate(without(n)) <= limit })
	if n == len(order) { // nothing would be left
		return tokens.Clip(text, limit)
	}
	return without(n)
}

// piece is a sentence of a text that is being shortened.
type piece struct {
	text    string
	heading string // the line of the heading above it; "": none
	line    int    // of the text
	rank    int    // lower ones are left out first
	left    bool   // left out
}

func piecesOf(text string) (pieces []piece) {
	above, rank := "", 0
	for n, line := range strings.Split(text, "\n") {
		if m := heading().FindStringSubmatch(line); m != nil {
			above, rank = line, slices.Index(dropOrder, Headings[headingAt[strings.ToLower(m[1])]])
			continue
		}
		for _, sentence := range words.Sentences(line) {
			pieces = append(pieces, piece{text: sentence, heading: above, line: n, rank: rank})
		}
	}
	return pieces
}

// joined returns the remaining text, with a mark where something was left out.
func joined(pieces []piece) string {
	var b strings.Builder
	above, last, marked := "", -1, false
	add := func(text string, line int) {
		switch {
		case b.Len() == 0:
		case line == last:
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
		b.WriteString(text)
		last = line
	}
	for _, p := range pieces {
		if p.left && !marked {
			add(shortened, p.line)
		}
		if marked = p.left; marked {
			continue
		}
		if p.heading != above {
			above = p.heading
			add(above, -1)
		}
		add(p.text, p.line)
	}
	return b.String()
}
