// The headings of a summary, which the prompts ask for.

package summarize

import (
	"slices"
	"strings"

	"cairn/internal/lazy"
)

// Headings are the headings of a summary, in their order.
var Headings = []string{"Goals", "Decisions", "People", "Preferences", "Facts", "Open questions"}

// heading matches a line that is a heading, as models write them.
var heading = lazy.Pattern(`(?im)^[ \t]*(?:#{1,6}[ \t]*)?\**(` + strings.Join(Headings, "|") + `)\**:?\**[ \t]*$`)

// headingAt returns the index in Headings of a name that heading matched.
func headingAt(name string) int {
	return slices.IndexFunc(Headings, func(h string) bool { return strings.EqualFold(h, name) })
}

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
			add(&under[headingAt(text[at[2]:at[3]])], text[at[1]:end])
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
