// The headings of a summary, which the prompts ask for. A summary that is too long is shortened by whole
// sentences. A mark shows where something was left out.

package summarize

import (
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
	under := make([][]string, 1+len(Headings)) // lines; first those without a heading
	for _, text := range texts {
		at := 0
		for line := range strings.Lines(text) {
			if m := heading().FindStringSubmatch(line); m != nil {
				at = 1 + headingAt[strings.ToLower(m[1])]
			} else if line = strings.TrimRight(line, " \t\n"); line != "" {
				under[at] = append(under[at], line)
			}
		}
	}
	joined := under[0]
	for i, lines := range under[1:] {
		if len(lines) > 0 {
			joined = append(append(joined, "## "+Headings[i]), lines...)
		}
	}
	return strings.Join(joined, "\n")
}

// bullet matches the marker of a list item.
var bullet = lazy.Pattern(`(?m)^[ \t]*[-*•][ \t]+`)

// withoutHeadings removes headings and list markers from a summary.
func withoutHeadings(text string) string {
	return bullet().ReplaceAllString(heading().ReplaceAllString(text, ""), "")
}

// shortened marks where sentences were left out of a summary.
const shortened = "[shortened]"

// ShortenSummary returns text in at most limit tokens. It leaves out sentences from the middle: goals and decisions are at the
// beginning, open questions and what is newest at the end. A text of which no sentence fits is clipped.
func ShortenSummary(text string, limit int) string {
	if tokens.Estimate(text) <= limit {
		return text
	}
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
