// The headings of a summary, which the prompts ask for. A summary that is too long is shortened by whole
// sentences, those under the least important heading first. A mark shows where something was left out.

package summarize

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"

	"cairn/internal/lazy"
	"cairn/internal/tokens"
	"cairn/words"
)

// Headings are the headings of a summary, in their order.
var Headings = []string{"Goals", "Decisions", "People", "Preferences", "Facts", "Open questions"}

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

// heading matches a line that is a heading, as models write them.
var heading = lazy.Pattern(`(?im)^[ \t]*(?:#{1,6}[ \t]*)?\**(` + strings.Join(slices.Sorted(maps.Keys(headingAt)), "|") + `)\**[:：]?\**[ \t]*$`)

// JoinParts joins the summaries of parts: text without a heading first, then under each heading
// what all parts have there.
func JoinParts(texts []string) string {
	bare, under := []string(nil), make([][]string, len(Headings))
	add := func(to *[]string, text string) {
		if text = strings.TrimSpace(text); text != "" {
			*to = append(*to, text)
		}
	}
	for _, text := range texts {
		found := heading().FindAllStringSubmatchIndex(text, -1)
		end := len(text)
		for _, at := range slices.Backward(found) {
			add(&under[headingAt[strings.ToLower(text[at[2]:at[3]])]], text[at[1]:end])
			end = at[0]
		}
		add(&bare, text[:end])
	}
	parts := bare
	for i, lines := range under {
		if len(lines) > 0 {
			parts = append(parts, "## "+Headings[i]+"\n"+strings.Join(lines, "\n"))
		}
	}
	return strings.Join(parts, "\n")
}

// bullet matches the marker of a list item.
var bullet = lazy.Pattern(`(?m)^[ \t]*[-*•][ \t]+`)

// withoutHeadings removes headings and list markers from a summary.
func withoutHeadings(text string) string {
	return bullet().ReplaceAllString(heading().ReplaceAllString(text, ""), "")
}

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
