package main

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"unicode"

	"cairn/internal/words"
)

// misspell adds one typo to a significant word of text: two letters swapped, one missing, doubled,
// or replaced by a neighbouring key. The choice depends only on the text.
func misspell(text string) string {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	random := rand.New(rand.NewPCG(hash.Sum64(), 1))
	var choice [][2]int // start and end of the candidate words
	start := -1
	runes := []rune(text)
	for i := range len(runes) + 1 {
		if i < len(runes) && unicode.IsLetter(runes[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= 4 && len(words.Content(string(runes[start:i]))) > 0 {
			choice = append(choice, [2]int{start, i})
		}
		start = -1
	}
	if len(choice) == 0 {
		return text
	}
	at := choice[random.IntN(len(choice))]
	word := runes[at[0]:at[1]]
	return string(runes[:at[0]]) + string(mistype(word, random)) + string(runes[at[1]:])
}

// mistype returns word, which has at least four letters, with one typo.
func mistype(word []rune, random *rand.Rand) []rune {
	i := random.IntN(len(word) - 1)
	kind := random.IntN(4)
	if kind == 0 && word[i] == word[i+1] {
		kind = 1
	}
	wrong := []rune(string(word[:i]))
	switch kind {
	case 0:
		return append(append(wrong, word[i+1], word[i]), word[i+2:]...)
	case 1:
		return append(wrong, word[i+1:]...)
	case 2:
		return append(append(wrong, word[i], word[i]), word[i+1:]...)
	}
	return append(append(wrong, beside(word[i])), word[i+1:]...)
}

// beside returns a key next to that of r.
func beside(r rune) rune {
	for _, row := range []string{"qwertyuiop", "asdfghjkl", "zxcvbnm"} {
		if i := strings.IndexRune(row, unicode.ToLower(r)); i >= 0 {
			return rune((row + row[len(row)-2:])[i+1])
		}
	}
	return 'x'
}
