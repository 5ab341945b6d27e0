package secrets

import (
	"strings"
	"sync"
)

// keywordIndex finds all keywords of a text in one pass: there are hundreds, nearly every text has none, and each text is
// searched again wherever it is copied.
type keywordIndex struct {
	rules int
	// starts has the keywords by the last five bits of their first two bytes; one of a single byte is in all lists of that byte.
	starts [1 << 10][]keyword
}

// keyword is one of a rule's keywords, in lower case.
type keyword struct {
	text string
	rule int // its index in rules
}

var keywords = sync.OnceValue(func() *keywordIndex {
	x := &keywordIndex{rules: len(rules())}
	for i, r := range rules() {
		for _, text := range r.Keywords {
			x.add(keyword{text, i})
		}
	}
	return x
})

func (x *keywordIndex) add(k keyword) {
	if len(k.text) > 1 {
		at := &x.starts[startOf(k.text[0], k.text[1])]
		*at = append(*at, k)
		return
	}
	for second := range byte(1 << 5) {
		at := &x.starts[startOf(k.text[0], second)]
		*at = append(*at, k)
	}
}

func startOf(first, second byte) int { return int(first&31)<<5 | int(second&31) }

// in returns for each rule whether a text contains one of its keywords, in any case.
func (x *keywordIndex) in(text string) []bool {
	present := make([]bool, x.rules)
	folded := strings.ToLower(text)
	for i := range len(folded) {
		second := byte(0)
		if i+1 < len(folded) {
			second = folded[i+1]
		}
		for _, k := range x.starts[startOf(folded[i], second)] {
			if strings.HasPrefix(folded[i:], k.text) {
				present[k.rule] = true
			}
		}
	}
	return present
}
