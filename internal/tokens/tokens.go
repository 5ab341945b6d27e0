// Package tokens estimates how many tokens of a language model a text uses, and clips texts to a
// size. It reads a text once, byte by byte, and imports nothing of Cairn.
package tokens

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The costs of the parts of a text, in tokens. They are fitted to the o200k vocabulary; the test of
// this file checks them against it.
const (
	costWord        = 0.80 // an ASCII word of up to wordLetters letters
	costLetter      = 0.19 // each further letter
	costUpper       = 0.20 // each further letter of a run of capitals
	wordLetters     = 4
	costDigits      = 1.08 // up to three digits
	costJoint       = 0.35 // a change between letters and digits
	costSpaces      = 1.15 // spaces that no word after them absorbs
	costNewlines    = 1.05 // a run of line ends, unless punctuation absorbs it
	costPunct       = 0.90 // a run of punctuation
	costPunctEach   = 0.07 // each character of it
	costLink        = 0.30 // a single one between two words
	costHex         = 0.57 // a character of hex and similar
	costBase64      = 0.67 // the same with capitals
	blobLength      = 16   // a shorter run is not a blob
	blobChangeEvery = 6    // nor is one whose kinds of character change less often
)

// Estimate returns about how many tokens a text costs a language model: within 5 percent for a
// conversation, and at most 12 percent too few for a long text of one kind. It is 0 only for "". It
// reads the text once and allocates nothing.
func Estimate(text string) int { return int(math.Ceil(costUpTo(text, math.Inf(1)))) }

// Fits reports whether a text costs at most tokens. Of a longer text it reads only the beginning.
func Fits(text string, tokens int) bool { return costUpTo(text, float64(tokens)) <= float64(tokens) }

