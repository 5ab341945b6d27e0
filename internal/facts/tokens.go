package facts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/words"
)

// token is a word, a run of digits, one character of a script without spaces, or a sign.
type token struct {
	text    string // folded; of digits: as 0 to 9
	accents string // of a word: in lower case, with its accents
	digits  bool
	sign    bool
	han     bool // one character of Chinese or Japanese
	capital bool
	gap     string // what separates it from the token before: "" if nothing does
}

// maxTokens limits what is read of one text.
const maxTokens = 1 << 15

var withoutPowers = strings.NewReplacer("²", "", "³", "") // of metres

// tokensOf splits a text. Signs that matter for numbers are tokens; other punctuation is part of the gap before the next token.
func tokensOf(text string) (all []token) {
	text = norm.NFKC.String(withoutPowers.Replace(strings.ToValidUTF8(text, " ")))
	gap := 0 // where the gap before the next token starts
	for i := 0; i < len(text) && len(all) < maxTokens; {
		r, n := utf8.DecodeRuneInString(text[i:])
		t := token{}
		end := i + n
		switch {
		case unicode.Is(unicode.Nd, r):
			t.digits = true
			t.text, end = digitsAt(text, i)
		case words.IsUnspaced(r) && unicode.IsLetter(r) || r == '〇':
			t.han = true
			t.text = string(r)
		case unicode.IsLetter(r):
			for end < len(text) {
				next, n := utf8.DecodeRuneInString(text[end:])
				if !unicode.IsLetter(next) && !unicode.IsMark(next) || words.IsUnspaced(next) {
					break
				}
				end += n
			}
			t.capital = unicode.IsUpper(r)
			t.text, t.accents = words.Fold(text[i:end]), withAccents(text[i:end])
		case unicode.Is(unicode.Sc, r) || strings.ContainsRune("%٪°½¼", r):
			t.sign = true
			t.text = strings.ReplaceAll(string(r), "٪", "%")
		default:
			i = end
			continue
		}
		t.gap = text[gap:i]
		all = append(all, t)
		i = end
		gap = end
	}
	return all
}

// digitsAt returns the run of digits at i as 0 to 9, and where it ends.
func digitsAt(text string, i int) (digits string, end int) {
	var b strings.Builder
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.Is(unicode.Nd, r) {
			break
		}
		b.WriteByte('0' + digitOf(r))
		i += n
	}
	return b.String(), i
}

// digitOf returns the value of a decimal digit of any script: each has its ten digits in a row.
func digitOf(r rune) byte {
	if r <= '9' {
		return byte(r - '0')
	}
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return byte((r - rune(t.Lo)) % 10)
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return byte((r - rune(t.Lo)) % 10)
		}
	}
	return 0
}
