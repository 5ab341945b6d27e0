// Shortening of sentences, so that more of them fit. Only English is shortened. Negations, numbers,
// names, quotations, and how certain the speaker is, stay.

package summarize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
)

// tighten removes from a sentence its link to the one before, words of mere emphasis, and articles,
// as in a headline.
func tighten(text string) string {
	if !isEnglish(text) || strings.ContainsAny(text, "`{}<>[]=\\|") {
		return text
	}
	fields := strings.Fields(starter().ReplaceAllString(text, ""))
	kept := make([]string, 0, len(fields))
	quoted := false
	for i, word := range fields {
		last, next := "", ""
		if len(kept) > 0 {
			last = plain(kept[len(kept)-1])
		}
		if i+1 < len(fields) {
			next = fields[i+1]
		}
		if quoted || !spare(word, last, next) {
			kept = append(kept, word)
		}
		if strings.Count(word, `"`)%2 == 1 {
			quoted = !quoted
		}
		quoted = (quoted || strings.Contains(word, "“")) && !strings.Contains(word, "”")
	}
	short := strings.Join(kept, " ")
	if r, n := utf8.DecodeRuneInString(short); startsSmall(short) && !startsSmall(text) {
		short = string(unicode.ToUpper(r)) + short[n:]
	}
	return short
}

// starter matches words that link a sentence to the one before.
var starter = lazy.Pattern(`(?i)^(?:(?:by the way|btw|anyway|actually|honestly|to be honest|basically|i mean|you know|guess what|so|well), +|(?:and|but|also|plus),? +)+`)

// spare reports whether a word between last, which was kept, and next may be dropped.
func spare(word, last, next string) bool {
	follows := plain(next)
	if !startsSmall(next) || negative(last) {
		return false
	}
	switch strings.ToLower(word) {
	case "the":
		return !holds[follows] && last != "all"
	case "a", "an":
		return !holds[follows] && !holdsArticle[last]
	case "so":
		return beings[last] && !holds[follows]
	case "just":
		return !beings[last] && !holds[follows] && follows != "in" && follows != "a" && follows != "the"
	case "really", "actually", "basically", "literally", "honestly", "totally", "truly", "very":
		return true
	}
	return false
}

var (
	// holds are words whose meaning depends on the small word before them: "a few", "the more", "just
	// one", "so far".
	holds = set(strings.Fields(`few little lot lots bit while couple day week month year hour minute night time past piece
single half third quarter dozen hundred thousand million one two three four five six seven eight nine ten more less
most least as like other others only first last next same best worst per better sooner way end rest whole point sort
kind blast fan part break look try far much many that about under over`)...)
	holdsArticle = set(strings.Fields(`as once twice times such half many what how too`)...)
	beings       = set(strings.Fields(`is was are were be been am i'm it's that's he's she's we're they're you're feel felt feels look looks looked`)...)
)

// plain returns a word in lower case without the punctuation around it.
func plain(word string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})), "’", "'")
}

func startsSmall(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLower(r)
}

// negative reports whether a word negates what follows.
func negative(word string) bool { return strings.HasSuffix(word, "n't") || negations[word] }

var negations = set(strings.Fields(`not never no none nothing nobody neither nor without hardly barely scarcely rarely cannot
dont didnt cant wont isnt wasnt doesnt havent couldnt wouldnt`)...)

// isEnglish reports whether a sentence has at least two common English words and no letters outside
// ASCII.
func isEnglish(text string) bool {
	n := 0
	for word := range strings.FieldsSeq(text) {
		if englishWords[plain(word)] {
			n++
		}
	}
	return n >= 2 && !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) })
}

var englishWords = set(strings.Fields(`the and of with i'm i've it's that this these those have had my your his her their our i
you we they she were been to for from about which who when there would could should i'll i'd we're they're don't
didn't can't just really`)...)
