package judge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/facts"
	"cairn/internal/words"
)

// person is an author in the span.
type person struct {
	name    string   // folded
	parts   []string // of the name, folded
	written string
	bot     bool
}

const noPerson = -1

// cast is the people of a span: its authors, and others whom lines are about.
type cast struct {
	people    []person
	assistant int      // index of the bot among people; noPerson
	languages []string // of the span, those of people first
}

// person returns the index of an author.
func (c *cast) person(name string) int {
	folded := words.Fold(name)
	at := slices.IndexFunc(c.people, func(p person) bool { return p.name == folded })
	if at < 0 {
		at = len(c.people)
		c.people = append(c.people, person{name: folded, parts: strings.FieldsFunc(folded, parts), written: name})
	}
	return at
}

// word is a word of a text with what is around it.
type nameWord struct {
	text    string
	folded  string
	first   bool // it starts a sentence or the line
	capital bool
	before  string // the word before it, folded
}

// wordsIn returns the words of a text, an apostrophe ends one.
func wordsIn(text string) (all []nameWord) {
	start := -1
	gap := 0
	before := ""
	end := func(i int) {
		if start < 0 {
			return
		}
		w := nameWord{text: text[start:i], before: before}
		r, _ := utf8.DecodeRuneInString(w.text)
		w.capital = unicode.IsUpper(r)
		w.first = len(all) == 0 || strings.ContainsAny(text[gap:start], ".:!?•\"“„«(\n")
		if w.first && len(all) > 0 && text[gap:start] == ". " && len(before) <= 3 { // an abbreviation
			w.first = false
		}
		w.folded = words.Fold(w.text)
		all = append(all, w)
		before = w.folded
		start = -1
		gap = i
	}
	unspaced := false
	for i, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r):
			if start >= 0 && words.IsUnspaced(r) != unspaced && unicode.IsLetter(r) { // Mia認為
				end(i)
			}
			unspaced = words.IsUnspaced(r)
			if start < 0 {
				start = i
			}
		default:
			end(i)
		}
	}
	end(len(text))
	return all
}

// mentioned returns the people that a text mentions, in order. Only capitalized words of a line are names; in messages people
// write them as they like.
func (c *cast) mentioned(text string, line bool) (people []int) {
	type mention struct{ at, person int }
	var found []mention
	folded := words.Fold(text)
	for i, p := range c.people {
		if at := p.unspacedAt(folded); at >= 0 {
			found = append(found, mention{at, i})
		}
	}
	slices.SortFunc(found, func(a, b mention) int { return a.at - b.at })
	for _, m := range found {
		people = append(people, m.person)
	}
	for _, w := range wordsIn(text) {
		if facts.Look(w.folded, c.languages).Bot && c.assistant != noPerson {
			people = append(people, c.assistant)
			continue
		}
		if line && !w.capital && unicode.Is(unicode.Latin, firstRune(w.text)) {
			continue
		}
		called := c.called(w)
		if !w.capital && unicode.Is(unicode.Latin, firstRune(w.text)) && len(w.folded) < 4 {
			called = slices.DeleteFunc(called, func(p int) bool { return !slices.Contains(c.people[p].parts, w.folded) })
		}
		people = append(people, called...)
	}
	seen := map[int]bool{}
	return slices.DeleteFunc(people, func(p int) bool {
		was := seen[p]
		seen[p] = true
		return was
	})
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// unspacedAt returns where a text mentions a person whose name is in a script without spaces; -1 if it does not.
func (p person) unspacedAt(text string) int {
	for _, part := range append([]string{p.name}, p.parts...) {
		runes := []rune(part)
		if len(runes) == 0 || !words.IsUnspaced(runes[0]) {
			continue
		}
		forms := []string{part}
		if len(runes) == 3 {
			forms = append(forms, string(runes[1:]))
		}
		if len(runes) <= 3 {
			for _, r := range runes {
				if !unicode.Is(unicode.Han, r) { // a syllable, which many names have
					continue
				}
				for _, kind := range []string{"小", "老", "阿"} {
					forms = append(forms, kind+string(r))
				}
				for _, kind := range []string{"总", "哥", "姐", "工", "老师", "さん", "くん", "ちゃん"} {
					forms = append(forms, string(r)+kind)
				}
			}
		}
		for _, form := range forms {
			if at := strings.Index(text, form); at >= 0 {
				return at
			}
		}
	}
	return -1
}

// called returns the people whom a word may name: those whose names are most like it.
func (c *cast) called(w nameWord) (people []int) {
	best := 0
	if facts.Look(w.folded, c.languages).Known || words.IsFrequent(w.folded) { // "the" is no short form of Theo
		best = equalNames
	}
	for i, p := range c.people {
		for _, part := range p.parts {
			like := likeName(w.folded, part, c.inflects())
			switch {
			case like == 0 || like < best:
			case like > best:
				best = like
				people = []int{i}
			case !slices.Contains(people, i):
				people = append(people, i)
			}
		}
	}
	return people
}

// inflects reports whether names have endings in a language of the span.
func (c *cast) inflects() bool {
	return slices.ContainsFunc(c.languages, func(code string) bool { return strings.Contains("pl ru tr", code) })
}

// diminutives are the endings of short forms.
var diminutives = []string{"y", "ie", "i"}

// equalNames is how much a word is like a name that it equals.
const equalNames = 100

// likeName returns how much a word is like a name: the letters that both begin with, if the rest may be an ending or the word
// is a short form; 0 if they differ. Equal ones are most alike.
func likeName(word, name string, inflects bool) int {
	if word == name {
		return equalNames
	}
	if firstRune(name) >= 0x600 && firstRune(name) < 0x700 { // Arabic particles are part of the word
		for _, particle := range []string{"و", "ل", "ب", "ف", "ك"} {
			if word == particle+name {
				return equalNames
			}
		}
		return 0
	}
	a := []rune(word)
	b := []rune(name)
	if words.IsUnspaced(b[0]) {
		return 0
	}
	if len(a) >= 4 && strings.HasSuffix(name, word) { // Betta for Elisabetta
		return len(a) - 1
	}
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	rest := len(a) - common
	lost := len(b) - common
	switch {
	case common < 3:
		return 0
	case rest == 0: // a short form
		return common
	case rest <= 2 && slices.Contains(diminutives, string(a[common:])): // Kathy, Susi
		return common
	case lost == 0 && len(b) <= 4 && !inflects:
		if string(a[common:]) != "s" {
			return 0
		}
		return common
	case rest <= 3 && lost == 0, rest <= 3 && lost <= 2 && inflects && common >= 3:
		return common
	}
	return 0
}
