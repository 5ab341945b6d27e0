package facts

import "strings"

// turkishEndings are those of numbers, hours and days, folded: to nine thousand, at half past seven.
var turkishEndings = strings.Fields("ydi ydu di du ti tu ser sar inde inda unde unda inden indan den dan ten tan lik luk ye ya yi yu de da te ta e a i ı u")

// withoutEnding returns what a Turkish word means without its ending, if it is a number, a unit or a day.
func (l *lexicon) withoutEnding(t token) (all []sense) {
	for _, ending := range turkishEndings {
		stem, found := strings.CutSuffix(t.text, ending)
		if !found || len(stem) < 3 || stem == "yuz" { // yüz is also a face, and "bu yüzden" is "therefore"
			continue
		}
		accents := []rune(t.accents)
		accents = accents[:max(len(accents)-len([]rune(ending)), 0)]
		for _, s := range l.appendSenses(nil, stem, token{text: stem, accents: string(accents), capital: t.capital}) {
			switch s.kind {
			case isNumber, isHalf, isUnit, isMonth, isWeekday, isOrdinal:
				all = append(all, s)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}
