// The offline model's text: quotations, and plain statements about itself.

package llm

import (
	"encoding/json"
	"fmt"
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

func reply(asked lastLine, results []Message, hinted bool) string {
	found, failed := readResults(results)
	quotes := related(asked, found)
	question := words.IsQuestion(asked.text)
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

// isKept matches the beginning of an answer to a statement, in its current form and in those of older databases.
var isKept = lazy.Pattern(`^(?:It is kept|Saved)(?:,? as message #\d+)?\.(?:$| It goes with this:)`)

// finding is a memory, or a message, that a tool found.
type finding struct {
	Messages           []int64 // that a memory came from
	Seq                int64   // of a message
	Who, When, Content string
	Text               string
}

// readResults returns what the tools found; failed is the error text of a tool that failed.
func readResults(results []Message) (found []finding, failed string) {
	for _, result := range results {
		var r struct{ Memories, Messages []finding }
		if err := json.Unmarshal([]byte(result.Text), &r); err != nil {
			failed = shorten(strings.TrimPrefix(result.Text, "Error: "), maxQuote)
			continue
		}
		for _, m := range r.Memories {
			m.Text = strings.TrimPrefix(m.Content, m.Who+": ")
			found = append(found, m)
		}
		for _, m := range r.Messages {
			if m.Messages = []int64{m.Seq}; m.Who != string(RoleAssistant) || !SaidOffline(m.Text) {
				found = append(found, m)
			}
		}
	}
	return found, failed
}

const (
	maxQuotes  = 3 // quotations in an answer
	maxSources = 3 // messages named for one of them: a memory may be from several
)

// related returns the first findings that share words with the person's text, in the tools' order,
// without questions, duplicates and messages that a memory before them came from. If the text has no
// content words ("who am I?") all are related.
func related(asked lastLine, found []finding) (kept []finding) {
	seen, sources := map[string]bool{words.Fold(asked.text): true}, map[int64]bool{}
	for _, f := range found {
		folded, theirs := words.Fold(f.Text), words.Content(f.Text)
		shares := len(asked.content) == 0 || slices.ContainsFunc(asked.content, func(term string) bool { return slices.Contains(theirs, term) })
		known := seen[folded] || slices.ContainsFunc(f.Messages, func(seq int64) bool { return sources[seq] })
		if known || !shares || strings.HasSuffix(f.Text, "?") {
			continue
		}
		seen[folded] = true
		for _, seq := range f.Messages {
			sources[seq] = true
		}
		if kept = append(kept, f); len(kept) == maxQuotes {
			break
		}
	}
	return kept
}

func quote(quotes []finding) string {
	lines := make([]string, len(quotes))
	for i, f := range quotes {
		source := f.Who
		if f.When != "" {
			source += ", " + f.When
		}
		var numbers []string
		for _, seq := range f.Messages[:min(len(f.Messages), maxSources)] {
			numbers = append(numbers, fmt.Sprint("#", seq))
		}
		if len(numbers) > 0 {
			source += " (" + strings.Join(numbers, ", ") + ")"
		}
		lines[i] = fmt.Sprintf("- %s: “%s”", source, shorten(f.Text, maxQuote))
	}
	return strings.Join(lines, "\n")
}
