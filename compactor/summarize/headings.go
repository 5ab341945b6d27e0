// The headings of a summary, which the prompts ask for.

package summarize

import (
	"regexp"
	"slices"
	"strings"
)

// Headings are those of a summary, in their order.
var Headings = []string{"Goals", "Decisions", "People", "Preferences", "Facts", "Open questions"}

// heading finds a line that is one of them, as models write them.
var heading = regexp.MustCompile(`(?im)^[ \t]*(?:#{1,6}[ \t]*)?\**(` + strings.Join(Headings, "|") + `)\**:?\**[ \t]*$`)

// JoinParts makes one text of the summaries of parts: under each heading what all of them
// say there, after what they say without one.
func JoinParts(texts []string) string {
	bare, under := []string(nil), make([][]string, len(Headings))
	add := func(to *[]string, text string) {
		if text = strings.TrimSpace(text); text != "" {
			*to = append(*to, text)
		}
	}
	for _, text := range texts {
		found := heading.FindAllStringSubmatchIndex(text, -1)
		end := len(text)
		for _, at := range slices.Backward(found) {
			name := text[at[2]:at[3]]
			i := slices.IndexFunc(Headings, func(h string) bool { return strings.EqualFold(h, name) })
			add(&under[i], text[at[1]:end])
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

// bullet is what begins a line of a list.
var bullet = regexp.MustCompile(`(?m)^[ \t]*[-*•][ \t]+`)

// withoutHeadings are the sentences of a summary.
func withoutHeadings(text string) string {
	return bullet.ReplaceAllString(heading.ReplaceAllString(text, ""), "")
}

// Citations are the numbers of the messages that a line of a summary comes from.
var Citations = regexp.MustCompile(` ?\(#[0-9]+(?:, ?#[0-9]+)*\)`)
