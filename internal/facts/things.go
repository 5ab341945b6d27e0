package facts

import (
	"slices"
	"strings"
	"unicode"

	"cairn/internal/words"
)

// mostThings is how many words after a number may say what it counts: an adjective and its noun.
const mostThings = 2

// things returns the words after a number that say what it counts, folded: big chairs; in Chinese and Japanese the counter.
func (r *reader) things(next int) (all []string) {
	if r.token(next).han {
		return r.counted(next)
	}
	for k := next; k < len(r.tokens) && len(all) < mostThings; k++ {
		t := r.tokens[k]
		if t.digits || t.sign || t.han || !r.near(k) || r.isCommon(t.text) || len(r.senses[k]) > 0 && !r.onlyNames(k) {
			break
		}
		all = append(all, strings.TrimPrefix(t.text, "ال"))
	}
	return all
}

// counted returns the counter after a number. One for things of any kind is followed by what it counts.
func (r *reader) counted(next int) []string {
	if r.token(next).gap != "" {
		return nil
	}
	if _, ok := r.has(next, isCounter); !ok {
		if unicode.In(firstOf(r.token(next).text), unicode.Hiragana) {
			return nil
		}
		return []string{r.token(next).text}
	}
	counter := r.token(next).text
	switch {
	case anyThing[counter]:
		if after := r.token(next + 1); after.han && after.gap == "" && !unicode.In(firstOf(after.text), unicode.Hiragana) {
			return []string{after.text + r.token(next+2).text}
		}
		return nil
	case people[counter]:
		return []string{"人"}
	}
	return []string{counter}
}

// Counters of anything, and of people.
var (
	anyThing = words.Set("个 個 つ 件 点 号 回 次 部")
	people   = words.Set("人 名 位 口")
)

// isCommon reports whether a word is one of the most frequent ones of a language: of, and.
func (r *reader) isCommon(word string) bool {
	return slices.ContainsFunc(r.languages, func(l *lexicon) bool { return slices.Contains(l.common, word) })
}

// onlyNames reports whether a word counts or measures nothing, so it may be what a number counts.
func (r *reader) onlyNames(i int) bool {
	return !slices.ContainsFunc(r.senses[i], func(s sense) bool {
		return s.kind != isWeak && s.kind != isRequest && s.kind != isAssistant && s.kind != isTitle
	})
}

// CountAlike reports whether the same word follows two numbers directly.
func CountAlike(a, b Number) bool {
	return len(a.Of) > 0 && len(b.Of) > 0 && sameWord(a.Of[0], b.Of[0])
}

// SameThing reports whether two numbers may count the same, as far as the words after them tell.
func SameThing(a, b Number) bool {
	return slices.ContainsFunc(a.Of, func(x string) bool {
		return slices.ContainsFunc(b.Of, func(y string) bool { return sameWord(x, y) })
	})
}

// sameWord reports whether two words are likely forms of one: box and boxes, testy and testów.
func sameWord(a, b string) bool {
	const least, mostEnding = 3, 3
	x := []rune(a)
	y := []rune(b)
	common := 0
	for common < min(len(x), len(y)) && x[common] == y[common] {
		common++
	}
	rest := len(x) - common
	lost := len(y) - common
	return a == b || common >= least && max(rest, lost) <= mostEnding && (min(rest, lost) == 0 || common > least)
}