// costUpTo returns the cost of a text; if that is above most, of a part of it that is above most, too.
func costUpTo(text string, most float64) (cost float64) {
	for i := 0; i < len(text) && cost <= most; {
		n := 0
		c := 0.0
		switch b := text[i]; {
		case b >= utf8.RuneSelf:
			var r rune
			r, n = utf8.DecodeRuneInString(text[i:])
			c = costOf(r)
		case isAlnum(b):
			n, c = alnumRun(text[i:])
		case isSpace(b):
			n, c = spaceRun(text, i)
		default:
			n, c = punctRun(text, i)
		}
		i += n
		cost += c
	}
	return cost
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

func isAlnum(b byte) bool { return kinds[b] != 0 }

// kinds has 'a' for a lower-case letter, 'A' for a capital, '0' for a digit, else 0.
var kinds = func() (kinds [256]byte) {
	for from, to := range map[byte]byte{'a': 'z', 'A': 'Z', '0': '9'} {
		for b := from; b <= to; b++ {
			kinds[b] = from
		}
	}
	return kinds
}()

// alnumRun returns the number and cost of the ASCII letters and digits at the start of text. A word
// ends where its letters do, or before a capital that follows a lower-case letter, as in fooBar.
func alnumRun(text string) (n int, cost float64) {
	var kind byte
	same := 0
	changes := 0 // characters since the last change of kind, changes so far
	each := costHex
	for ; n < len(text); n++ {
		k := kinds[text[n]]
		if k == 0 {
			break
		}
		if k == 'A' {
			each = costBase64
		}
		if k != kind {
			if kind != 0 {
				changes++
			}
			switch {
			case k == '0':
				cost += costDigits
			case kind == 'A' && k == 'a' && same == 1: // Hello: the word continues
				same++
				kind = k
				continue
			default:
				cost += costWord
			}
			if kind != 0 && (k == '0') != (kind == '0') {
				cost += costJoint
			}
			kind = k
			same = 1
			continue
		}
		same++
		switch {
		case k == '0' && same%3 == 1:
			cost += costDigits
		case k == 'A' && same > 2:
			cost += costUpper
		case k == 'a' && same > wordLetters:
			cost += costLetter
		}
	}
	if n >= blobLength && changes*blobChangeEvery >= n {
		cost = each * float64(n)
	}
	return n, cost
}

// spaceRun returns the number and cost of the white space at i. A word absorbs the last space
// before it, a number does not; punctuation absorbs the line ends after it.
func spaceRun(text string, i int) (n int, cost float64) {
	blanks := 0
	lines := 0 // spaces after the last line end, number of line ends
	for ; i+n < len(text) && isSpace(text[i+n]); n++ {
		if text[i+n] == '\n' {
			blanks = 0
			lines = lines + 1
		} else {
			blanks++
		}
	}
	if lines > 0 && (i == 0 || isAlnum(text[i-1]) || text[i-1] >= utf8.RuneSelf) {
		cost = costNewlines
	}
	if blanks > 1 || blanks == 1 && (i+n == len(text) || kinds[text[i+n]] == '0') {
		cost += costSpaces
	}
	return n, cost
}

// punctRun returns the number and cost of the other ASCII characters at i. A single one between two
// words, as in fmt.Println or don't, belongs to the second.
func punctRun(text string, i int) (n int, cost float64) {
	end := i
	for end < len(text) && text[end] < utf8.RuneSelf && !isAlnum(text[end]) && !isSpace(text[end]) {
		end++
	}
	n = end - i
	if n == 1 && i > 0 && !isSpace(text[i-1]) && end < len(text) && kinds[text[end]]|0x20 == 'a' {
		return n, costLink
	}
	return n, costPunct + costPunctEach*float64(n)
}

// scripts are the costs of characters outside ASCII, by the end of their range. Scripts with many
// characters per token have fractions.
var scripts = []struct {
	below rune
	cost  float64
}{
	{0x0370, 1.20},  // accented Latin, phonetic signs, combining accents
	{0x0400, 0.42},  // Greek
	{0x0530, 0.31},  // Cyrillic
	{0x0590, 0.60},  // Armenian
	{0x0600, 0.45},  // Hebrew
	{0x0e00, 0.37},  // Arabic and the scripts of India
	{0x0e80, 0.41},  // Thai
	{0x1100, 0.80},  // Lao to Georgian
	{0x1200, 0.78},  // hangul by letters
	{0x1e00, 1.20},  // Ethiopic, Khmer, Mongolian and rare ones
	{0x1f00, 0.35},  // Latin of Vietnam
	{0x2000, 1.00},  // old Greek
	{0x200d, 1.00},  // spaces
	{0x200e, 1.50},  // joins two emoji into one
	{0x2e80, 1.00},  // signs, arrows, dashes, quotes
	{0x3040, 0.72},  // CJK punctuation
	{0x3100, 0.75},  // kana
	{0x3400, 1.00},  // CJK signs
	{0x4e00, 2.00},  // rare Han
	{0xa000, 0.76},  // Han
	{0xac00, 1.50},  // Yi and rare ones
	{0xd7b0, 0.82},  // hangul
	{0xfe00, 1.50},  // private use, presentation forms
	{0xfe10, 0.50},  // variation selectors
	{0xff00, 1.50},  // presentation forms
	{0xfff0, 1.20},  // full and half width
	{0x1f000, 2.50}, // rare scripts, mathematical letters
	{0x20000, 1.80}, // emoji
}

func costOf(r rune) float64 {
	for _, script := range scripts {
		if r < script.below {
			return script.cost
		}
	}
	return 2.5 // rare Han
}

// clipMark returns the line that Clip puts in place of the characters it omits.
func clipMark(characters int) string {
	return "\n[… " + strconv.Itoa(characters) + " characters left out …]\n"
}

// Clip returns text unchanged if it costs at most tokens, else its Beginning and its end with a line between them
// that contains the number of omitted characters. The result is valid UTF-8 and never costs more than tokens; if that
// is too little for both ends it is the beginning alone, and "" for 0 and less.
func Clip(text string, tokens int) string {
	head, mark, tail := Parts(text, tokens)
	return head + mark + tail
}

// Parts returns the parts of Clip: beginning, line between, end. A text that fits is all beginning.
func Parts(text string, tokens int) (head, mark, tail string) {
	if tokens <= 0 {
		return "", "", ""
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if Fits(text, tokens) {
		return text, "", ""
	}
	room := tokens - Estimate(clipMark(len(text)))
	if room < clipRoom {
		return Beginning(text, tokens), "", ""
	}
	head = Beginning(text, room*2/3)
	tail = ending(text[len(head):], room/3)
	left := utf8.RuneCountInString(text[len(head) : len(text)-len(tail)])
	return head, clipMark(left), tail
}

// clipRoom is the minimum number of tokens to split between two ends.
const clipRoom = 12

// Beginning returns the longest prefix of text that costs at most tokens.
func Beginning(text string, tokens int) string {
	n := longest(len(text), func(n int) bool { return Fits(text[:n], tokens) })
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// ending returns the longest suffix of text that costs at most tokens.
func ending(text string, tokens int) string {
	at := len(text) - longest(len(text), func(n int) bool { return Fits(text[len(text)-n:], tokens) })
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

// longest returns about the largest n up to limit that fits, for a fits that is true up to some n. It tries few n
// beyond twice the answer, so that a small part of a very long text is found without reading all of it.
func longest(limit int, fits func(n int) bool) int {
	low := 0
	high := min(64, limit)
	for high < limit && fits(high) {
		low = high
		high = min(2*high, limit)
	}
	return low + sort.Search(high-low, func(n int) bool { return !fits(low + 1 + n) })
}

// PerMessage is the cost of a message in addition to its text: role and separators.
const PerMessage = 4

// Uncertainty returns by how many tokens a prompt of n tokens, which no provider has counted, may exceed its estimate: an
// eighth of it, and 64 for short texts.
func Uncertainty(n int) int { return n/8 + 64 }
