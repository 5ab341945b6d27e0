// Sentences: splitting text into sentences, and recognizing questions.

package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
)

// Sentences returns the sentences of text in their order, trimmed and without empty ones; together they contain every character
// except white space. A line end ends a sentence. A full stop does not inside a number or domain name or after an
// abbreviation: not splitting is better than splitting a sentence in two.
func Sentences(text string) []string {
	var sentences []string
	start := 0
	word := 0 // where the sentence and its newest word start
	end := func(at int) {
		if s := strings.TrimSpace(text[start:at]); s != "" {
			sentences = append(sentences, s)
		}
		start = at
		word = at
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		stop := i
		i += n
		switch {
		case r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
			end(i)
		case unicode.IsSpace(r):
			word = i
		case strings.ContainsRune("。！？｡।॥۔؟։።", r):
			i = afterMarks(text, i)
			end(i)
		case r == '.' || r == '!' || r == '?' || r == '…':
			i = afterMarks(text, i)
			next, _ := utf8.DecodeRuneInString(text[i:])
			if i < len(text) && !unicode.IsSpace(next) {
				continue
			}
			if i == stop+1 && r == '.' && abbreviated(text[start:stop], text[word:stop], text[i:]) {
				continue
			}
			if (r == '…' || strings.HasSuffix(text[stop:i], "..")) && goesOn(text[i:]) {
				continue
			}
			end(i)
		}
	}
	end(len(text))
	return sentences
}

// afterMarks returns the end of the marks that may follow the end of a sentence: more of the same, quotes and brackets.
func afterMarks(text string, i int) int {
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !strings.ContainsRune(".!?…。！？｡”’»\"')]}」』）】", r) {
			break
		}
		i += n
	}
	return i
}

// abbreviated reports whether the full stop after word, with rest following, does not end the sentence.
func abbreviated(sentence, word, rest string) bool {
	word = strings.TrimLeft(word, "([{\"'“‘«")
	if len(word) > 8 {
		return false
	}
	lower := strings.ToLower(word)
	switch {
	case lower == "":
		return false
	case neverLast[lower]:
		return true
	case maybeLast[lower]:
		return goesOn(rest)
	case allDigits(word): // "1. Buy milk", "am 17. Oktober"
		return strings.TrimSpace(sentence) == word || endsOrdinal(sentence, word, rest)
	case utf8.RuneCountInString(word) == 1: // J. Smith, but not "So do I."
		r, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(r) && word != "I" && strings.TrimSpace(sentence) != ""
	}
	return lettersWithPoints().MatchString(word)
}

// endsOrdinal reports whether the point after a number makes an ordinal of it, as in German and its neighbours: am 17. Oktober, im
// 3. Stock, bis zum 19. frei.
func endsOrdinal(sentence, number, rest string) bool {
	const maxDigits = 2
	if len(number) > maxDigits || strings.HasPrefix(strings.TrimLeft(rest, " "), "\n") {
		return false
	}
	if monthsAfterDay[Fold(firstWord(rest))] {
		return true
	}
	before := strings.Fields(strings.TrimSuffix(sentence, number))
	if len(before) == 0 {
		return false
	}
	last := strings.ToLower(before[len(before)-1])
	return articlesOfOrdinals[last] || beforeDays[last] && goesOn(rest)
}

func firstWord(text string) string {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		return text[:end]
	}
	return text
}

// monthsAfterDay are the names of months, capitalized or not, in languages that write a point after the day.
var monthsAfterDay = Set(`januar janner jan februar feber feb marz mar april apr mai juni jun juli jul august aug september sept sep oktober okt november nov
dezember dez marts maj december dec mars desember oktobar`)

// articlesOfOrdinals are the German words between which and a noun an ordinal is; a day of the month, after one of beforeDays,
// may also end a sentence.
var (
	articlesOfOrdinals = Set(`der die das dem den des im beim ins`)
	beforeDays         = Set(`am zum vom bis ab seit`)
)

// goesOn reports whether the next word starts with a lower-case letter or a digit.
func goesOn(rest string) bool {
	for i, r := range rest {
		if i > 8 || r == '\n' {
			return false
		}
		if !unicode.IsSpace(r) {
			return unicode.IsLower(r) || unicode.IsDigit(r)
		}
	}
	return false
}

// lettersWithPoints matches words like U.S and e.g
var lettersWithPoints = lazy.Pattern(`^\p{L}(?:\.\p{L})+$`)

// neverLast are abbreviations that precede what they belong to.
var neverLast = Set(`mr mrs ms dr prof sr st vs cf approx dept gen rep sen rev fig vol e.g i.e mt ft col capt lt sgt`)

// maybeLast are abbreviations that may also end a sentence.
var maybeLast = Set(`etc a.m p.m no jr inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec
mon tue tues wed thu thur thurs fri sat sun min max hr hrs sec ca nr al bzw usw ave blvd`)

// IsQuestion reports whether text has a question mark, or ends or starts like a question or a request for information.
func IsQuestion(text string) bool {
	return strings.ContainsAny(text, "?？؟՞") || EndsInQuestion(text) || asking().MatchString(text)
}

// EndsInQuestion reports whether text ends in a question mark of any script, or in the particle that asks in Chinese (吗), or in
// Japanese (か, の) after a verb or an adjective.
func EndsInQuestion(text string) bool {
	text = strings.TrimRight(text, ".!…。！\"'”’)」』 \n")
	last, n := utf8.DecodeLastRuneInString(text)
	before, _ := utf8.DecodeLastRuneInString(text[:len(text)-n])
	return strings.ContainsRune("?？؟՞吗嗎", last) ||
		strings.ContainsRune("かの", last) && strings.ContainsRune("たいうくぐすつぬぶむる", before) || strings.HasSuffix(text, "のか") || strings.HasSuffix(text, "んか")
}

// asking matches a question, or a request for information, without a question mark.
var asking = lazy.Pattern(`(?i)^(?:\W*(?:hey|hi|hello|so|and|ok|please|@\S+)\W+)*(?:` + strings.Join([]string{
	`(?:who|whom|whose|what|when|where|why|which|how)(?:'s|’s| (?:did|does|do|is|are|was|were|has|have|had|can|could|will|would|should))\b`,
	`(?:what|which|whose) \S+ (?:did|does|do|is|are|was|were|has|have|had|will)\b`,
	`how (?:many|much|long|often|old|far)\b`,
	`(?:did|does|is|are|was|were)\b`,
	`(?:do|has|have|had|can|could|will|would|should) (?:i|you|we|they|he|she|it|my|our|your|the|any\w*|some\w*)\b`,
	`(?:tell me|find|search|show|list)\b`,
	`remind me (?:of|what|when|who|where|how|why|which)\b`,
}, "|") + `)`)

// EndsInMark reports whether a text ends in punctuation of any script, perhaps inside quotes, or in
// the description of an attachment.
func EndsInMark(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, `"'”’»)）」』`))
	return last == '…' || last == ']' || unicode.Is(unicode.Terminal_Punctuation, last)
}

// Bare returns a word in lower case without the punctuation around it.
func Bare(word string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})), "’", "'")
}

// Denies reports whether a bare word of English denies something.
func Denies(word string) bool { return strings.HasSuffix(word, "n't") || negations[word] }

var negations = Set(`not never no none nothing nobody neither nor without hardly barely scarcely rarely cannot
dont didnt cant wont isnt wasnt doesnt havent couldnt wouldnt`)
