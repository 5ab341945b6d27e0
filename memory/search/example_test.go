package search_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cairn/internal/words"
	"cairn/memory/search"
)

// talk is a transcript in memory: message n has the seq n+1.
type talk []search.Message

func (t talk) Size() int           { return len(t) }
func (t talk) Languages() []string { return nil }
func (t talk) Messages(seqs []int64) (found []search.Message) {
	for _, seq := range slices.Sorted(slices.Values(seqs)) {
		if seq <= int64(len(t)) {
			m := t[seq-1]
			m.Seq = seq
			m.Answers = seq > 1 && strings.HasSuffix(t[seq-2].Text, "?") && t[seq-2].Author != m.Author
			found = append(found, m)
		}
	}
	return found
}

func (t talk) Frequencies(terms []string) map[string]int {
	n := make(map[string]int)
	for term, postings := range t.Postings(terms, 0) {
		n[term] = len(postings)
	}
	return n
}

func (t talk) Pairs(string) []string { return nil }

func (t talk) Members(terms []string) map[string]string {
	names := make(map[string]string)
	for _, m := range t {
		for _, term := range words.Content(m.Author) {
			names[term] = m.Author
		}
	}
	maps.DeleteFunc(names, func(term, _ string) bool { return !slices.Contains(terms, term) })
	return names
}

func (t talk) Postings(terms []string, _ int) map[string][]words.Posting {
	found := make(map[string][]words.Posting)
	for _, term := range terms {
		found[term] = nil
		for i, m := range slices.Backward(t) {
			all := words.Content(m.Text + " " + m.Author)
			if n := len(slices.DeleteFunc(slices.Clone(all), func(word string) bool { return word != term })); n > 0 {
				found[term] = append(found[term], words.Posting{Document: int64(i + 1), Count: n, Length: len(all)})
			}
		}
	}
	return found
}

func (t talk) Around(terms []string, _ []int64) map[string][]words.Posting {
	return t.Postings(terms, 0)
}

func (t talk) Said(in words.Span, author string, _ int) (seqs []int64) {
	for i, m := range t {
		if !m.Time.Before(in.From) && m.Time.Before(in.To) && (author == "" || strings.EqualFold(author, m.Author)) {
			seqs = append(seqs, int64(i+1))
		}
	}
	return seqs
}

func Example() {
	now := time.Date(2026, 5, 8, 12, 0, 0, 0, time.UTC)
	said := talk{
		{Author: "Ann", Text: "Good morning", Time: now.AddDate(0, 0, -9)},
		{Author: "Bob", Text: "Where shall we put the kayak?", Time: now.AddDate(0, 0, -8)},
		{Author: "Ann", Text: "Into the shed behind the harbour", Time: now.AddDate(0, 0, -8)},
		{Author: "Bob", Text: "Anything for lunch?", Time: now.AddDate(0, 0, -1)},
	}
	question := search.Parse("where did we put the kayack last week", "Bob", now)
	for _, hit := range question.Messages(said, 1, int64(len(said)), 2) {
		fmt.Println(hit.Author+":", hit.Text)
	}
	// Output:
	// Ann: Into the shed behind the harbour
	// Bob: Where shall we put the kayak?
}
