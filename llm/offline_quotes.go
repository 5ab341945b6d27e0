// What the offline model quotes of what the tools found.

package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/words"
)

// finding is a memory, or a message, that a tool found.
type finding struct {
	Messages           []int64 // that a memory came from
	Seq                int64   // of a message
	Who, When, Content string
	Note, Until        string // of a memory: "was so" and until when, "not before 2026-08", "in doubt"
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
			m.Messages = []int64{m.Seq}
			if m.Who != string(RoleAssistant) || !IsOffline(m.Text) {
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

// isOf reports whether a finding is of a time that the person's text names.
func (l lastLine) isOf(f finding) bool {
	at, err := time.Parse(clock, f.When)
	return err == nil && slices.ContainsFunc(l.times, func(s words.Span) bool { return !at.Before(s.From) && at.Before(s.To) })
}

// shares reports whether a finding has words of the person's text. If that has no content words ("who am I?") every finding does.
func (l lastLine) shares(f finding) bool {
	theirs := words.Content(f.Text)
	return len(l.content) == 0 || slices.ContainsFunc(l.content, func(term string) bool { return slices.Contains(theirs, term) })
}

// names reports whether the person's text names who said a finding.
func (l lastLine) names(f finding) bool {
	return slices.ContainsFunc(words.Content(f.Who), func(term string) bool { return slices.Contains(l.content, term) })
}

// related returns the first findings that are of a time that the person's text names, then those that share words with it; if there are
// none, those of a person whom it names.
func related(last lastLine, found []finding) []finding {
	these := func(are func(finding) bool) []finding {
		return slices.DeleteFunc(slices.Clone(found), func(f finding) bool { return !are(f) })
	}
	kept := last.firstOf(slices.Concat(these(last.isOf), these(last.shares)))
	if len(kept) == 0 {
		kept = last.firstOf(these(last.names))
	}
	return kept
}

// firstOf returns the first findings, without questions, duplicates and messages that a memory before them came from.
func (l lastLine) firstOf(found []finding) (kept []finding) {
	seen := map[string]bool{words.Fold(l.text): true}
	sources := map[int64]bool{}
	for _, f := range found {
		folded := words.Fold(f.Text)
		known := seen[folded] || slices.ContainsFunc(f.Messages, func(seq int64) bool { return sources[seq] })
		if known || strings.HasSuffix(f.Text, "?") {
			continue
		}
		seen[folded] = true
		for _, seq := range f.Messages {
			sources[seq] = true
		}
		kept = append(kept, f)
		if len(kept) == maxQuotes {
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
		if f.Note != "" {
			source += ", " + f.Note
		}
		if f.Note != "" && f.Until != "" {
			source += " until " + f.Until
		}
		lines[i] = fmt.Sprintf("- %s: “%s”", source, shorten(f.Text, maxQuote))
	}
	return strings.Join(lines, "\n")
}
