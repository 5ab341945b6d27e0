// Stems: one form for all inflections of a word.

package words

import (
	_ "embed"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/tamil"
)

// stem returns the stem of a folded word. Latin letters are treated as English, whose rules do little harm to other languages; for
// those see Stems.
func stem(word string) string {
	if base, ok := irregular[word]; ok {
		word = base
	}
	env := snowballstem.NewEnv(word)
	switch first := word[0]; {
	case 'a' <= first && first <= 'z':
		english.Stem(env)
	case first == 0xd0 || first == 0xd1: // Cyrillic, in UTF-8
		russian.Stem(env)
	case 0xd8 <= first && first <= 0xdb:
		arabic.Stem(env)
	case strings.HasPrefix(word, "\xe0\xae"), strings.HasPrefix(word, "\xe0\xaf"):
		tamil.Stem(env)
	}
	if short := env.Current(); short != "" {
		return short
	}
	return word
}

// irregular maps irregular forms to their base word, except forms that are common words ("rose", "ground").
var irregular = readForms(irregularForms)

//go:embed irregular.txt
var irregularForms string // a line for each base word: "go: goes went gone"

func readForms(table string) map[string]string {
	base := make(map[string]string)
	for line := range strings.Lines(table) {
		word, forms, _ := strings.Cut(line, ":")
		for form := range strings.FieldsSeq(forms) {
			base[form] = word
		}
	}
	return base
}

// stopWords are folded, not stemmed.
var stopWords = Set(`
a about after again all also am an and any are aren arent as at be because been before being both but by
can cannot cant could couldn couldnt d did didn didnt do does doesn doesnt doing don dont each else ever every
for from had hadnt has hasnt have havent having he her here hers herself hey hi him himself his how i if im in
into is isn isnt it its itself ive just ll m me more most much my myself no nor not now of off oh ok okay on
only or other our ours out over own re really s same she should shouldnt so some such t than that thats the
their theirs them themselves then there these they this those through to too under until up us ve very was
wasn wasnt we well were werent what when where which while who whom whose why will with won wont would wouldnt
yeah yes you your youre yours yourself
`)

// Set returns the words of a list.
func Set(list string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}
