// The form of a summary, as the prompts ask for it and as models write it: headings, list items, code.

package summarize

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/lazy"
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

// Bullet matches the marker of a list item.
var Bullet = lazy.Pattern(`(?m)^[ \t]*[-*•][ \t]+`)

// Quoted is the heading above sentences that were chosen without a model, where a summary has other
// headings above them.
const Quoted = "## Messages"

const (
	unheaded = -1 // above the first heading
	inQuotes = -2 // under Quoted
)

// HeadingOf returns the index in Headings of the heading that a line is; -1 if it is none.
func HeadingOf(line string) int {
	if m := heading().FindStringSubmatch(line); m != nil {
		return headingAt[strings.ToLower(m[1])]
	}
	return -1
}

// HeadingsOf returns for each line the index of the heading that it is; -1 if it is none. A heading within
// a code block is code.
func HeadingsOf(lines []string) []int {
	at := slices.Repeat([]int{-1}, len(lines))
	fences := true
	for i := 0; i < len(lines); i++ {
		if fences && Fence().MatchString(lines[i]) {
			var end int
			end, fences = EndOfFence(lines, i)
			if fences { // without an end, there is no code below
				i = end
			}
			continue
		}
		at[i] = HeadingOf(lines[i])
	}
	return at
}

// HasHeadings reports whether a line of a text is a heading.
func HasHeadings(text string) bool {
	return slices.ContainsFunc(HeadingsOf(strings.Split(text, "\n")), func(at int) bool { return at >= 0 })
}

// WithoutHeadings removes headings and list markers from a summary.
func WithoutHeadings(text string) string {
	return Bullet().ReplaceAllString(heading().ReplaceAllString(text, ""), "")
}

// SplitHeadings returns a text with each heading that is behind an announcement on a line of its own.
func SplitHeadings(text string) string { return inlineHeading().ReplaceAllString(text, "$1\n$2") }

// inlineHeading matches a heading behind an announcement on the same line.
var inlineHeading = lazy.Pattern(`(?im)^([^#\n]*[:：]\**)[ \t]+(#{1,6}[ \t]*\**(?:` + headingNames + `)\**[:：]?\**)[ \t]*$`)

// HeadingNamed returns the index in Headings of a field's name, such as "open_questions".
func HeadingNamed(name string) (at int, known bool) {
	name = strings.ToLower(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_- #*:", r) }), " "))
	at, known = headingAt[name]
	if known {
		return at, true
	}
	for heading, at := range headingAt { // openQuestions
		if strings.ReplaceAll(heading, " ", "") == name {
			return at, true
		}
	}
	return 0, false
}

// Statement returns a line without its list marker and citations.
func Statement(line string) string {
	return strings.TrimSpace(Bullet().ReplaceAllString(transcript.Citations.ReplaceAllString(line, ""), ""))
}

// Cite returns a line with the message it comes from; 0: none.
func Cite(line string, seq int64) string {
	if seq == 0 {
		return line
	}
	return fmt.Sprintf("%s (#%d)", line, seq)
}

// Fence matches a line that begins or ends a code block.
var Fence = lazy.Pattern("^[ \t]*(```+|~~~+)[ \t]*([^`]*)$")

// EndOfFence returns the line that ends the code block that begins at line open. A fence with a
// language begins a block within it. Without an end it returns the number of lines.
func EndOfFence(lines []string, open int) (end int, closed bool) {
	mark := Fence().FindStringSubmatch(lines[open])[1]
	depth := 1
	for i := open + 1; i < len(lines); i++ {
		m := Fence().FindStringSubmatch(lines[i])
		switch {
		case m == nil || m[1][0] != mark[0] || len(m[1]) < len(mark):
		case strings.TrimSpace(m[2]) != "":
			depth++
		default:
			depth--
			if depth == 0 {
				return i, true
			}
		}
	}
	return len(lines), false
}
