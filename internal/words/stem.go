// Forms of words: without case and accents; stems, one form for all inflections of a word; and what a typo may mean.

package words

import (
	_ "embed"
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/tamil"
	"golang.org/x/text/unicode/norm"
)

// stem returns the stem of a folded word. Latin letters are treated as English, whose rules do little harm to other languages;
// for those see Stems.
func stem(word string) string {
	at := &recentStems[maphash.String(seed, word)%uint64(len(recentStems))]
	if known := at.Load(); known != nil && known.word == word {
		return known.stem
	}
	is := &stemmed{word, stemOf(word)}
	at.Store(is)
	return is.stem
}

// recentStems keeps the stems of up to 4096 words; a new word takes the place of another one with the same hash. People use few
// words for most of what they say: without them stemming takes a twentieth of a turn's CPU time and memory.
var recentStems [4096]atomic.Pointer[stemmed]

var seed = maphash.MakeSeed()

type stemmed struct{ word, stem string }

func stemOf(word string) string {
	if base, ok := irregular[word]; ok {
		word = base
	}
	env := snowballstem.NewEnv(word)
	switch first := word[0]; {
	case 'a' <= first && first <= 'z':
		english.Stem(env)
	case first == 0xd0 || first == 0xd1: // Cyrillic, in UTF-8
		russian.Stem(env)
	case 0xd8 <= first && first <= 0xdb:
		arabic.Stem(env)
	case strings.HasPrefix(word, "\xe0\xae"), strings.HasPrefix(word, "\xe0\xaf"):
		tamil.Stem(env)
	}
	if short := env.Current(); short != "" {
		return short
	}
	return word
}

// irregular maps irregular forms to their base word, except forms that are common words ("rose", "ground").
var irregular = func() map[string]string {
	base := make(map[string]string)
	for line := range strings.Lines(irregularForms) {
		word, forms, _ := strings.Cut(line, ":")
		for form := range strings.FieldsSeq(forms) {
			base[form] = word
		}
	}
	return base
}()

//go:embed irregular.txt
var irregularForms string // a line for each base word: "go: goes went gone"

// stopWords are folded, not stemmed.
var stopWords = Set(`
a about after again all also am an and any are aren arent as at be because been before being both but by
can cannot cant could couldn couldnt d did didn didnt do does doesn doesnt doing don dont each else ever every
for from had hadnt has hasnt have havent having he her here hers herself hey hi him himself his how i if im in
into is isn isnt it its itself ive just ll m me more most much my myself no nor not now of off oh ok okay on
only or other our ours out over own re really s same she should shouldnt so some such t than that thats the
their theirs them themselves then there these they this those through to too under until up us ve very was
wasn wasnt we well were werent what when where which while who whom whose why will with won wont would wouldnt
yeah yes you your youre yours yourself
`)

// Set returns the words of a list.
func Set(list string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// appendFolded appends r in lower case and without accents to word; an accent alone appends nothing. Vowel signs that are part of
// a word, as in Hindi, stay.
func appendFolded(word []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(word, byte(r))
	}
	if isAccent(r) {
		return word
	}
	r = unicode.ToLower(r)
	if spelled, ok := spelledOut[r]; ok {
		return append(word, spelled...)
	}
	return utf8.AppendRune(word, withoutAccent(r))
}

// foldWord returns a word, which is in lower case, without accents.
func foldWord(word string) string {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			folded := append(make([]byte, 0, len(word)), word[:i]...)
			for _, r := range word[i:] {
				folded = appendFolded(folded, r)
			}
			return string(folded)
		}
	}
	return word // ASCII in lower case is already folded
}

// isAccent reports whether r is a mark that people omit when they search.
func isAccent(r rune) bool {
	return 0x300 <= r && r < 0x370 || // of Latin, Greek, Cyrillic
		0x591 <= r && r < 0x5c8 && unicode.IsMark(r) || // Hebrew points
		0x610 <= r && r < 0x6ee && unicode.IsMark(r) || r == 0x640 || // Arabic points and the tatweel
		0xfe00 <= r && r < 0xfe10 // variation selectors
}

// withoutAccent returns the base letter of a Latin, Greek or Arabic letter. In Cyrillic only ё is replaced, by е: й is a letter
// of its own.
func withoutAccent(r rune) rune {
	if r == 'ё' {
		return 'е'
	}
	if r >= 0x400 && r < 0x600 || r >= 0x700 && r < 0x1e00 || r >= 0x2000 {
		return r
	}
	var buf [utf8.UTFMax]byte
	bytes := norm.NFD.Properties(utf8.AppendRune(buf[:0], r)).Decomposition()
	if len(bytes) == 0 {
		return r
	}
	base, _ := utf8.DecodeRune(bytes)
	return base
}

// spelledOut are letters without an accent to remove.
var spelledOut = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'ς': "σ",
}

const (
	shortestTypo = 4  // letters: a shorter word is one typo away from too many others
	longestTypo  = 24 // a longer one is not a word
)

// Respell returns the terms of all words one typo away from a folded word: a letter too many, one missing, a wrong one, or two
// swapped; the likelier kinds first, each term once. There are none for short words, nor for scripts without an alphabet.
func Respell(word string) []string {
	letters := []rune(word)
	if len(letters) < shortestTypo || len(letters) > longestTypo {
		return nil
	}
	i := slices.IndexFunc(alphabets, func(alphabet string) bool { return strings.Trim(word, alphabet) == "" })
	if i < 0 {
		return nil
	}
	alphabet := alphabets[i]
	seen := map[string]bool{stemOf(word): true} // none of the forms is kept
	var terms []string
	add := func(parts ...[]rune) {
		if term := stemOf(string(slices.Concat(parts...))); !seen[term] {
			seen[term] = true
			terms = append(terms, term)
		}
	}
	n := len(letters)
	for i := range n - 1 { // swapped
		add(letters[:i], letters[i+1:i+2], letters[i:i+1], letters[i+2:])
	}
	for i := range n { // one too many
		add(letters[:i], letters[i+1:])
	}
	for i := range n + 1 { // one missing
		for _, letter := range alphabet {
			add(letters[:i], []rune{letter}, letters[i:])
		}
	}
	for i := range n { // a wrong one
		for _, letter := range alphabet {
			add(letters[:i], []rune{letter}, letters[i+1:])
		}
	}
	return terms
}

// alphabets have the letters that are left after folding.
var alphabets = []string{
	"abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюяєіїґ", "αβγδεζηθικλμνξοπρστυφχψω",
	"אבגדהוזחטיךכלםמןנסעףפץצקרשת", "ءابةتثجحخدذرزسشصضطظعغفقكلمنهوىي",
}
