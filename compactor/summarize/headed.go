// Summaries with headings, as the prompts ask for them: how they are joined and shortened, by full
// lines.

package summarize

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/transcript"
)

// entry is a line of a summary, with the indented lines and code that belong to it. Entries are kept
// or dropped as one.
type entry struct {
	text  string
	under int // index in Headings, unheaded or inQuotes
	part  int // index of its text
	place int // its index among all entries
	value int // see valueOf
	terms []string
}

// entriesOf returns the entries of texts, in their order. The mark of a shortened text is none.
func entriesOf(texts []string) (all []*entry) {
	for part, text := range texts {
		lines := strings.Split(text, "\n")
		headings := HeadingsOf(lines)
		under := unheaded
		open := false
		fences := true // open: the entry goes on
		for i := 0; i < len(lines); i++ {
			line := strings.TrimRight(lines[i], " \t\r")
			switch {
			case headings[i] >= 0:
				under = headings[i]
				open = false
			case line == Quoted:
				under = inQuotes
				open = false
			case line == "" || line == transcript.Shortened:
				open = false
			default:
				if fences && Fence().MatchString(line) {
					var end int
					end, fences = EndOfFence(lines, i)
					if fences {
						line = strings.Join(lines[i:end+1], "\n")
						i = end
					}
					open = open || len(all) > 0 && all[len(all)-1].part == part && all[len(all)-1].under == under
				} else {
					open = open && strings.TrimLeft(line, " \t") != line
				}
				if open {
					all[len(all)-1].text += "\n" + line
					continue
				}
				all = append(all, &entry{text: line, under: under, part: part, place: len(all)})
				open = true
			}
		}
	}
	return all
}

// written returns entries under their headings: first those without one, last what was chosen from
// messages.
func written(entries []*entry) string {
	var lines []string
	add := func(under int, title string) {
		for _, e := range entries {
			if e.under != under {
				continue
			}
			if title != "" {
				lines = append(lines, title)
				title = ""
			}
			lines = append(lines, e.text)
		}
	}
	add(unheaded, "")
	for i, name := range Headings {
		add(i, "## "+name)
	}
	title := ""
	if len(lines) > 0 {
		title = Quoted
	}
	add(inQuotes, title)
	return strings.Join(lines, "\n")
}

// JoinParts joins the summaries of parts: text without a heading first, then under each heading
// what all parts have there.
func JoinParts(texts []string) string {
	text := written(entriesOf(texts))
	if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, transcript.Shortened) }) && !strings.Contains(text, transcript.Shortened) {
		text += "\n" + transcript.Shortened
	}
	return text
}

// ShortenSummary returns text in at most limit tokens. With headings it keeps full lines, in the
// order of valueOf, and none without its heading. Without headings it leaves out sentences from the middle: what matters
// most is at the beginning, what is newest at the end. A text of which nothing fits is clipped.
func ShortenSummary(text string, limit int) string {
	switch {
	case tokens.Estimate(text) <= limit:
		return text
	case HasHeadings(text):
		entries := entriesOf([]string{text})
		rank(entries, nil)
		kept := fitting(entries, limit-tokens.Estimate("\n"+transcript.Shortened)-1)
		if len(kept) == 0 {
			return tokens.Clip(text, limit)
		}
		return written(kept) + "\n" + transcript.Shortened
	}
	return withoutMiddle(text, limit)
}

// fitting returns the most valuable entries that fit into limit tokens, in their order.
func fitting(entries []*entry, limit int) []*entry {
	rest := slices.SortedStableFunc(slices.Values(entries), func(a, b *entry) int { return cmp.Compare(b.value, a.value) })
	titled := map[int]bool{}
	var kept []*entry
	room := limit
	for range 3 { // the cost of a line depends on its neighbours, so some room is left after the first round
		rest = slices.DeleteFunc(rest, func(e *entry) bool {
			cost := tokens.Estimate(e.text + "\n")
			if e.under != unheaded && !titled[e.under] {
				cost += titleTokens
			}
			if cost > room {
				return false
			}
			room -= cost
			titled[e.under] = true
			kept = append(kept, e)
			return true
		})
		room = limit - tokens.Estimate(written(inPlace(kept)))
	}
	for len(kept) > 0 && tokens.Estimate(written(inPlace(kept))) > limit {
		kept = kept[:len(kept)-1]
	}
	return inPlace(kept)
}

func inPlace(entries []*entry) []*entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b *entry) int { return cmp.Compare(a.place, b.place) })
}

// titleTokens is the maximum cost of a line with a heading.
const titleTokens = 5

// withoutMiddle leaves out sentences from the middle of a text.
func withoutMiddle(text string, limit int) string {
	var sentences []string // with what separates them from the one before
	for line := range strings.Lines(text) {
		separator := "\n"
		for _, sentence := range words.Sentences(line) {
			sentences = append(sentences, separator+sentence)
			separator = " "
		}
	}
	without := func(n int) string {
		at := (len(sentences) - n) / 2
		return strings.TrimSpace(strings.Join(sentences[:at], "") + "\n" + transcript.Shortened + strings.Join(sentences[at+n:], ""))
	}
	n := sort.Search(len(sentences), func(n int) bool { return tokens.Estimate(without(n)) <= limit })
	if n == len(sentences) { // nothing would be left
		return tokens.Clip(text, limit)
	}
	return without(n)
}

// plainTerms returns the terms of a line by which two lines are compared: not its citations.
func plainTerms(line string) []string {
	return distinct(words.Content(transcript.Citations.ReplaceAllString(line, "")))
}
