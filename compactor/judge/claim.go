package judge

import (
	"slices"
	"strings"
	"unicode"

	"cairn/compactor/summarize"
	"cairn/internal/facts"
	"cairn/internal/words"
	"cairn/transcript"
)

// claim is what a line of a summary says.
type claim struct {
	text     string // without list marker and citations
	cited    []int64
	heading  int // index into summarize.Headings of the section; -1
	keys     []key
	facts    facts.Text
	people   []int // those that it mentions, in order; the first is whom it is about
	leads    bool  // it begins with that person, or nearly
	unknown  []nameWord
	invented string    // the name of somebody whom nobody knows, and who asks for something or decides it
	foreign  bool      // it is in another language than the span
	overlaps []overlap // with each passage, once they are needed
}

// claimOf reads a line under a heading.
func (e *evidence) claimOf(line string, heading int, languages []string) *claim {
	c := &claim{cited: citedBy(line), heading: heading}
	c.text = summarize.Statement(line)
	read := languages
	if len(read) == 0 {
		read = e.cast.languages
	}
	read = read[:min(1, len(read))]
	c.foreign = len(read) > 0 && len(e.cast.languages) > 0 && !slices.Contains(e.cast.languages, read[0])
	c.facts = facts.Read(c.text, read)
	c.people = e.cast.mentioned(c.text, true)
	c.leads = len(e.cast.mentioned(beginning(c.text), true)) > 0 && !e.cast.joinsNickname(beginning(c.text))
	for _, k := range evidenceKeys("x " + c.text) {
		if !k.number && !e.cast.isName(k) && !slices.ContainsFunc(c.keys, func(known key) bool { return known.short == k.short }) {
			c.keys = append(c.keys, k)
		}
	}
	e.findUnknown(c, read)
	return c
}

// beginning returns the first words of a line: they name whom a line is about.
func beginning(text string) string {
	const maxWords, maxRunes = 4, 10
	all := strings.Fields(text)
	short := strings.Join(all[:min(len(all), maxWords)], " ")
	if len(all) > maxWords {
		return short
	}
	runes := []rune(text)
	if words.IsUnspaced(firstRune(text)) {
		return string(runes[:min(len(runes), maxRunes)])
	}
	return text
}

// joinsNickname reports whether a text names somebody together with one who is no author: that may be a short form of an author's name.
func (c *cast) joinsNickname(text string) bool {
	return slices.ContainsFunc(wordsIn(text), func(w nameWord) bool {
		return w.capital && !w.first && and[w.before] && len(c.called(w)) == 0
	})
}

var and = words.Set("and und y e et i и ve")

// isName reports whether a word is the name of an author: what people are called says nothing about their messages.
func (c *cast) isName(k key) bool {
	return slices.ContainsFunc(c.people, func(p person) bool {
		return slices.ContainsFunc(p.parts, func(part string) bool {
			return strings.HasPrefix(part, k.short) || words.IsUnspaced(firstRune(part)) && strings.Contains(part, k.short)
		})
	})
}

// findUnknown lists the names in the line that nobody has.
func (e *evidence) findUnknown(c *claim, languages []string) {
	german := len(languages) > 0 && slices.Contains(languages, "de")
	all := wordsIn(c.text)
	for i, w := range all {
		if len(w.folded) == 0 || len(e.cast.called(w)) > 0 || e.known(w) {
			continue
		}
		if is := facts.Look(w.folded, languages); is.Known || common()[w.folded] || words.IsFrequent(w.folded) || len(w.folded) < 2 || e.says(w.text) {
			continue
		}
		titled := i > 0 && facts.Look(w.before, languages).Title && w.capital
		asks := asksAfter(all[i+1:], languages)
		name := titled || w.capital && !w.first && (!german || namedInGerman(w) || i+1 < len(all) && e.isFullName(c.text, w, all[i+1], languages))
		several := asks && len(languages) > 0 && isPlural(w.folded, all[i+1].folded, languages)
		if w.capital && asks && (name || w.first && hasArticles(languages) && !several) {
			c.invented = w.text
		}
		if name || several && w.capital && w.first && hasArticles(languages) { // James asked, or customers did
			c.unknown = append(c.unknown, w)
		}
	}
	c.unknown = append(c.unknown, e.titledUnspaced(c.text, languages)...)
}

// asksAfter reports whether the words after a name say that its owner asks for something or decides it: wants, has asked, hat … gebeten.
func asksAfter(all []nameWord, languages []string) bool {
	is := func(i int) bool { return i < len(all) && facts.Look(all[i].folded, languages).Asks }
	if len(all) == 0 || !hasDone[all[0].folded] {
		return is(0)
	}
	return is(1) || slices.Contains(languages, "de") && is(len(all)-1)
}

