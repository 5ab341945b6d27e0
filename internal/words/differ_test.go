package words_test

import (
	"testing"

	"cairn/internal/words"
	"cairn/testkit/check"
)

func TestDiffer(t *testing.T) {
	for _, c := range []struct {
		text, other string
		want        bool
	}{
		{"Ada is a nurse at the clinic", "soy enfermera en el hospital de la ciudad", true},
		{"Ada lives in Lisbon", "vivo en Lisboa desde hace muchos años", true},
		{"Ada is a nurse", "我是护士", true},
		{"阿达是护士", "私は病院で看護師をしています", true},
		{"Ada wohnt in Lissabon", "Ich wohne jetzt bei meiner Schwester", false}, // "in" may be German
		{"Ada is a nurse", "I work at the clinic and I like it", false},
		{"Ada is a nurse", "👍", false},
		{"Ada is a nurse", "42", false},
		{"", "", false},
	} {
		check.That(t, words.Differ(c.text, c.other) == c.want, "%q and %q: want %v", c.text, c.other, c.want)
	}
	check.That(t, words.IsFrequent("und") && words.IsFrequent("the") && !words.IsFrequent("parrot"), "frequent words")
}
