// Package words splits text into words, stems and sentences, in any script. All of it takes linear time, and no input, valid
// UTF-8 or not, makes it fail.
package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxTerm is the maximum length of a term in bytes; longer words are cut.
const MaxTerm = 48

// longestWord is how many bytes of a word are read; it includes accents, which terms do not.
const longestWord = 4 * MaxTerm

// Terms returns the words of text in a form for searching, in their order and with repetitions: without case and accents, English
// and Russian words as stems (irregular forms too: "went" is "go"), numbers as one term ("1,200.50" is "1200.50"). Scripts
// without spaces between words, and Korean, yield every pair of neighbouring characters. Terms are not empty and at most
// MaxTerm bytes long.
func Terms(text string) []string { return terms(text, true) }

// Content returns the terms of text without stop words such as "the", "is" and "what".
func Content(text string) []string { return terms(text, false) }

func terms(text string, stops bool) (all []string) {
	cut(text, stops, func(w Word, _ string) { all = append(all, w.Term) })
	return all
}

// Word is a term and the word it was made from.
type Word struct {
	Folded string // without case and accents
	Term   string
	Stop   bool // too common to be meaningful
}

// Cut returns the words of text; their terms are those that Terms returns.
func Cut(text string) []Word {
	var all []Word
	cut(text, true, func(w Word, _ string) { all = append(all, w) })
	return all
}

// Fold returns text in a form that is equal for texts that differ only in case, accents, white space and punctuation. Signs that
// distinguish things stay: "C++" is not "C#", "-5" is not "5", and different emoji stay different.
func Fold(text string) string {
	text = normal(text)
	folded := make([]byte, 0, len(text))
	gap := false
	for i, r := range text {
		keep := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || unicode.IsSymbol(r) ||
			strings.ContainsRune("#%&@*/\\_", r) ||
			strings.ContainsRune("-.,:", r) && startsWithDigit(text[i+utf8.RuneLen(r):])
		if !keep || r == utf8.RuneError {
			gap = gap || !isApostrophe(r) && !unicode.Is(unicode.Cf, r)
			continue
		}
		if gap && len(folded) > 0 {
			folded = append(folded, ' ')
		}
		gap = false
		folded = appendFolded(folded, r)
	}
	if len(folded) == 0 { // only punctuation: nothing else can be compared
		return strings.Join(strings.Fields(text), " ")
	}
	return string(folded)
}

// normal returns text as valid UTF-8 in which equal characters have equal bytes.
func normal(text string) string {
	return norm.NFKC.String(strings.ToValidUTF8(text, "\uFFFD"))
}

// cut calls emit with each word of text, with stop words only if stops is set.
func cut(text string, stops bool, emit func(w Word, raw string)) {
	text = normal(text)
	c := cutter{emit: emit, stops: stops}
	for i, r := range text {
		switch {
		case IsUnspaced(r) && (unicode.IsLetter(r) || c.pair):
			c.endWord()
			c.pairUp(r)
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			c.endPair()
			c.add(r)
		case r == '\u200c' || r == '\u200d' || r == '\u00ad': // join or hyphenate inside a word
		case c.joins(r, text[i+utf8.RuneLen(r):]):
			if r != ',' {
				c.word = utf8.AppendRune(c.word, r)
			}
		default:
			c.endWord()
			c.endPair()
		}
	}
	c.endWord()
	c.endPair()
}

// IsUnspaced reports whether r belongs to a script that is split into pairs of characters.
func IsUnspaced(r rune) bool {
	return r >= 0xe00 && (unicode.In(r, unspaced...) || r == 'ー')
}

var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// cutter contains the word or pair that is being read.
type cutter struct {
	emit   func(w Word, raw string) // raw: in lower case
	stops  bool
	word   []byte // in lower case
	last   rune   // the first half of the next pair
	pair   bool   // last is set
	paired bool   // a pair that ends in last was emitted
}

func (c *cutter) pairUp(r rune) {
	if c.pair {
		c.emitPair(string([]rune{c.last, r}))
	}
	c.paired = c.pair
	c.last = r
	c.pair = true
}

func (c *cutter) endPair() {
	if c.pair && !c.paired {
		c.emitPair(string(c.last))
	}
	c.pair = false
	c.paired = false
}

func (c *cutter) add(r rune) {
	if len(c.word) == 0 && unicode.IsMark(r) {
		return
	}
	if len(c.word) < longestWord {
		c.word = utf8.AppendRune(c.word, unicode.ToLower(r))
	}
}

// joins reports whether r, followed by rest, continues the word before it: the apostrophe of don't, the point of 3.5, the comma
// of 1,200.
func (c *cutter) joins(r rune, rest string) bool {
	if len(c.word) == 0 || len(c.word) >= longestWord {
		return false
	}
	if isApostrophe(r) {
		next, _ := utf8.DecodeRuneInString(rest)
		return unicode.IsLetter(next)
	}
	last := c.word[len(c.word)-1]
	if last < '0' || last > '9' {
		return false
	}
	return r == '.' && startsWithDigit(rest) ||
		r == ',' && len(rest) >= 3 && allDigits(rest[:3]) && !startsWithDigit(rest[3:])
}

func (c *cutter) endWord() {
	if len(c.word) == 0 {
		return
	}
	word := strings.ReplaceAll(string(c.word), "’", "'")
	c.word = c.word[:0]
	for {
		at := strings.IndexByte(word, '\'')
		if at < 0 {
			break
		}
		switch word[at+1:] {
		case "s", "m", "d", "ll", "re", "ve":
			word = word[:at]
		default:
			if at == 1 { // l'amour, d'accord
				c.emitWord(word[:at])
				word = word[at+1:]
			} else {
				word = word[:at] + word[at+1:]
			}
		}
	}
	c.emitWord(word)
}

func (c *cutter) emitWord(raw string) {
	word := clip(foldWord(raw))
	stop := stopWords[word]
	if word == "" || stop && !c.stops {
		return
	}
	c.emit(Word{word, clip(stem(word)), stop}, raw)
}

func (c *cutter) emitPair(pair string) { c.emit(Word{Folded: pair, Term: pair}, pair) }

// clip cuts a word to MaxTerm bytes at the start of a character.
func clip(word string) string {
	if len(word) <= MaxTerm {
		return word
	}
	return strings.ToValidUTF8(word[:MaxTerm], "")
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

func startsWithDigit(s string) bool { return s != "" && '0' <= s[0] && s[0] <= '9' }

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
