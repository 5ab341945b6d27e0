package facts

import (
	"strings"
)

// reader reads the facts of one text.
type reader struct {
	tokens    []token
	languages []*lexicon
	senses    [][]sense
	width     []int  // tokens of the word that starts here; 0: inside of one
	dated     []bool // part of a date
	days      []bool // may be a day of the month
	inNumber  []bool // part of a number
}

// lookUp finds what each word may mean. Words of scripts without spaces are the longest known ones.
func (r *reader) lookUp() {
	r.senses = make([][]sense, len(r.tokens))
	r.width = make([]int, len(r.tokens))
	r.dated = make([]bool, len(r.tokens))
	r.days = make([]bool, len(r.tokens))
	r.inNumber = make([]bool, len(r.tokens))
	for i := 0; i < len(r.tokens); {
		t := r.tokens[i]
		r.width[i] = 1
		switch {
		case t.sign && t.text == "%":
			r.senses[i] = []sense{unitSense(Percent)}
		case t.sign && strings.Contains("°", t.text):
		case t.sign:
			r.senses[i] = []sense{unitSense(Money)}
		case t.han:
			r.lookUpHan(i)
		case !t.digits:
			for _, l := range r.languages {
				r.senses[i] = append(r.senses[i], l.senses(t)...)
			}
		}
		i += r.width[i]
	}
}

func (r *reader) lookUpHan(at int) {
	for _, l := range r.languages {
		word := ""
		n := 0
		for i := at; i < len(r.tokens) && i-at < l.longest && r.tokens[i].han && (i == at || r.tokens[i].gap == ""); i++ {
			word += r.tokens[i].text
			if found := l.exact[word]; len(found) > 0 && i-at+1 >= r.width[at] {
				r.senses[at] = found
				n = i - at + 1
			}
		}
		r.width[at] = max(n, r.width[at])
	}
}

// has returns the value of a token's sense of a kind.
func (r *reader) has(i int, is kind) (value float64, ok bool) {
	if i < 0 || i >= len(r.tokens) {
		return 0, false
	}
	for _, s := range r.senses[i] {
		if s.kind == is {
			return s.value, true
		}
	}
	return 0, false
}

// before returns where the word before a token starts.
func (r *reader) before(i int) int {
	for i--; i > 0 && r.width[i] == 0; i-- {
	}
	return i
}

func (r *reader) token(i int) token {
	if i >= 0 && i < len(r.tokens) {
		return r.tokens[i]
	}
	return token{gap: "\n"}
}

// near reports whether nothing but space or a hyphen separates a token from the one before.
func (r *reader) near(i int) bool {
	if i >= len(r.tokens) {
		return false
	}
	switch r.tokens[i].gap {
	case "", " ", "-", "\u00a0", "\u202f":
		return true
	}
	return false
}
