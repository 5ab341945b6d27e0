// The offline model's text: quotations, and plain statements about itself.

package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"cairn/internal/lazy"
	"cairn/words"
)

const (
	howToSet  = "No language model is set, so I can only search and quote this conversation. To get real answers, set OPENAI_API_KEY or ANTHROPIC_API_KEY, or base_url in config.toml for a model of your own."
	stillNone = "(No language model is set: I only quote.)"
	itsFinds  = "This is what I found:"
)

// hinted reports whether the conversation already contains how to configure a model.
func hinted(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool {
		return m.Role == RoleAssistant && strings.Contains(m.Text, howToSet)
	})
}

// SaidOffline reports whether text is an answer of the offline model, or the beginning of one, because
// recall clips: there is nothing in it that others have not said.
func SaidOffline(text string) bool {
	return strings.Contains(text, howToSet) || strings.Contains(text, stillNone) || strings.HasPrefix(text, itsFinds) || isKept().MatchString(text)
}

// reply composes the answer to the person.
func reply(asked lastLine, results []Message, hinted bool) string {
	found, failed := readResults(results)
	quotes := related(asked, found)
	question := asked.isQuestion()
	var said string
	switch {
	case greets().MatchString(asked.text):
		said = "Hello! Everything said here is saved; ask me about any of it."
	case !question && asked.seq == "":
		said = "Saved."
	case !question:
		said = fmt.Sprintf("Saved as message #%s.", asked.seq)
	case len(quotes) > 0:
		said = itsFinds + "\n" + quote(quotes)
	case failed != "":
		said = "I could not look it up: " + failed
	default:
		said = "I found nothing about that in this conversation."
	}
	switch {
	case !hinted || question && len(quotes) == 0:
		said += "\n\n" + howToSet
	case question:
		said += "\n\n" + stillNone
	}
	return said
}

// isKept matches the beginning of an answer to a statement, in its current form and in those of older
// databases.
var isKept = lazy.Pattern(`^(?:It is kept|Saved)(?:,? as message #\d+)?\.(?:$| It goes with this:)`)

// finding is a memory or a message that a tool found.
type finding struct {
	seqs            []int64
	who, when, text string
	score           float64
}

// readResults returns what the tools found; failed is the error text of a tool that failed.
func readResults(results []Message) (found []finding, failed string) {
	for _, result := range results {
		var r struct {
			Memories []struct {
				Content, Who, When string
				Messages           []int64
			}
			Messages []struct {
				Seq             int64
				Who, When, Text string
			}
		}
		if err := json.Unmarshal([]byte(result.Text), &r); err != nil {
			failed = shorten(strings.TrimPrefix(result.Text, "Error: "), maxQuote)
			continue
		}
		for _, m := range r.Memories {
			found = append(found, finding{seqs: m.Messages, who: m.Who, when: m.When, text: strings.TrimPrefix(m.Content, m.Who+": ")})
		}
		for _, m := range r.Messages {
			if m.Who != string(RoleAssistant) || !SaidOffline(m.Text) {
				found = append(found, finding{seqs: []int64{m.Seq}, who: m.Who, when: m.When, text: m.Text})
			}
		}
	}
	return found, failed
}

// related returns the findings that share words with the person's text, best first and without
// duplicates: rarer words weigh more, and questions do not answer questions. If the text has no
// content words ("who am I?") the tools' own order stays.
func related(asked lastLine, found []finding) []finding {
	terms := make([]map[string]float64, len(found))
	common := map[string]float64{}
	for i, f := range found {
		terms[i] = map[string]float64{}
		for _, term := range words.Content(f.who) {
			terms[i][term] = 0.5 // the speaker's name is weak evidence
		}
		for _, term := range words.Content(f.text) {
			terms[i][term] = 1
		}
		for term := range terms[i] {
			common[term]++
		}
	}
	kept := make([]finding, 0, len(found))
	seen, sources := map[string]bool{words.Fold(asked.text): true}, map[int64]bool{}
	for i, f := range found {
		for _, term := range asked.content {
			if weight := terms[i][term]; weight > 0 {
				f.score += weight * math.Log(1+float64(len(found))/common[term])
			}
		}
		if strings.HasSuffix(f.text, "?") {
			f.score *= 0.3
		}
		folded := words.Fold(f.text)
		known := seen[folded] || slices.ContainsFunc(f.seqs, func(seq int64) bool { return sources[seq] })
		if known || f.score == 0 && len(asked.content) > 0 {
			continue
		}
		seen[folded] = true
		for _, seq := range f.seqs {
			sources[seq] = true
		}
		kept = append(kept, f)
	}
	slices.SortStableFunc(kept, func(a, b finding) int { return cmp.Compare(b.score, a.score) })
	for i, f := range kept {
		if i == maxQuotes || f.score < kept[0].score/2 {
			return kept[:i]
		}
	}
	return kept
}

// maxQuotes is the maximum number of quotations in an answer.
const maxQuotes = 3

func quote(quotes []finding) string {
	lines := make([]string, len(quotes))
	for i, f := range quotes {
		source := f.who
		if f.when != "" {
			source += ", " + f.when
		}
		if len(f.seqs) > 0 {
			source += fmt.Sprintf(" (#%d)", f.seqs[0])
		}
		lines[i] = fmt.Sprintf("- %s: “%s”", source, shorten(f.text, maxQuote))
	}
	return strings.Join(lines, "\n")
}
