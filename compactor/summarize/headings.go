// The headings of a summary, which the prompts ask for.

package summarize

import (
	"maps"
	"slices"
	"strings"

	"cairn/internal/lazy"
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
