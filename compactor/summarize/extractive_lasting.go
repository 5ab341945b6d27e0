// Lasting facts: which sentences are worth remembering after the conversation.

package summarize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
	"cairn/words"
)

// lasting returns how likely a sentence says something about its speaker, or someone they know,
// that matters beyond the day: who they are, what they have, did, decided, like or plan. Above 0 it
// does. Kind words, opinions on life, advice and current activities do not. names are the
// speakers'.
func (s *sentence) lasting(names map[string]bool) float64 {
	text := strings.ReplaceAll(s.alone, "’", "'")
	t, kind := traitsOf(text, names), cueIn(text)
	if foreign(text) { // its verbs are not known
		if strings.ContainsFunc(text, words.IsUnspaced) { // words are not separated by spaces
			t.own, t.figure = t.own || ownSigns().MatchString(text), t.figure || strings.ContainsFunc(text, unicode.IsNumber)
		}
		if !s.idle && (kind != "" || len(s.terms) >= 3 && (t.self || t.own || t.figure)) {
			return 1
		}
		return -1
	}
	sum := -5.8 + 1.2*min(t.concrete, 4) + 0.3*min(max(t.concrete-4, 0), 6) - 1.2*min(t.words/10, 2.5)
	for _, trait := range []struct {
		holds  bool
		weight float64
	}{
		{t.own, 1.9},
		{t.self, 1.4},
		{t.tells, 1.3},
		{t.own && t.tells, -0.8},
		{t.figure, 1.6},
		{s.timed && !t.vagueTime, 2.1},
		{kind == "identity", 2.3},
		{kind == "decision", 2.4},
		{kind == "todo", 0.8},
		{kind == "preference", 1.7},
		{s.idle, -2.2},
		{t.you, -1.4},
	} {
		if trait.holds {
			sum += trait.weight
		}
	}
	if sum > minBeside && passing().MatchString(text) {
		sum -= 2.1
	}
	return sum
}

// foreign reports whether a sentence does not appear to be English.
func foreign(text string) bool {
	return !isEnglish(text) && (strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) }) ||
		slices.ContainsFunc(strings.Fields(text), func(word string) bool { return ownWords[plain(word)] }))
}

// traits are features of a sentence.
type traits struct {
	own       bool // it has I, my or she
	self      bool // it has I, my or we
	you       bool
	tells     bool // something happened
	figure    bool // it contains a number
	vagueTime bool // its only time is the present day
	words     float64
	concrete  float64 // terms that are not small talk; at most two names count twice
}

func traitsOf(text string, names map[string]bool) (t traits) {
	named := strings.Count(text, `"`)/2 + strings.Count(text, "“")
	t.vagueTime, t.words = true, float64(len(strings.Fields(text)))
	text = dates().ReplaceAllString(text, "")
	start := true
	for _, field := range strings.Fields(text) {
		word := plain(field)
		first, _ := utf8.DecodeRuneInString(strings.TrimLeft(field, `"'“(*_`))
		t.self, t.you = t.self || selfWords[word], t.you || youWords[word]
		switch {
		case strings.HasPrefix(word, "we") && selfWords[word] || word == "us" || word == "our": // often everyone
		case selfWords[word] || ownWords[word] || nearWords[word]:
			t.own = true
		case unicode.IsNumber(first):
			t.figure, t.vagueTime = true, t.vagueTime && len(word) != 4 // a year
		case !start && isName(word, word, first, names) && !timeWords[word]:
			named++
		case pasts[word] || strings.HasSuffix(word, "ed") && len(word) > 4:
			t.tells, t.own = true, t.own || start // "Got a tattoo"
		}
		if timeWords[word] && word != "today" && word != "tonight" {
			t.vagueTime = false
		}
		start = strings.ContainsAny(field[len(field)-1:], ".!?:")
	}
	t.concrete = float64(concrete(distinct(words.Content(text)), names) + min(named, 2))
	return t
}

var (
	// dates matches what withDates added.
	dates = lazy.Pattern(`\((?:about |the )?[^()]*\d{4}\)`)

	// passing matches what no longer matters after the conversation.
	passing = lazy.Pattern(`(?i)\b(?:not (?:gonna|going to)|right now|at the moment|brb|be right back|i'm on my way|gotta (?:go|run)|head(?:ing)? (?:to bed|out|home|off|back)|to bed|to sleep|` +
		`tonight|this (?:morning|afternoon|evening|weekend)|in a (?:bit|sec|second|minute|moment|few)|see you|talk (?:to you )?(?:soon|later)|catch up|keep (?:you|me) (?:posted|updated)|let me know|` +
		`(?:i|we)'ll (?:let|keep|try|check|see|be|do|definitely|remember|look|think|make sure)|keep (?:on )?\w+ing|fingers crossed|can't wait|since (?:we|the|our|i) (?:\w+ )?(?:last|talked|spoke)|takes me back|check (?:it|this|that)|mentioned)\b`)

	ownWords  = words.Set(`ich mein meine meinen meiner wir unser unsere je j'ai mon ma mes nous notre yo mi mis nosotros nuestra nuestro я мой моя мне мы наш наша`)
	ownSigns  = lazy.Pattern(`私|僕|俺|我|うち|저는|나는|제가|내가|우리`)
	nearWords = words.Set(`he she his her him hers`)
	pasts     = words.Set(`went had made took met saw found bought won began came gave left told wrote built lost grew taught became did ran sold read spent brought drove flew sang said heard put set broke cut hurt caught chose held kept led sent spoke stood threw wore swam slept fell ate drew shot grew moved`)
)
