package search_test

import (
	"slices"
	"testing"

	"cairn/memory/search"
	"cairn/testkit/check"
)

// meaningOf returns a meaning of messages 1, 2, …, of which those near are near the question.
func meaningOf(n int, near ...int64) *search.Meaning {
	var documents []int64
	var cosines []float64
	for seq := range int64(n) {
		documents = append(documents, seq+1)
		cosine := 0.01 * float64(seq%3)
		if slices.Contains(near, seq+1) {
			cosine = 0.8
		}
		cosines = append(cosines, cosine)
	}
	return search.NewMeaning(documents, cosines, true)
}

func TestMeaning(t *testing.T) {
	all := spoken("fill 0 | 9 Ann we sat in the garden | fill 10 | 20 Bob the ferry leaves at nine | fill 30")
	n := int64(len(all))
	ask := func(question string, m *search.Meaning) (seqs []int64, first search.Hit) {
		q := search.Parse(question, "", day.AddDate(0, 0, 6))
		q.Resembles(m)
		found := q.Messages(all, 1, n, 5)
		for _, h := range found {
			seqs = append(seqs, h.Seq)
		}
		if len(found) > 0 {
			first = found[0]
		}
		return seqs, first
	}
	words, _ := ask("when does the ferry sail", nil)
	check.Equal(t, "by words", words[0], 18)
	same, _ := ask("when does the ferry sail", search.NewMeaning(nil, nil, true))
	check.EqualAll(t, "nothing has a vector", same, words)
	same, _ = ask("when does the ferry sail", search.NewMeaning([]int64{1, 2, 3}, []float64{0.3, 0.3, 0.3}, false))
	check.EqualAll(t, "all vectors are the same", same, words)
	found, first := ask("who picnicked outdoors", meaningOf(int(n), 9))
	check.That(t, len(found) > 0 && found[0] == 9 && first.Parts[0].Name == "meaning", "found %v, %+v", found, first)
	found, first = ask("when does the ferry sail", meaningOf(int(n), 9))
	check.Equal(t, "words come first", found[0], 18)
	check.That(t, slices.Contains(found, 9), "not found: %v", found)
	sum := 0.0
	for _, p := range first.Parts {
		sum += p.Value
	}
	check.That(t, sum > first.Total-1e-9 && sum < first.Total+1e-9 && first.Total < 1.5, "%v is not the sum of %+v", first.Total, first.Parts)
	q := search.Parse("who picnicked outdoors", "", day)
	q.Resembles(meaningOf(int(n), 9, 20))
	check.That(t, q.Messages(all, 10, 25, 5)[0].Seq == 20, "a message before the first that is asked for")
}
