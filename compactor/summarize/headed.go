// Summaries with headings, as the prompts ask for them: how they are read, joined and shortened, by
// whole lines.

package summarize

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"

	"cairn/internal/lazy"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/transcript"
)

// Headings are the headings of a summary, in their order; the prompts ask for them.
var Headings = []string{"Goals", "Decisions", "People", "Preferences", "Facts", "Open questions"}

// The indexes in Headings of what is treated in its own way.
const (
	underGoals = iota
	underDecisions
	underPeople
	underPreferences
	underFacts
	underQuestions
)

// translated are the headings that some models write although the prompt asks for English ones,
// each line in the order of Headings: de es fr pt ja zh.
const translated = `
Ziele|Entscheidungen|Personen|Vorlieben|Fakten|Offene Fragen
Objetivos|Decisiones|Personas|Preferencias|Hechos|Preguntas abiertas
Objectifs|Décisions|Personnes|Préférences|Faits|Questions ouvertes
Objetivos|Decisões|Pessoas|Preferências|Fatos|Perguntas em aberto
目標|決定事項|人物|好み|事実|未解決の質問
目标|决定|人物|偏好|事实|未解决的问题`

// headingAt maps each name that a heading may have, in lower case, to its index in Headings.
var headingAt = func() map[string]int {
	at := map[string]int{}
	for line := range strings.SplitSeq(strings.Join(Headings, "|")+translated, "\n") {
		for i, name := range strings.Split(line, "|") {
			at[strings.ToLower(name)] = i
		}
	}
	return at
}()

// headingNames is a pattern of all names in headingAt.
var headingNames = strings.Join(slices.Sorted(maps.Keys(headingAt)), "|")

// heading matches a line that is a heading, as models write them.
var heading = lazy.Pattern(`(?im)^[ \t]*(?:#{1,6}[ \t]*)?\**(?:[\p{So}\x{fe0f}]+[ \t]*|\d{1,2}[.)][ \t]+)?\**(` + headingNames + `)\**[:：]?\**[ \t]*$`)

// bullet matches the marker of a list item.
var bullet = lazy.Pattern(`(?m)^[ \t]*[-*•][ \t]+`)

// quoted is the heading above sentences that were chosen without a model, where a summary has other
// headings above them.
const quoted = "## Messages"

const (
	unheaded = -1 // above the first heading
	inQuotes = -2 // under quoted
)

// kinds returns for each line the index of the heading that it is; -1 if it is none. A heading within
// a code block is code.
func kinds(lines []string) []int {
	at := slices.Repeat([]int{-1}, len(lines))
	fences := true
	for i := 0; i < len(lines); i++ {
		if fences && fence().MatchString(lines[i]) {
			var end int
			end, fences = endOfFence(lines, i)
			if fences { // without an end, there is no code below
				i = end
			}
			continue
		}
		if m := heading().FindStringSubmatch(lines[i]); m != nil {
			at[i] = headingAt[strings.ToLower(m[1])]
		}
	}
	return at
}

func hasHeadings(text string) bool {
	return slices.ContainsFunc(kinds(strings.Split(text, "\n")), func(at int) bool { return at >= 0 })
}

// entry is a line of a summary, with the indented lines and code that belong to it. Entries are kept
// or dropped as a whole.
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
		headings := kinds(lines)
		under := unheaded
		open := false
		fences := true // open: the entry goes on
		for i := 0; i < len(lines); i++ {
			line := strings.TrimRight(lines[i], " \t\r")
			switch {
			case headings[i] >= 0:
				under = headings[i]
				open = false
			case line == quoted:
				under = inQuotes
				open = false
			case line == "" || line == shortened:
				open = false
			default:
				if fences && fence().MatchString(line) {
					var end int
					end, fences = endOfFence(lines, i)
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
		title = quoted
	}
	add(inQuotes, title)
	return strings.Join(lines, "\n")
}

// JoinParts joins the summaries of parts: text without a heading first, then under each heading
// what all parts have there.
func JoinParts(texts []string) string {
	text := written(entriesOf(texts))
	if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, shortened) }) && !strings.Contains(text, shortened) {
		text += "\n" + shortened
	}
	return text
}

// shortened marks a summary that something was left out of.
const shortened = "[shortened]"

// ShortenSummary returns text in at most limit tokens. With headings it keeps whole lines, in the
// order of valueOf, and none without its heading. Without headings it leaves out sentences from the middle: what matters
// most is at the beginning, what is newest at the end. A text of which nothing fits is clipped.
func ShortenSummary(text string, limit int) string {
	switch {
	case tokens.Estimate(text) <= limit:
		return text
	case hasHeadings(text):
		entries := entriesOf([]string{text})
		rank(entries, nil)
		kept := fitting(entries, limit-tokens.Estimate("\n"+shortened)-1)
		if len(kept) == 0 {
			return tokens.Clip(text, limit)
		}
		return written(kept) + "\n" + shortened
	}
	return withoutMiddle(text, limit)
}

// withoutHeadings removes headings and list markers from a summary.
func withoutHeadings(text string) string {
	return bullet().ReplaceAllString(heading().ReplaceAllString(text, ""), "")
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

// titleTokens is the most that a line with a heading costs.
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
		return strings.TrimSpace(strings.Join(sentences[:at], "") + "\n" + shortened + strings.Join(sentences[at+n:], ""))
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
