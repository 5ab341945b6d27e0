package facts

import (
	"slices"
	"strings"
)

// wording is a text as tokens, with what each of its words may mean. Nothing changes it after wordingOf.
type wording struct {
	tokens    []token
	languages []*lexicon
	senses    [][]sense
	width     []int // tokens of the word that starts at the token; 0: inside of one
}

// wordingOf splits a text, and finds what each word may mean in the languages.
func wordingOf(text string, languages []string) *wording {
	w := &wording{tokens: tokensOf(text)}
	for _, l := range lexicons() {
		if slices.Contains(languages, l.code) {
			w.languages = append(w.languages, l)
		}
	}
	w.senses = make([][]sense, len(w.tokens))
	w.width = make([]int, len(w.tokens))
	w.lookUp()
	return w
}

// marks says for each token whether it is marked; nil: none is.
type marks []bool

func (m marks) at(i int) bool { return i < len(m) && m[i] }

// set marks the tokens from one to another, without the last.
func (m marks) set(from, to int) {
	for i := from; i < to; i++ {
		m[i] = true
	}
}

// lookUp finds what each word may mean. Words of scripts without spaces are the longest known ones.
func (w *wording) lookUp() {
	for i := 0; i < len(w.tokens); {
		t := w.tokens[i]
		w.width[i] = 1
		switch {
		case t.sign && t.text == "%":
			w.senses[i] = []sense{unitSense(Percent)}
		case t.sign && strings.Contains("°", t.text):
		case t.sign:
			w.senses[i] = []sense{unitSense(Money)}
		case t.han:
			w.lookUpHan(i)
		case !t.digits:
			for _, l := range w.languages {
				w.senses[i] = append(w.senses[i], l.senses(t)...)
			}
		}
		i += w.width[i]
	}
}

func (w *wording) lookUpHan(at int) {
	for _, l := range w.languages {
		word := ""
		n := 0
		for i := at; i < len(w.tokens) && i-at < l.longest && w.tokens[i].han && (i == at || w.tokens[i].gap == ""); i++ {
			word += w.word(i)
			if found := l.exact[word]; len(found) > 0 && i-at+1 >= w.width[at] {
				w.senses[at] = found
				n = i - at + 1
			}
		}
		w.width[at] = max(n, w.width[at])
	}
}

// has returns the value of a token's sense of a kind.
func (w *wording) has(i int, is kind) (value float64, ok bool) {
	if i < 0 || i >= len(w.tokens) {
		return 0, false
	}
	for _, s := range w.senses[i] {
		if s.kind == is {
			return s.value, true
		}
	}
	return 0, false
}

// before returns where the word before a token starts.
func (w *wording) before(i int) int {
	for i--; i > 0 && w.width[i] == 0; i-- {
	}
	return i
}

// after returns where the word after the one at a token starts.
func (w *wording) after(i int) int { return i + max(w.width[i], 1) }

// token returns a token; one without text, behind a line end, outside of the text.
func (w *wording) token(i int) token {
	if i >= 0 && i < len(w.tokens) {
		return w.tokens[i]
	}
	return token{gap: "\n"}
}

// word returns the text of a token, folded; "" outside of the text.
func (w *wording) word(i int) string { return w.token(i).text }

// near reports whether nothing but space or a hyphen separates a token from the one before.
func (w *wording) near(i int) bool {
	if i >= len(w.tokens) {
		return false
	}
	switch w.tokens[i].gap {
	case "", " ", "-", "\u00a0", "\u202f":
		return true
	}
	return false
}

// nearWord is near, or an apostrophe: un quart d'heure.
func (w *wording) nearWord(i int) bool {
	return w.near(i) || w.token(i).gap == "'" || w.token(i).gap == "’"
}

// ordinalEnding reports whether a token is the ending of a number: 3rd, 3º, 3-го.
func (w *wording) ordinalEnding(i int) bool {
	t := w.token(i)
	return !t.digits && !t.sign && !t.han && len([]rune(t.text)) <= 3 && (t.gap == "" || t.gap == "-") && w.token(i-1).digits
}

// isOne reports whether a word is the article, or the number one.
func (w *wording) isOne(i int) bool {
	value, ok := w.has(i, isNumber)
	return ok && value == 1
}

// halfBefore reports whether half nine is half past eight.
func (w *wording) halfBefore() bool {
	return slices.ContainsFunc(w.languages, func(l *lexicon) bool { return l.code == "de" || l.code == "pl" || l.code == "ru" })
}

// isCommon reports whether a word is one of the most frequent ones of a language: of, and.
func (w *wording) isCommon(word string) bool {
	return slices.ContainsFunc(w.languages, func(l *lexicon) bool { return slices.Contains(l.common, word) })
}

// onlyNames reports whether a word counts or measures nothing, so it may be what a number counts.
func (w *wording) onlyNames(i int) bool {
	return !slices.ContainsFunc(w.senses[i], func(s sense) bool {
		return s.kind != isWeak && s.kind != isRequest && s.kind != isAssistant && s.kind != isTitle
	})
}