// hasDone are the words before a participle.
var hasDone = words.Set("has had hat hatte ha había a avait aveva tem tinha foi")

// hasArticles reports whether nouns have articles in a language: one without at the beginning of a line is likely a name.
func hasArticles(languages []string) bool {
	return len(languages) > 0 && slices.Contains([]string{"en", "de", "es", "fr", "it", "pt"}, languages[0])
}

// isPlural reports whether a word and the verb after it may be a plural: customers want, Kunden wollen, but Thomas wants.
func isPlural(word, verb string, languages []string) bool {
	if languages[0] == "en" {
		return strings.HasSuffix(word, "s") && !strings.HasSuffix(verb, "s")
	}
	ending, known := pluralEnding[languages[0]]
	return known && strings.HasSuffix(verb, ending) && (strings.HasSuffix(word, "s") || strings.HasSuffix(word, "n") || strings.HasSuffix(word, "i") || strings.HasSuffix(word, "e"))
}

// pluralEnding are the endings of verbs in the plural.
var pluralEnding = map[string]string{"de": "n", "es": "n", "fr": "nt", "it": "no", "pt": "m"}

// namedInGerman reports whether a capitalized word, within a sentence, is likely a name: nouns are capitalized, too, but seldom
// follow such words without an article.
func namedInGerman(w nameWord) bool {
	for _, ending := range []string{"ung", "heit", "keit", "schaft", "tion", "tat", "ment", "en", "er"} {
		if strings.HasSuffix(w.folded, ending) {
			return false
		}
	}
	return beforeName[w.before] && len(w.folded) <= 10
}

// isFullName reports whether two capitalized words of German, which nobody knows and nothing separates, are a name: two nouns in a row
// seldom are none.
func (e *evidence) isFullName(text string, first, last nameWord, languages []string) bool {
	return last.capital && !last.first && strings.Contains(text, first.text+" "+last.text) && len(e.cast.called(last)) == 0 && !e.known(last) &&
		!facts.Look(last.folded, languages).Known && !words.IsFrequent(last.folded) && !e.says(last.text)
}

var beforeName = words.Set("weil dass ob wenn laut bittet fragt firma")

// titledUnspaced returns the names with a title, as in 林さん, that the span does not have.
func (e *evidence) titledUnspaced(text string, languages []string) (unknown []nameWord) {
	for _, title := range facts.Titles(languages) {
		from := 0
		for {
			at := strings.Index(text[from:], title)
			if at < 0 {
				break
			}
			run := []rune(lastRun(text[:from+at]))
			from += at + len(title)
			if len(run) == 0 || len([]rune(title)) < 2 || slices.ContainsFunc([]int{1, 2, 3}, func(n int) bool {
				name := string(run[max(len(run)-n, 0):])
				return e.says(name+title) || n > 1 && e.says(name)
			}) {
				continue
			}
			unknown = append(unknown, nameWord{text: string(run[max(len(run)-2, 0):]) + title})
		}
	}
	return unknown
}

// lastRun returns the characters of one script without spaces with which a text ends.
func lastRun(text string) string {
	runes := []rune(text)
	at := len(runes)
	for at > 0 && unicode.In(runes[at-1], unicode.Han, unicode.Katakana) && (at == len(runes) || unicode.Is(unicode.Han, runes[at-1]) == unicode.Is(unicode.Han, runes[at])) {
		at--
	}
	return string(runes[at:])
}

// says reports whether the span, or what was shown beside it, contains a text.
func (e *evidence) says(text string) bool {
	return strings.Contains(e.agent, text) ||
		slices.ContainsFunc(e.cast.people, func(p person) bool { return strings.Contains(p.name, words.Fold(text)) }) ||
		slices.ContainsFunc(e.passages, func(p passage) bool { return strings.Contains(p.text, text) })
}

// citedBy returns the numbers of the messages that a line cites, with those between the ends of a range.
func citedBy(line string) (seqs []int64) {
	const longest = 20
	for _, citation := range transcript.Citations.FindAllString(line, -1) {
		last := int64(0)
		ranged := false
		for i, found := range seqOrDash.FindAllString(citation, -1) {
			seq, ok := seqOf(found)
			if !ok {
				ranged = i > 0 && found != "#"
				continue
			}
			if ranged && seq > last && seq-last <= longest {
				for between := last + 1; between < seq; between++ {
					seqs = append(seqs, between)
				}
			}
			seqs = append(seqs, seq)
			last = seq
			ranged = false
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}
