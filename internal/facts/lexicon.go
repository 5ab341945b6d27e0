package facts

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"cairn/internal/words"
)

// kind is what a word of a language's table is for.
type kind uint8

const (
	isNumber  kind = iota // value: the number
	isOrdinal             // value: its number
	isDozen               // twelve of something
	isHalf
	isHalfOf // half of something, not half an hour or unit
	isQuarter
	isNoon // noon or midnight
	joins  // is between the words of a number: forty and five
	isUnit // value: a Unit
	isMonth
	isWeekday   // value: 0 for Sunday
	isNear      // value: days from today
	isCounter   // follows a number in Chinese and Japanese
	isYou       // speaks to somebody
	isAssistant // names the bot
	isRequest   // asks for something, or decides it
	isTitle     // is before or after a name
	isWeak      // is a number, and often something else
	isAbout     // says that a number is rounded
)

// sense is one meaning of a word.
type sense struct {
	kind    kind
	value   float64
	accents string // the word with its accents
	capital bool   // only where the word is capitalized
}

// lexicon has the words of one language.
type lexicon struct {
	code     string
	common   []string
	exact    map[string][]sense
	prefix   map[string][]sense // of words that take many endings
	longest  int                // runes of the longest word
	compound bool               // numbers are written as one word
	starts   map[string]bool    // the first three letters of its numbers
}

// table has a section for each language, with a line for each sense: its name, and the words. An asterisk means any ending;
// a word with a capital letter counts only when it is capitalized.
//
//go:embed languages.txt
var table string

// lexicons are all languages, in the order of the table.
var lexicons = sync.OnceValue(func() []*lexicon {
	var all []*lexicon
	for line := range strings.Lines(table) {
		name, list, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, "[") {
			code := strings.Trim(name, "[]")
			all = append(all, &lexicon{
				code: code, exact: map[string][]sense{}, prefix: map[string][]sense{}, starts: map[string]bool{},
				compound: strings.Contains("de it tr en", code),
			})
			continue
		}
		l := all[len(all)-1]
		if name == "common" {
			l.common = strings.Fields(fold(list))
			continue
		}
		is := senseNamed(name)
		for word := range strings.FieldsSeq(list) {
			l.add(word, is)
		}
	}
	return all
})

func (l *lexicon) add(word string, is sense) {
	first := firstOf(word)
	is.capital = unicode.IsUpper(first)
	is.accents = withAccents(strings.TrimSuffix(word, "*"))
	folded := fold(strings.TrimSuffix(word, "*"))
	to := l.exact
	if strings.HasSuffix(word, "*") {
		to = l.prefix
	}
	to[folded] = append(to[folded], is)
	l.longest = max(l.longest, len([]rune(folded)))
	if is.kind == isNumber && len(folded) >= 3 {
		l.starts[folded[:3]] = true
	}
}

// senseNamed returns the sense that a line of the table is for.
func senseNamed(name string) sense {
	if is, known := named[name]; known {
		return is
	}
	for _, p := range []struct {
		prefix string
		kind   kind
	}{{"month", isMonth}, {"wd", isWeekday}, {"wo", isWeekday}, {"n", isNumber}, {"o", isOrdinal}, {"r", isNear}} {
		rest, found := strings.CutPrefix(name, p.prefix)
		if value, err := strconv.ParseFloat(rest, 64); found && err == nil {
			if p.prefix == "wo" { // a weekday of Portuguese, which is an ordinal: terça-feira
				value--
			}
			return sense{kind: p.kind, value: value}
		}
	}
	panic("languages.txt: unknown name " + name)
}

var named = map[string]sense{
	"dozen": {kind: isDozen, value: 12}, "half": {kind: isHalf}, "halfof": {kind: isHalfOf}, "quarter": {kind: isQuarter}, "noon": {kind: isNoon}, "join": {kind: joins},
	"counter": {kind: isCounter}, "you": {kind: isYou}, "assistant": {kind: isAssistant}, "request": {kind: isRequest}, "title": {kind: isTitle}, "weak": {kind: isWeak}, "about": {kind: isAbout},
	"percent": unitSense(Percent), "money": unitSense(Money), "cent": unitSense(Cents), "minute": unitSense(Minutes), "hour": unitSense(Hours), "clock": unitSense(Clock),
	"day": unitSense(Days), "week": unitSense(Weeks), "month": unitSense(Months), "year": unitSense(Years), "weekend": unitSense(weekend),
}

