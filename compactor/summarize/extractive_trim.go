// What a sentence can do without, so that more of what was said fits. Only English
// is shortened. Negations, numbers, names, quotations, and how certain somebody is,
// stay.

package summarize

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/words"
)

// tighten leaves out of a sentence how it goes on from the one before, words that
// only stress, articles as in a headline, and kind words and emoji at its end.
func tighten(text string) string {
	if !isEnglish(text) || strings.ContainsAny(text, "`{}<>[]=\\|") {
		return text
	}
	fields := strings.Fields(withoutTail(starter.ReplaceAllString(text, "")))
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
var starter = regexp.MustCompile(`(?i)^(?:(?:by the way|btw|anyway|actually|honestly|to be honest|basically|i mean|you know|guess what|so|well), +|(?:and|but|also|plus),? +)+`)

// spare reports whether a word between last, which stayed, and next may be dropped.
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
	// holds are words that mean something else without the small word before them: "a
	// few", "the more", "just one", "so far".
	holds = set(strings.Fields(`few little lot lots bit while couple day week month year hour minute night time past piece
single half third quarter dozen hundred thousand million one two three four five six seven eight nine ten more less
most least as like other others only first last next same best worst per better sooner way end rest whole point sort
kind blast fan part break look try far much many that about under over`)...)
	holdsArticle = set(strings.Fields(`as once twice times such half many what how too`)...)
	beings       = set(strings.Fields(`is was are were be been am i'm it's that's he's she's we're they're you're feel felt feels look looks looked`)...)
)

// plain is a word in small letters without the marks around it.
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

var (
	negations = set(strings.Fields(`not never no none nothing nobody neither nor without hardly barely scarcely rarely cannot
dont didnt cant wont isnt wasnt doesnt havent couldnt wouldnt`)...)
	// limits are words by which people say how far something holds.
	limits = set(strings.Fields(`if unless until except only though although think thought guess maybe perhaps probably
possibly might may could would should seems seem hope hopefully believe suppose sure almost nearly but`)...)
)

// tail matches where a clause at the end of a sentence may start.
var tail = regexp.MustCompile(` ?[-–—] |, (?:and|but|so|which|it|it's|that's|because) |; |[,.!?…]* *[\x{1F000}-\x{1FAFF}\x{2600}-\x{27BF}\x{FE0F}\x{200D}]+\s*$`)

// withoutTail cuts clauses off that only say how nice it was.
func withoutTail(text string) string {
	for {
		all := tail.FindAllStringIndex(text, -1)
		if len(all) == 0 {
			return text
		}
		at := all[len(all)-1]
		rest := text[at[1]:]
		if strings.Contains(rest, `"`) || strings.HasSuffix(text, "?") || tellsMore(rest) || len(words.Content(text[:at[0]])) < 3 {
			return text
		}
		text = strings.TrimRight(text[:at[0]], " ,") + "."
	}
}

// tellsMore reports whether a clause has more than kind words.
func tellsMore(clause string) bool {
	for i, word := range strings.Fields(clause) {
		lower := plain(word)
		first, _ := utf8.DecodeRuneInString(word)
		name := i > 0 && unicode.IsUpper(first) && lower != "i" && !strings.HasPrefix(lower, "i'")
		if name || negative(lower) || limits[lower] || timeWords[lower] || strings.ContainsFunc(word, unicode.IsNumber) {
			return true
		}
	}
	terms := words.Content(clause)
	for _, term := range terms {
		if !talkWords[term] {
			return true
		}
	}
	return len(terms) == 0 && clause != "" // "but I do"
}

// isEnglish reports whether at least two words of a sentence are common English ones
// and no letter is another alphabet's.
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
