package facts

import (
	"slices"
	"strings"
	"unicode"

	"cairn/internal/words"
)

// maxThings is how many words after a number may say what it counts: an adjective and its noun.
const maxThings = 2

// things returns the words after a number that say what it counts, folded: big chairs; in Chinese and Japanese the counter.
func (r *numberReader) things(next int) (all []string) {
	if r.text.token(next).han {
		return r.counted(next)
	}
	for k := next; k < len(r.text.tokens) && len(all) < maxThings; k++ {
		t := r.text.tokens[k]
		if t.digits || t.sign || t.han || !r.text.near(k) || r.text.isCommon(t.text) || len(r.text.senses[k]) > 0 && !r.text.onlyNames(k) {
			break
		}
		all = append(all, strings.TrimPrefix(t.text, "ال"))
	}
	return all
}

// counted returns the counter after a number. One for things of any kind is followed by what it counts.
func (r *numberReader) counted(next int) []string {
	if r.text.token(next).gap != "" {
		return nil
	}
	if _, ok := r.text.has(next, isCounter); !ok {
		if unicode.In(firstOf(r.text.word(next)), unicode.Hiragana) {
			return nil
		}
		return []string{r.text.word(next)}
	}
	counter := r.text.word(next)
	switch {
	case anyThing[counter]:
		if after := r.text.token(next + 1); after.han && after.gap == "" && !unicode.In(firstOf(after.text), unicode.Hiragana) {
			return []string{after.text + r.text.word(next+2)}
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
	const least, maxEnding = 3, 3
	x := []rune(a)
	y := []rune(b)
	common := 0
	for common < min(len(x), len(y)) && x[common] == y[common] {
		common++
	}
	rest := len(x) - common
	lost := len(y) - common
	return a == b || common >= least && max(rest, lost) <= maxEnding && (min(rest, lost) == 0 || common > least)
}
