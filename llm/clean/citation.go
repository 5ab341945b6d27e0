// Citations of Cohere's models: <co: 0,2>Paris</co: 0,2> (Command R: huggingface.co/CohereForAI/c4ai-command-r-v01), and
// <co>Paris</co: 0:[1,2],1:[0]> (Command R7B and A: github.com/cohere-ai/melody). They number documents that people do not see.

package clean

import (
	"strings"
	"unicode"

	"cairn/internal/lazy"
)

var (
	citationOpens = lazy.Pattern(`^<co(?:: ?\d{1,4}(?:, ?\d{1,4})*)?>`)
	citationEnds  = lazy.Pattern(`^</co: ?\d{1,4}(?::\[\d{1,4}(?:, ?\d{1,4})*\])?(?:, ?\d{1,4}(?::\[\d{1,4}(?:, ?\d{1,4})*\])?)*>`)
)

// bareCitation opens a citation if the mark that ends it has numbers. Otherwise it is any XML.
const bareCitation = "<co>"

const (
	maxCitation = 200 // bytes of a mark
	maxCited    = 600 // bytes from bareCitation to the end of that mark
)

// citationAt returns the mark of a citation at the front of a text.
func citationAt(text string, final bool) (m mark, more bool) {
	front := text[:min(len(text), maxCitation)]
	m = mark{kind: citation, name: "co", closes: strings.HasPrefix(front, "</")}
	pattern := citationOpens
	if m.closes {
		pattern = citationEnds
	}
	m.size = len(pattern().FindString(front))
	switch {
	case m.size == 0:
		arriving := len(front) < maxCitation && !strings.ContainsAny(front[1:], "<>\n")
		return mark{}, arriving && !final
	case front[:m.size] != bareCitation:
		return m, false
	}
	cited := text[m.size:min(len(text), maxCited)]
	at := strings.Index(cited, "<")
	if at < 0 {
		return mark{}, !final && len(text) < maxCited
	}
	end := cited[at:]
	switch {
	case citationEnds().MatchString(end):
		return m, false
	case agrees(end, "</co:"):
		return mark{}, !final && len(text) < maxCited && !strings.ContainsAny(end, ">\n")
	}
	return mark{}, false
}

// dropCitation removes the mark of a citation, unless it is mentioned: then it does not touch what it is around.
func (b *body) dropCitation(in *input, m mark, next following) step {
	touches := next.blank == 0 && !next.end
	if m.closes {
		touches = b.text.solid != 0 && !unicode.IsSpace(b.text.last)
	}
	if b.mentions.any || !touches || b.text.isAboutTemplates() {
		return b.mention(in, m, next)
	}
	in.skip(m.size)
	return step{verdict: handled}
}
