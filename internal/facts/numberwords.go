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
}

// add adds the next word. It reports false if the word belongs to another number. joined reports whether a word such as "and"
// stands before it.
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
func (r *reader) newSum(i int) sum {
	s := sum{empty: true, arabic: unicode.Is(unicode.Arabic, firstOf(r.token(i).text))}
	s.unitsFirst = s.arabic
	for _, l := range r.languages {
		s.slavic = s.slavic || l.code == "pl" || l.code == "ru"
		s.unitsFirst = s.unitsFirst || l.code == "de"
	}
	return s
}

// isTeen reports whether a word makes the Arabic ordinal before it one of more than ten: الثانية عشرة.
func (r *reader) isTeen(i int) bool {
	ten, ok := r.has(i, isNumber)
	return ok && ten == 10 && r.near(i) && !strings.HasPrefix(r.token(i).text, "و")
}

// afterJoin returns where the word behind an "and" at k begins, k if there is none, and whether there is one. A number does not begin
// with it.
func (r *reader) afterJoin(k int, inside bool) (at int, joined bool) {
	if !inside {
		return k, false
	}
	at = k
	if _, ok := r.has(k, joins); ok && r.near(k) {
		joined = true
		at = k + 1
	}
	return at, joined || strings.HasPrefix(r.token(at).text, "و") // the Arabic and
}

// wordsAt reads a number that is written out.
func (r *reader) wordsAt(i int) (n Number, next int) {
	s := r.newSum(i)
	next = i
	weak := false
	end := len(r.tokens)
	if r.token(i-1).text == "без" { // без двадцати девять: the last word is the hour
		end = r.lastWord(i)
	}
	for k := i; k < end; {
		at, joined := r.afterJoin(k, k > i)
		if k > i && !r.near(at) {
			break
		}
		parts, is := r.partsAt(at)
		if len(parts) == 0 {
			break
		}
		if is == isOrdinal && s.current == 10 && s.slavic { // dziesięć siódma: ten to seven
			break
		}
		before := s
		ok := true
		for j, part := range parts {
			ok = ok && s.add(part, joined && s.unitsFirst || j > 0)
		}
		if !ok {
			s = before
			break
		}
		_, doubtful := r.has(at, isWeak)
		weak = doubtful && at == i
		k = at + 1
		next = at + 1
		if is == isOrdinal {
			n.Ordinal = true
			if s.arabic && r.isTeen(next) {
				if parts[0] < 10 {
					s.add(10, false)
				}
				next++
				break
			}
			if parts[0] < 20 || r.unitOrdinal(next) == 0 { // dwudziestego piątego
				break
			}
		}
		if is == isDozen {
			break
		}
	}
	if next == i {
		return n, i
	}
	value := s.total + s.current
	n.Values = []float64{value}
	if s.scale == 1000 && s.total == 1000 && s.current != 0 && r.token(i).text == "тысяч" { // тысяч восемнадцать: about 18 000
		n.Values = []float64{s.current * 1000, value}
	}
	n.Weak = weak || value <= 1 || n.Ordinal && value <= 2
	return n, next
}

// lastWord returns where the last of the number words that follow one another begins; the end of the text if there is only one.
func (r *reader) lastWord(i int) int {
	const most = 3
	last := i
	for k := i + 1; k < min(i+most, len(r.tokens)) && r.near(k); k++ {
		if _, ok := r.has(k, isNumber); !ok {
			break
		}
		last = k
	}
	if last == i {
		return len(r.tokens)
	}
	return last
}

// unitOrdinal returns the ordinal from first to ninth at a token; 0 if there is none.
func (r *reader) unitOrdinal(i int) float64 {
	value, ok := r.has(i, isOrdinal)
	if !ok || value > 9 || !r.near(i) {
		return 0
	}
	return value
}

// partsAt returns the numbers that a word consists of.
func (r *reader) partsAt(i int) (parts []float64, is kind) {
	if i >= len(r.tokens) || r.tokens[i].digits || r.tokens[i].sign {
		return nil, isNumber
	}
	for _, is := range []kind{isNumber, isOrdinal, isDozen} {
		if value, ok := r.has(i, is); ok && !(is == isNumber && value >= 1000 && utf8.RuneCountInString(r.tokens[i].text) < 2) {
			return []float64{value}, is
		}
	}
	word := r.tokens[i].text
	if half, found := strings.CutPrefix(word, "пол"); found { // полдевятого
		for _, l := range r.languages {
			for _, s := range l.exact[half] {
				if s.kind == isOrdinal && l.code == "ru" {
					return []float64{s.value - 0.5}, isNumber
				}
			}
		}
	}
	for _, l := range r.languages {
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
