package summarize

import (
	"regexp"
	"strings"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/transcript"
)

// partEnd separates the sentences that the extractive summarizer puts into one line.
var partEnd = regexp.MustCompile(`; |[.!?] `)

// mostOfPart is the share of a sentence's words that its message has: the summarizer leaves out words and writes out dates.
const mostOfPart = 0.7

// WithQuoted returns the lines of an extract, of which those without evidence get the messages that they quote: the
// extractive summarizer writes nothing else, but may join short sentences that alone are no evidence.
func WithQuoted(text string, lines []transcript.Line, messages []chat.Message) []transcript.Line {
	var said []map[string]bool // the words of each message
	at := strings.Split(text, "\n")
	for i, l := range lines {
		if l.HasEvidence() || l.At >= len(at) {
			continue
		}
		if said == nil {
			said = make([]map[string]bool, len(messages))
			for k, m := range messages {
				said[k] = vocabularyIn(m.Text + "\n" + m.Quote)
			}
		}
		_, line, hasSpeaker := strings.Cut(at[l.At], ": ")
		if !hasSpeaker {
			line = at[l.At]
		}
		for k, m := range messages {
			if m.Seq != 0 && quotes(partEnd.Split(line, -1), said[k]) {
				lines[i].Seqs = append(lines[i].Seqs, m.Seq)
			}
		}
	}
	return lines
}

// quotes reports whether one of the parts of a line consists of these words.
func quotes(parts []string, said map[string]bool) bool {
	for _, part := range parts {
		all := words.Cut(part)
		found := 0
		for _, w := range all {
			if said[w.Folded] {
				found++
			}
		}
		if len(all) > 0 && float64(found) >= mostOfPart*float64(len(all)) {
			return true
		}
	}
	return false
}

func vocabularyIn(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range words.Cut(text) {
		set[w.Folded] = true
	}
	return set
}
