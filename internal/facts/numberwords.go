package facts

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sum adds up the words of one number: two hundred and five thousand.
type sum struct {
	total, current float64
	scale          float64 // the last thousand, million, …
	empty          bool
	arabic         bool
	unitsFirst     bool // five and forty is 45
	slavic         bool

	next    int  // the token behind it
	ordinal bool // its last word is an ordinal
	weak    bool // its only word may mean something else
}

// add adds the next word. It reports false if the word belongs to another number. joined reports whether a word such as "and"
// is before it.
func (s *sum) add(v float64, joined bool) bool {
	units := int(s.current) % 10
	tens := int(s.current) % 100
	switch {
	case v != float64(int(v)): // anderthalb
		if !s.empty {
			return false
		}
		s.current = v
	case v >= 1000:
		if s.scale != 0 && s.scale <= v {
			return false
		}
		s.total += max(s.current, 1) * v
		s.current = 0
		s.scale = v
	case v == 100 && s.current > 0 && s.current < 100:
		s.current *= 100
	case s.current == 0:
		if v == 0 && !s.empty {
			return false
		}
		s.current = v
	case v >= 100:
		return false
	case tens == 0:
		s.current += v
	case v < 10 && units == 0, v < 20 && (tens == 60 || tens == 80): // dix-sept, on beş, soixante-dix
		s.current += v
	case tens == 4 && v == 20: // quatre-vingts
		s.current += 76
	case s.arabic && tens > 0 && tens < 10 && v == 10: // خمسة عشر
		s.current += v
	case joined && tens < 10 && v >= 20 && int(v)%10 == 0: // fünf und vierzig
		s.current += v
	default:
		return false
	}
	s.empty = false
	return true
}

// newSum returns a sum for the number that starts at a token.
func (w *wording) newSum(i int) sum {
	s := sum{next: i, empty: true, arabic: unicode.Is(unicode.Arabic, firstOf(w.word(i)))}
	s.unitsFirst = s.arabic
	for _, l := range w.languages {
		s.slavic = s.slavic || l.code == "pl" || l.code == "ru"
		s.unitsFirst = s.unitsFirst || l.code == "de"
	}
	return s
}

// isTeen reports whether a word makes the Arabic ordinal before it one of more than ten: الثانية عشرة.
func (w *wording) isTeen(i int) bool {
	ten, ok := w.has(i, isNumber)
	return ok && ten == 10 && w.near(i) && !strings.HasPrefix(w.word(i), "و")
}

// afterJoin returns where the word behind an "and" at k begins, k if there is none, and whether there is one. A number does not begin
// with it.
func (w *wording) afterJoin(k int, inside bool) (at int, joined bool) {
	if !inside {
		return k, false
	}
	at = k
	if _, ok := w.has(k, joins); ok && w.near(k) {
		joined = true
		at = k + 1
	}
	return at, joined || strings.HasPrefix(w.word(at), "و") // the Arabic and
}

// wordsAt reads a number that is written out.
func (w *wording) wordsAt(i int) (n Number, next int) {
	s := w.newSum(i)
	end := len(w.tokens)
	if w.word(i-1) == "без" { // без двадцати девять: the last word is the hour
		end = w.lastWord(i)
	}
	more := true
	for more && s.next < end {
		more = w.addWord(&s, i)
	}
	if s.next == i {
		return n, i
	}
	value := s.total + s.current
	n.Values = []float64{value}
	if s.scale == 1000 && s.total == 1000 && s.current != 0 && w.word(i) == "тысяч" { // тысяч восемнадцать: about 18 000
		n.Values = []float64{s.current * 1000, value}
	}
	n.Ordinal = s.ordinal
	n.Weak = s.weak || value <= 1 || n.Ordinal && value <= 2
	return n, s.next
}

