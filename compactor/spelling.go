package compactor

import (
	"slices"
	"strings"
)

// Meant asks whether a stray word was meant to be one of those that are known; "" if
// it is like none of them.
func DidYouMean(word string, known []string) string {
	best, least := "", 4
	for _, k := range known {
		if n := edits(word, k); n < least && n <= len(k)/2 {
			best, least = k, n
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// edits counts the letters to change, add or drop to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}

// Nearest returns at most so many of known, those first that are most like word.
func Nearest(word string, known []string, most int) []string {
	distance := make(map[string]int, len(known))
	for _, k := range known {
		distance[k] = edits(word, k)
		if strings.Contains(k, word) || strings.Contains(word, k) {
			distance[k] /= 4 // "gpt-5.1" for "gpt-5.1-2025-11-13"
		}
	}
	sorted := slices.Clone(known)
	slices.SortStableFunc(sorted, func(a, b string) int { return distance[a] - distance[b] })
	return sorted[:min(most, len(sorted))]
}
