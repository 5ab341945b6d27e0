package words

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/internal/check"
	"cairn/words/wordstest"
)

// textCase is a claim about what becomes of a text; parts are separated.
type textCase struct{ claim, text, want string }

func checkTexts(t *testing.T, parts func(string) []string, separator string, cases []textCase) {
	for _, c := range cases {
		check.Equal(t, c.claim+": "+c.text, strings.Join(parts(c.text), separator), c.want)
	}
}

func TestTerms(t *testing.T) {
	checkTexts(t, Terms, " ", []textCase{
		{"case goes", "HELLO Hello hello", "hello hello hello"},
		{"accents go, composed or not", "Café cafe\u0301 Ørsted Straße", "cafe cafe orst strass"},
		{"forms share a stem", "painting paints painted", "paint paint paint"},
		{"irregular forms share a stem", "went goes bought buys children", "go go buy buy child"},
		{"number words are numbers", "three cats, 3 cats", "3 cat 3 cat"},
		{"numbers stay whole", "$1,200.50 and 3.14, in 2023", "1200.50 and 3.14 in 2023"},
		{"a list of numbers is cut", "1,2,3 and 2023-05-08 and 1,2345", "1 2 3 and 2023 05 08 and 1 2345"},
		{"possessives and contractions lose their tail", "Clara's dog, we'll, don’t", "clara dog we dont"},
		{"a French article is parted", "l'amour d’accord", "l amour d accord"},
		{"Chinese is cut in pairs", "我喜欢猫", "我喜 喜欢 欢猫"},
		{"a lone character is a term", "猫!", "猫"},
		{"Japanese is cut in pairs, the long vowel too", "コーヒー", "コー ーヒ ヒー"},
		{"Korean is cut in pairs", "고양이 집", "고양 양이 집"},
		{"scripts change inside a word", "Go言語2版", "go 言語 2 版"},
		{"full width is plain width", "ＡＢＣ１２", "abc12"},
		{"Russian has stems", "собаки собаку", "собак собак"},
		{"ё is е", "ёлка елка", "елк елк"},
		{"vowel signs of Hindi stay", "किताब", "किताब"},
		{"Arabic points go", "كِتَاب كتاب", "كتاب كتاب"},
		{"an address gives its parts", "https://example.com/a_b", "https exampl com a b"},
		{"invalid UTF-8 parts words", "ab\xffcd", "ab cd"},
		{"nothing gives nothing", " …!? 🍕 ", ""},
	})
}

func TestContent(t *testing.T) {
	checkTexts(t, Content, " ", []textCase{
		{"common words go", "What did I do to the cat?", "cat"},
		{"contractions are common words", "I don't, it's, we'll, you're cat", "cat"},
		{"text of common words has no content", "Who are you?", ""},
		{"negation aside, the rest stays in order", "She did not buy the red bicycle", "buy red bicycl"},
	})
}

func TestFold(t *testing.T) {
	for _, c := range []struct {
		claim, a, b string
		same        bool
	}{
		{"case, blanks and points do not count", "Ada likes  tea.", "ada likes tea", true},
		{"accents do not count", "Ada wohnt in Köln", "Ada wohnt in Koln!", true},
		{"apostrophes do not count", "Ada doesn't smoke", "Ada doesn’t smoke", true},
		{"hyphens between words do not count", "a well-known fact", "a well known fact", true},
		{"word order counts", "Ada beats Bob", "Bob beats Ada", false},
		{"C++ is not C#", "Ada likes C++", "Ada likes C#", false},
		{"a sign before a number counts", "It is -5 degrees", "It is 5 degrees", false},
		{"a decimal point counts", "It weighs 3.5 kg", "It weighs 35 kg", false},
		{"one emoji is not another", "Ada loves 🍕", "Ada loves 🍣", false},
		{"facts in Chinese differ", "我喜欢猫", "我喜欢狗", false},
		{"punctuation alone still differs", "!!!", "???", false},
		{"negation counts", "Ada is not a nurse", "Ada is a nurse", false},
	} {
		check.That(t, (Fold(c.a) == Fold(c.b)) == c.same, "%s: Fold(%q) = %q, Fold(%q) = %q", c.claim, c.a, Fold(c.a), c.b, Fold(c.b))
	}
}

// hostile are texts that made known tokenizers slow or crash.
func hostile(n int) map[string]string {
	return map[string]string{
		"one letter":       strings.Repeat("a", n),
		"points":           strings.Repeat(".", n),
		"accents":          "e" + strings.Repeat("\u0301", n/2),
		"vowel signs":      "क" + strings.Repeat("\u093f", n/3),
		"apostrophes":      strings.Repeat("a'", n/2),
		"digits, commas":   strings.Repeat("1,", n/2),
		"abbreviations":    strings.Repeat("e.g. ", n/5),
		"mixed widths":     "a" + strings.Repeat("क", n/3),
		"joiners":          strings.Repeat("\u200d", n/3),
		"invalid bytes":    strings.Repeat("\xff\xc3", n/2),
		"Han":              strings.Repeat("猫", n/3),
		"Thai marks":       "ก" + strings.Repeat("\u0e34", n/3),
		"blanks":           strings.Repeat(" ", n),
		"quotes at an end": "a." + strings.Repeat("”", n/3),
	}
}

// addSeeds adds the hostile texts, and further ones, to a fuzz target.
func addSeeds(f *testing.F, further ...string) {
	for _, text := range hostile(64) {
		f.Add(text)
	}
	for _, text := range append(wordstest.Texts(), further...) {
		f.Add(text)
	}
}

func TestHostileTextIsFast(t *testing.T) {
	for name, text := range hostile(1 << 16) {
		t.Run(name, func(t *testing.T) {
			for _, term := range Terms(text) {
				check.Require(t, len(term) <= MaxTerm, "a term of %d bytes", len(term))
			}
			Fold(text)
			Dates(text, time.Now())
			checkSentences(t, text)
		})
	}
}

func FuzzTerms(f *testing.F) {
	addSeeds(f, "Clara's dog didn’t eat 1,200.50 コーヒー on 8.5.2023, O'Neil!")
	f.Fuzz(func(t *testing.T, text string) {
		terms, content := Terms(text), Content(text)
		for _, term := range terms {
			check.Require(t, term != "" && len(term) <= MaxTerm && utf8.ValidString(term), "Terms(%q) holds %q", text, term)
		}
		at := 0
		for _, term := range content {
			n := slices.Index(terms[at:], term)
			check.Require(t, n >= 0, "Content(%q) = %q is no part of Terms, %q", text, content, terms)
			at += n + 1
		}
		folded := Fold(text)
		check.Require(t, utf8.ValidString(folded) && (folded != "" || strings.TrimSpace(text) == ""), "Fold(%q) = %q", text, folded)
	})
}

// checkSentences fails unless the sentences are the whole text, except for blanks.
func checkSentences(t *testing.T, text string) {
	t.Helper()
	sentences := Sentences(text)
	for _, s := range sentences {
		check.Require(t, s != "" && s == strings.TrimSpace(s), "Sentences(%.100q) holds %q", text, s)
	}
	noBlanks := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, unicode.IsSpace), "")
	}
	check.Require(t, noBlanks(strings.Join(sentences, " ")) == noBlanks(text), "Sentences(%.100q) lost or made up text", text)
}