// addWord adds the next word, if it belongs to the number that starts at a token. It reports whether another one may follow.
func (w *wording) addWord(s *sum, start int) (more bool) {
	at, joined := w.afterJoin(s.next, s.next > start)
	if s.next > start && !w.near(at) {
		return false
	}
	parts, is := w.partsAt(at)
	if len(parts) == 0 || is == isOrdinal && s.current == 10 && s.slavic { // dziesięć siódma: ten to seven
		return false
	}
	before := *s
	for j, part := range parts {
		if !s.add(part, joined && s.unitsFirst || j > 0) {
			*s = before
			return false
		}
	}
	_, doubtful := w.has(at, isWeak)
	s.weak = doubtful && at == start
	s.next = at + 1
	if is != isOrdinal {
		return is != isDozen
	}
	s.ordinal = true
	if s.arabic && w.isTeen(s.next) {
		if parts[0] < 10 {
			s.add(10, false)
		}
		s.next++
		return false
	}
	return parts[0] >= 20 && w.unitOrdinal(s.next) != 0 // dwudziestego piątego
}

// lastWord returns where the last of the number words that follow one another begins; the end of the text if there is only one.
func (w *wording) lastWord(i int) int {
	const maxWords = 3
	last := i
	for k := i + 1; k < min(i+maxWords, len(w.tokens)) && w.near(k); k++ {
		if _, ok := w.has(k, isNumber); !ok {
			break
		}
		last = k
	}
	if last == i {
		return len(w.tokens)
	}
	return last
}

// unitOrdinal returns the ordinal from first to ninth at a token; 0 if there is none.
func (w *wording) unitOrdinal(i int) float64 {
	value, ok := w.has(i, isOrdinal)
	if !ok || value > 9 || !w.near(i) {
		return 0
	}
	return value
}

// partsAt returns the numbers that a word consists of.
func (w *wording) partsAt(i int) (parts []float64, is kind) {
	if i >= len(w.tokens) || w.tokens[i].digits || w.tokens[i].sign {
		return nil, isNumber
	}
	for _, is := range []kind{isNumber, isOrdinal, isDozen} {
		if value, ok := w.has(i, is); ok && !(is == isNumber && value >= 1000 && utf8.RuneCountInString(w.word(i)) < 2) {
			return []float64{value}, is
		}
	}
	word := w.word(i)
	if half, found := strings.CutPrefix(word, "пол"); found { // полдевятого
		for _, l := range w.languages {
			for _, s := range l.exact[half] {
				if s.kind == isOrdinal && l.code == "ru" {
					return []float64{s.value - 0.5}, isNumber
				}
			}
		}
	}
	for _, l := range w.languages {
		if l.compound && len(word) >= 6 && len(word) <= longestWord && l.starts[word[:3]] {
			if parts := l.segments(word, 0); len(parts) > 1 {
				return inOrder(parts), isNumber
			}
		}
	}
	return nil, isNumber
}

// longestWord and longestPart limit the words that are split into numbers, in bytes.
const longestWord, longestPart = 80, 24

// segments splits a word such as "fünfundvierzig" into its numbers; nil if it is something else.
func (l *lexicon) segments(word string, depth int) []float64 {
	if word == "" {
		return []float64{}
	}
	if depth > 8 {
		return nil
	}
	if rest, found := strings.CutPrefix(word, "und"); found && depth > 0 {
		if parts := l.segments(rest, depth+1); parts != nil {
			return parts
		}
	}
	for n := min(len(word), longestPart); n >= 2; n-- {
		for _, s := range l.exact[word[:n]] {
			value := s.value
			if s.kind == isHalf {
				value = 0.5
			} else if s.kind != isNumber {
				continue
			}
			if parts := l.segments(word[n:], depth+1); parts != nil {
				return append([]float64{value}, parts...)
			}
		}
	}
	return nil
}

// inOrder returns the parts of a compound in the order in which they add up: five before forty in German, and a half last.
func inOrder(parts []float64) []float64 {
	if last := len(parts) - 1; parts[last] == 0.5 && last == 1 {
		return []float64{parts[0] + 0.5}
	}
	parts = slices.Clone(parts)
	for i := 1; i < len(parts); i++ {
		if parts[i-1] < 10 && parts[i] >= 20 && parts[i] < 100 {
			parts[i-1], parts[i] = parts[i], parts[i-1]
		}
	}
	return parts
}

func firstOf(word string) rune {
	first, _ := utf8.DecodeRuneInString(word)
	return first
}
