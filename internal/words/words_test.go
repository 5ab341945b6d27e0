package words

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/testkit/check"
	"cairn/testkit/wordstest"
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
		terms := Terms(text)
		content := Content(text)
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
	noBlanks := func(s string) string { return strings.Join(strings.FieldsFunc(s, unicode.IsSpace), "") }
	check.Require(t, noBlanks(strings.Join(sentences, " ")) == noBlanks(text), "Sentences(%.100q) lost or made up text", text)
}

func TestSentences(t *testing.T) {
	checkTexts(t, Sentences, "|", []textCase{
		{"points, questions and shouts end one", "I went home. Did you? Yes! Fine", "I went home.|Did you?|Yes!|Fine"},
		{"people who write small letters are understood", "i went home. then i slept", "i went home.|then i slept"},
		{"titles go with their names", "Ask Dr. Smith. He knows.", "Ask Dr. Smith.|He knows."},
		{"letters with points are words", "In the U.S. Army, e.g. Bob", "In the U.S. Army, e.g. Bob"},
		{"an initial goes with its name", "I met J. Smith. So did I. Fine.", "I met J. Smith.|So did I.|Fine."},
		{"etc. may end one", "Tea, milk etc. We left. Tea etc. was fine", "Tea, milk etc.|We left.|Tea etc. was fine"},
		{"decimals stay whole", "It is 3.5 km. Far", "It is 3.5 km.|Far"},
		{"a year ends one", "It was in 2023. Then we left", "It was in 2023.|Then we left"},
		{"a list's number goes with its item", "1. Buy milk", "1. Buy milk"},
		{"a day goes with its month", "Am 17. Oktober um neun. Den 3. maj", "Am 17. Oktober um neun.|Den 3. maj"},
		{"an ordinal goes with its noun", "Im 3. Stock. Frei vom 2. bis zum 19. und am 17. Danach nicht", "Im 3. Stock.|Frei vom 2. bis zum 19. und am 17.|Danach nicht"},
		{"a small number ends one", "I paid 12. then i slept. We are 9. May I?", "I paid 12.|then i slept.|We are 9.|May I?"},
		{"addresses stay whole", "See https://a.example/x?y=1.5. Then call", "See https://a.example/x?y=1.5.|Then call"},
		{"dots that go on do not end", "I was... well, tired... Then I slept", "I was... well, tired...|Then I slept"},
		{"quotes and brackets close with it", `He said "No." (Really!) Then`, `He said "No."|(Really!)|Then`},
		{"line ends end one", "one\ntwo\r\n\r\nthree", "one|two|three"},
		{"Chinese needs no blank", "我喜欢猫。你呢？“好！”走吧", "我喜欢猫。|你呢？|“好！”|走吧"},
		{"Hindi ends with a bar", "मैं घर गया। फिर सोया", "मैं घर गया।|फिर सोया"},
		{"Arabic asks its own way", "هل أنت بخير؟ نعم", "هل أنت بخير؟|نعم"},
		{"nothing gives nothing", " \n ", ""},
	})
}

func FuzzSentences(f *testing.F) {
	addSeeds(f, "Dr. A. B. Smith, e.g. at 3.5 p.m. etc. “Yes!” 我喜欢猫。…\r\nx")
	f.Fuzz(func(t *testing.T, text string) { checkSentences(t, text) })
}

func TestQuestions(t *testing.T) {
	for text, want := range map[string]bool{
		"Where does Ada live?": true, "where did I put it": true, "hey, what was the name": true, "remind me when it is": true,
		"你住在哪里？": true, "أين تسكن؟": true, "tell me about the lighthouse": true, "Wo wohnst du?": true, "お名前は何ですか": true,
		"": false, "I moved to Turin.": false, "first this; then that": false, "thanks": false, "whatever you say": false,
	} {
		check.Equal(t, text+" is a question", IsQuestion(text), want)
	}
	for text, want := range map[string]bool{
		"Really?!": true, "“Where?” ": true, "你住在哪里？": true, "أين تسكن؟": true, "": false, "Where? I know.": false, "I know.": false,
		"どこに住んでいますか。": true, "何時に来るの": true, "行ったのか": true, "你住在上海吗": true, "とても静か。": false, "猫は私の": false, "いつか行きます": false,
	} {
		check.Equal(t, text+" ends in a question", EndsInQuestion(text), want)
	}
}

func TestDates(t *testing.T) {
	now := time.Date(2026, 3, 18, 15, 4, 0, 0, time.UTC) // a Wednesday
	for _, c := range []struct{ text, want string }{
		{"on 7 May 2023", "2023-05-07 2023-05-08"},
		{"May 7th, 2023, at noon", "2023-05-07 2023-05-08"},
		{"the 7th of May", "2025-05-07 2025-05-08"},
		{"on December 1,2023", "2023-12-01 2023-12-02"},
		{"in June 2023", "2023-06-01 2023-07-01"},
		{"in May", "2025-05-01 2025-06-01"},
		{"this March", "2026-03-01 2026-04-01"},
		{"since 2022", "2022-01-01 2023-01-01"},
		{"2023-05-07 and 2023-06", "2023-05-07 2023-05-08, 2023-06-01 2023-07-01"},
		{"am 7.5.2023", "2023-05-07 2023-05-08"},
		{"am 7. Mai 2023", "2023-05-07 2023-05-08"},
		{"im März", "2026-03-01 2026-04-01"},
		{"2023年5月7日", "2023-05-07 2023-05-08"},
		{"2023年5月", "2023-05-01 2023-06-01"},
		{"5月7日", "2025-05-07 2025-05-08"},
		{"yesterday or today", "2026-03-17 2026-03-18, 2026-03-18 2026-03-19"},
		{"last week", "2026-03-09 2026-03-16"},
		{"letzte Woche", "2026-03-09 2026-03-16"},
		{"last weekend", "2026-03-14 2026-03-16"},
		{"last month", "2026-02-01 2026-03-01"},
		{"last year", "2025-01-01 2026-01-01"},
		{"last Friday", "2026-03-13 2026-03-14"},
		{"last Wednesday", "2026-03-11 2026-03-12"},
		{"two days ago", "2026-03-16 2026-03-17"},
		{"3 weeks ago", "2026-02-22 2026-03-01"},
		{"vor zwei Tagen", "2026-03-16 2026-03-17"},
		{"may I march on?", ""},
		{"I have 7 dogs, 1234567 stamps and 3.5 cats", ""},
		{"the last one, ago", ""},
		{"", ""},
	} {
		check.Equal(t, c.text, datesIn(c.text, now), c.want)
	}
}

func FuzzDates(f *testing.F) {
	addSeeds(f, "on the 31st of Feb 2023, 2023-02-31, 99.99.2023, in 1000 years ago, 2023年13月40日, last last week 7th")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range Dates(text, time.Date(2026, 3, 18, 0, 0, 0, 0, time.UTC)) {
			check.Require(t, s.From.Before(s.To), "%q: from %v to %v", text, s.From, s.To)
		}
	})
}