func unitSense(u Unit) sense { return sense{kind: isUnit, value: float64(u)} }

// senses returns what a word may mean in the language.
func (l *lexicon) senses(t token) (all []sense) {
	for _, form := range l.forms(t.text) {
		all = l.appendSenses(all, form, t)
		if len(all) > 0 {
			return all
		}
	}
	if l.code == "tr" {
		return l.withoutEnding(t)
	}
	return all
}

func (l *lexicon) appendSenses(all []sense, word string, t token) []sense {
	for _, s := range l.exact[word] {
		if (!s.capital || t.capital) && (t.accents == t.text || t.accents == s.accents || l.code == "ar") {
			all = append(all, s)
		}
	}
	if len(l.prefix) == 0 || len(all) > 0 {
		return all
	}
	for n := len(word); n >= 3; n-- {
		for _, s := range l.prefix[word[:n]] {
			if t.accents == t.text || strings.HasPrefix(t.accents, s.accents) || l.code == "ar" {
				all = append(all, s)
			}
		}
		if len(all) > 0 {
			break
		}
	}
	return all
}

// withAccents returns a word in lower case. People who write accents mean them: mają is not maja.
func withAccents(word string) string {
	return lower.Replace(strings.ToLower(word))
}

var lower = strings.NewReplacer("ё", "е", "\u0307", "", "'", "", ".", "", "-", "")

// forms returns a word, and in Arabic the word without the particles that are written as part of it.
func (l *lexicon) forms(word string) []string {
	if l.code != "ar" {
		return []string{word}
	}
	forms := []string{word}
	for _, particle := range []string{"و", "ف", "ب", "ل", "ك"} {
		if rest, found := strings.CutPrefix(word, particle); found && len(rest) >= 4 {
			forms = append(forms, rest)
			word = rest
			break
		}
	}
	for _, article := range []string{"ال", "ل"} {
		if rest, found := strings.CutPrefix(word, article); found && len(rest) > 4 {
			forms = append(forms, rest, "ال"+rest)
			break
		}
	}
	return forms
}

// Languages returns the codes of the languages in which a text is likely written, the likeliest first; at most three. The
// languages are those of Known.
func Languages(text string) []string {
	counts := map[string]int{}
	seen := map[string]int{}
	han := 0
	kana := 0
	text = text[:min(len(text), languageBytes)]
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		}
	}
	for _, w := range words.Cut(text) {
		seen[w.Folded]++
	}
	for _, l := range lexicons() {
		for _, word := range l.common {
			if !words.IsUnspaced([]rune(word)[0]) {
				counts[l.code] += seen[word]
			}
		}
	}
	counts["pl"] += strings.Count(text, "ż") + strings.Count(text, "ł") + strings.Count(text, "ś") + strings.Count(text, "ę")
	if kana*kanaShare > han+kana {
		counts["ja"] = han + kana
	} else {
		counts["zh"] = han
	}
	return likeliest(counts)
}

const (
	languageBytes = 1 << 14 // how much of a text tells its language
	leastShare    = 4       // how much evidence there is at least for a second language
	kanaShare     = 8       // Japanese has at least one kana among this many characters
)

// likeliest returns the languages with the most evidence.
func likeliest(counts map[string]int) (codes []string) {
	highest := 0
	for _, n := range counts {
		highest = max(highest, n)
	}
	for _, l := range lexicons() {
		switch n := counts[l.code]; {
		case n > 0 && n == highest:
			codes = slices.Insert(codes, 0, l.code)
		case n > leastShare && 2*n >= highest:
			codes = append(codes, l.code)
		}
	}
	return codes[:min(len(codes), 3)]
}

// fold returns a word or a list of words without case and accents.
func fold(text string) string {
	if !strings.ContainsAny(text, "'.-٪%") {
		return words.Fold(text)
	}
	var folded []string
	for word := range strings.FieldsSeq(text) {
		if plain := words.Fold(strings.NewReplacer("'", "", ".", "", "-", "").Replace(word)); plain != "" {
			folded = append(folded, plain)
		}
	}
	return strings.Join(folded, " ")
}
