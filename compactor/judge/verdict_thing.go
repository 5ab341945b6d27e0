package judge

import (
	"slices"
	"strings"
	"unicode"

	"cairn/internal/facts"
	"cairn/internal/words"
)

// rival returns a number of the cited messages that counts the same thing as n in the line, where the line should have it: they
// do not say n of that thing, and the line does not have their number.
func (x *numberCheck) rival() (passage int, other facts.Number) {
	if len(x.n.Of) == 0 {
		return -1, other
	}
	passage = -1
	for _, i := range x.cited {
		if x.e.read(i).facts.Cut {
			return -1, other
		}
		for _, m := range x.e.passages[i].facts.Numbers {
			switch {
			case facts.Same(x.n, m) && counts(m) && (len(m.Of) == 0 || facts.SameThing(x.n, m)):
				return -1, other
			case passage < 0 && counts(m) && !m.Weak && m.Ordinal == x.n.Ordinal && facts.CountAlike(x.n, m) && !x.claim.has(m):
				passage = i
				other = m
			}
		}
	}
	return passage, other
}

// rivals reports whether it is certain that two different numbers cannot both be true: they have the same unit, count the same, or
// nothing says what they count.
func rivals(n, m facts.Number) bool {
	switch {
	case n.Unit == m.Unit && n.Unit != facts.None:
		return true
	case n.Unit == facts.None && m.Unit == facts.None && len(n.Of) > 0:
		return facts.SameThing(n, m)
	}
	if slices.ContainsFunc([]facts.Number{n, m}, func(of facts.Number) bool { return of.Unit > facts.Clock || of.Unit == facts.Percent }) {
		return false
	}
	return len(n.Of) == 0 && len(m.Of) == 0 && len(n.Part) == 0 && len(m.Part) == 0 && (n.Unit == facts.None || m.Unit == facts.None)
}

// counts reports whether a number counts things: it is no part of a date or name.
func counts(n facts.Number) bool { return !n.Dated && !n.Code && n.Unit == facts.None }

// names reports whether the line has a word for what a number counts.
func (c *claim) names(n facts.Number) bool {
	return slices.ContainsFunc(n.Of, func(thing string) bool {
		return slices.ContainsFunc(evidenceKeys("x "+thing), func(k key) bool {
			return slices.ContainsFunc(c.keys, func(of key) bool { return of.short == k.short || of.stem == k.stem })
		})
	})
}

// byLeader returns those of the passages whose author the line begins with.
func (x *dateCheck) byLeader(passages []int) []int {
	return slices.DeleteFunc(slices.Clone(passages), func(i int) bool {
		return !x.claim.leads || len(x.claim.people) == 0 || x.e.passages[i].author != x.claim.people[0]
	})
}

// besideSays reports whether what was shown beside the span says a fact of the line, though a message of the span that it cites
// has another one: it says as much of the line as that message does. Of a message outside of the span only some is known, so that
// anything beside the span counts.
func (x *comparison) besideSays(passage int, has func(int) bool) bool {
	least := 0.0
	if passage < x.e.spanEnd {
		least = x.overlap(passage).words
	}
	return slices.ContainsFunc(x.beside(), func(i int) bool { return x.overlap(i).words >= least && has(i) })
}

// repeats reports whether a line with one number repeats the one message that it cites and adds no word, so its number is that of
// the message, and no sum.
func (x *numberCheck) repeats(cited []int) bool {
	return len(cited) == 1 && x.addsNothing(cited[0]) && x.clausesNamed(cited[0]) < 2 && !x.claim.adds()
}

// adds reports whether a line may state a sum, a difference or a multiple: it has a word of these, or several numbers.
func (c *claim) adds() bool {
	return c.counts() > 1 || c.sums()
}

// sums reports whether a line has a word of sums, differences or multiples.
func (c *claim) sums() bool {
	return strings.ContainsAny(c.text, signsOfSums) || slices.ContainsFunc(wordsIn(c.text), func(w nameWord) bool { return ofSums[w.folded] })
}

// divides reports whether a line has a word of totals or of what is for each: the number is computed of some that may not be read.
func (c *claim) divides() bool {
	return strings.ContainsAny(c.text, "每各共合総") || slices.ContainsFunc(wordsIn(c.text), func(w nameWord) bool { return ofTotals[w.folded] })
}

var ofTotals = words.Set(words.Fold(`each per together altogether total jeder jede jedes zusammen insgesamt pro cada juntos chaque ensemble ogni insieme totale
każdy każda razem łącznie каждый каждая вместе итого toplam her birlikte الواحد الواحدة لكل معا المجموع`))

// otherRates reports whether a line states something for another time than a message does: a year instead of a month.
func (x *numberCheck) otherRates(i int) bool {
	of := x.e.read(i).facts.Rates
	return len(of) > 0 && slices.ContainsFunc(x.claim.facts.Rates, func(u facts.Unit) bool { return !slices.Contains(of, u) })
}

// clausesNamed returns how many clauses of a message have a number and a word of the line that no other one has: the line may be of
// their sum.
func (x *numberCheck) clausesNamed(i int) (n int) {
	all := x.e.clauses(i)
	for k := range all {
		others := slices.Concat(all[:k], all[k+1:])
		if slices.ContainsFunc(all[k].facts.Numbers, isValue) && x.claim.sharedBut(all[k:k+1], others) >= 0.9 {
			n++
		}
	}
	return n
}

// tellsNothing reports whether a word of the line is one of its numbers, or part of it, or an ending of Japanese.
func (c *claim) tellsNothing(k key) bool {
	return strings.ContainsFunc(k.short, func(r rune) bool { return unicode.Is(unicode.Hiragana, r) }) || strings.ContainsAny(k.short, numerals) || slices.ContainsFunc(c.facts.Numbers, func(n facts.Number) bool {
		return !n.Weak && strings.Contains(n.Text, k.short)
	})
}

const numerals = "一二三四五六七八九十百千万两半"

// counts returns how many numbers a line states.
func (c *claim) counts() (n int) {
	for _, number := range c.facts.Numbers {
		if !number.Weak && !number.Dated {
			n++
		}
	}
	return n
}

// addsNothing reports whether a message has nearly all words of a line.
func (x *comparison) addsNothing(i int) bool {
	const nearly = 0.85
	found := 0.0
	sum := 0.0
	for _, k := range x.claim.keys {
		if x.claim.tellsNothing(k) {
			continue
		}
		sum += k.weight
		if p := &x.e.passages[i]; p.keys[k.short] > 0 || p.keys[k.stem] > 0 {
			found += k.weight
		}
	}
	return sum > 0 && found >= nearly*sum
}

// ofSums are words of sums and differences that are too frequent to be compared; signsOfSums are those of Chinese and Japanese.
var ofSums = words.Set(words.Fold(`twice double half before earlier previous previously all both more less fewer still left each per together altogether total
doppelt doppelte hälfte bisher vorher früher alle beide mehr weniger noch je pro insgesamt zusammen
doble mitad antes anterior todos todas ambos más menos aún todavía cada por total
double moitié avant ancien ancienne tous toutes plus moins encore chaque par total
doppio metà prima precedente tutti tutte più meno ancora ogni per totale
dobro metade todas mais ainda total
połowa połowę dwukrotnie wcześniej poprzednio wszystkie więcej mniej jeszcze każdy każda po razem
вдвое половина половину раньше прежде все всего больше меньше еще каждый каждая по итого вместе
yarısı önce önceki daha hala toplam her
سابقا قبل ضعف نصف كل اكثر اقل المجموع معا`))

const signsOfSums = "共总總多少还還剩每各合計计倍残全前比余餘差"
