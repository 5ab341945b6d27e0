// The words of dates: which words and signs name a time, in each language, and the tokens of a text.

package words

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// dateList has a line for each meaning of words: its kind, its value, and the words, those of a phrase joined by "_".
//
//go:embed datewords.txt
var dateList string

// dateWords are the words of dates.
type dateWords struct {
	means   map[string][]meaning // by the folded word, or the folded words of a phrase, joined by spaces
	longest map[string]int       // how many words the longest phrase has that begins with a word
	signs   int                  // characters of the longest word in a script without spaces
}

// meaning is one meaning of a word.
type meaning struct {
	kind  string // as in datewords.txt
	value int    // a number, or a unit: 'd', 'w', 'e' for a weekend, 'm', 'y'
}

var lexicon = sync.OnceValue(func() dateWords {
	all := dateWords{make(map[string][]meaning), make(map[string]int), 0}
	for line := range strings.Lines(dateList) {
		head, list, _ := strings.Cut(strings.TrimSpace(line), ":")
		kind, text, _ := strings.Cut(head, " ")
		value, err := strconv.Atoi(text)
		if err != nil && text != "" {
			value = int(text[0])
		}
		for phrase := range strings.FieldsSeq(list) {
			var parts []string
			for part := range strings.SplitSeq(phrase, "_") {
				parts = append(parts, foldLetters(part))
			}
			key := strings.Join(parts, " ")
			all.means[key] = append(all.means[key], meaning{kind, value})
			all.longest[parts[0]] = max(all.longest[parts[0]], len(parts))
			if signs := []rune(phrase); IsUnspaced(signs[0]) {
				all.signs = max(all.signs, len(signs))
			}
		}
	}
	return all
})

// foldLetters folds a word as dateTokens does.
func foldLetters(word string) string {
	var folded []byte
	for _, r := range word {
		folded = appendFolded(folded, r)
	}
	return string(folded)
}

// dateToken is a word, a phrase, or a number.
type dateToken struct {
	word    string    // folded; "" for a number
	means   []meaning // of the word
	number  int       // -1 for a word
	digits  int       // number of digits
	capital bool      // the word is capitalized
	next    rune      // the character right after it
}

// as returns the value of the token in a meaning.
func (t dateToken) as(kind string) (value int, ok bool) {
	for _, m := range t.means {
		if m.kind == kind {
			return m.value, true
		}
	}
	return 0, false
}

func (t dateToken) is(kind string) bool {
	_, ok := t.as(kind)
	return ok
}

const maxDateTokens = 512 // of a text

// dateTokens splits text into words and numbers; "7th" and "7日" are numbers, and so is "三" before a unit.
func dateTokens(text string) []dateToken {
	runes := []rune(text[:min(len(text), 1<<14)])
	tokens := make([]dateToken, 0, min(len(runes)/4+1, maxDateTokens))
	for i := 0; i < len(runes) && len(tokens) < maxDateTokens; {
		var t dateToken
		ok := true
		start := i
		switch r := runes[i]; {
		case '0' <= r && r <= '9':
			t, i = numberAt(runes, i)
		case IsUnspaced(r):
			t, i, ok = signsAt(runes, i)
		case unicode.IsLetter(r):
			t, i = wordAt(runes, i)
		default:
			ok = false
		}
		if ok {
			tokens = append(tokens, t)
		}
		i = max(i, start+1)
	}
	return joinPhrases(tokens)
}

func numberAt(runes []rune, i int) (t dateToken, end int) {
	end = i
	for end < len(runes) && '0' <= runes[end] && runes[end] <= '9' {
		end++
	}
	t = dateToken{number: -1, digits: end - i}
	if t.digits <= 4 {
		t.number, _ = strconv.Atoi(string(runes[i:end]))
	}
	if end+1 < len(runes) && isOrdinal(runes[end:]) {
		end += 2
	}
	if end < len(runes) {
		t.next = runes[end]
	}
	return t, end
}

func wordAt(runes []rune, i int) (t dateToken, end int) {
	var word []byte
	end = i
	for end < len(runes) && (unicode.IsLetter(runes[end]) || unicode.IsMark(runes[end])) && !IsUnspaced(runes[end]) {
		if len(word) < MaxTerm {
			word = appendFolded(word, runes[end])
		}
		end++
	}
	t = dateToken{word: string(word), number: -1, capital: unicode.IsUpper(runes[i])}
	if end < len(runes) {
		t.next = runes[end]
	}
	return t, end
}

// numerals are those of Chinese and Japanese.
var numerals = map[rune]int{'一': 1, '二': 2, '两': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9, '十': 10}

// signsAt reads the longest word of dates that begins at a character of a script without spaces, or a numeral before a unit.
func signsAt(runes []rune, i int) (t dateToken, end int, ok bool) {
	known := lexicon()
	for n := min(known.signs, len(runes)-i); n > 0; n-- {
		word := foldLetters(string(runes[i : i+n]))
		if means := known.means[word]; means != nil {
			return dateToken{word: word, means: means, number: -1}, i + n, true
		}
	}
	n := numerals[runes[i]]
	end = i + 1
	if n == 10 && end < len(runes) && numerals[runes[end]] > 0 {
		n += numerals[runes[end]] // 十二
		end++
	}
	if n == 0 || end == len(runes) {
		return t, i, false
	}
	t = dateToken{number: n, digits: 1, next: runes[end]}
	after, _, isUnit := signsAt(runes, end)
	return t, end, t.next == '月' || isUnit && after.is("agounit")
}

// joinPhrases makes one token of the words of each phrase, and gives all words their meanings. It changes tokens.
func joinPhrases(tokens []dateToken) []dateToken {
	known := lexicon()
	joined := tokens[:0]
	for i := 0; i < len(tokens); {
		t := tokens[i]
		width := 1
		phrase := t.word
		for n := range known.longest[phrase] {
			if i+n >= len(tokens) {
				break
			}
			if n > 0 {
				phrase += " " + tokens[i+n].word
			}
			if means := known.means[phrase]; means != nil {
				t.word = phrase
				t.means = means
				t.next = tokens[i+n].next
				width = n + 1
			}
		}
		joined = append(joined, t)
		i += width
	}
	return joined
}

// isOrdinal reports whether rest starts with the ending of an ordinal number: 1st, 22nd.
func isOrdinal(rest []rune) bool {
	switch strings.ToLower(string(rest[:2])) {
	case "st", "nd", "rd", "th":
		return len(rest) == 2 || !unicode.IsLetter(rest[2])
	}
	return false
}
