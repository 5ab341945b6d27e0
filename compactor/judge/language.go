// The language of a summary: the one of the messages. A summary in another one shares few words with
// them, however good it is.

package judge

import (
	"fmt"
	"strings"
	"unicode"

	"cairn/compactor/summarize"
	"cairn/internal/words"
	"cairn/transcript"
)

// language is the language of a text, as far as it can be told.
type language struct {
	script string // of most of its letters; "": none has most of them
	known  string // English name; "": not known
}

// scripts are the scripts that are told apart, each with the language that most texts in it have; ""
// where there are several.
var scripts = []struct {
	name, language string
	table          *unicode.RangeTable
}{
	{"Latin", "", unicode.Latin},
	{"Cyrillic", "Russian", unicode.Cyrillic},
	{"Greek", "Greek", unicode.Greek},
	{"Hebrew", "Hebrew", unicode.Hebrew},
	{"Arabic", "Arabic", unicode.Arabic},
	{"Devanagari", "Hindi", unicode.Devanagari},
	{"Bengali", "Bengali", unicode.Bengali},
	{"Tamil", "Tamil", unicode.Tamil},
	{"Telugu", "Telugu", unicode.Telugu},
	{"Thai", "Thai", unicode.Thai},
	{"Hangul", "Korean", unicode.Hangul},
	{"Georgian", "Georgian", unicode.Georgian},
	{"Armenian", "Armenian", unicode.Armenian},
	{"Han", "", unicode.Han},
	{"Han", "", unicode.Hiragana},
	{"Han", "", unicode.Katakana},
}

// languageNames are the languages that words.Language tells apart.
var languageNames = map[string]string{
	"en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese", "nl": "Dutch", "sv": "Swedish", "da": "Danish",
	"no": "Norwegian", "fi": "Finnish", "hu": "Hungarian", "ro": "Romanian", "tr": "Turkish", "ga": "Irish", "zh": "Chinese", "ja": "Japanese",
}

// byLetter are languages with letters that their neighbours in the same script lack, and that
// words.Language does not know.
var byLetter = []struct{ script, language, letters string }{
	{"Cyrillic", "Belarusian", "ў"},
	{"Cyrillic", "Ukrainian", "їєґі"},
	{"Cyrillic", "Serbian", "ђћљњџј"},
	{"Cyrillic", "Bulgarian", "ъ"},
	{"Arabic", "Urdu", "ٹڈڑے"},
	{"Arabic", "Persian", "پچژگ"},
	{"Latin", "Polish", "ąęłńśźż"},
	{"Latin", "Czech", "ěřů"},
	{"Latin", "Vietnamese", "ơưđạảấầẩậắặẹẻếềểễệỉịọỏốồổộớờởợụủứừửữựỳỵỷ"},
}

const (
	scriptShare = 0.6  // share of a text's letters in its script
	rareLetters = 0.01 // share of its letters that only some languages have, and a text in one of them exceeds
)

// tell returns the language of a text.
func tell(text string) (l language) {
	text = strings.ToLower(text)
	counts := map[string]int{}
	all := 0
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		all++
		for _, s := range scripts {
			if unicode.Is(s.table, r) {
				counts[s.name]++
				break
			}
		}
	}
	for _, s := range scripts {
		if all > 0 && float64(counts[s.name]) >= scriptShare*float64(all) {
			l.script = s.name
			l.known = s.language
			break
		}
	}
	for _, b := range byLetter {
		if b.script == l.script && countAny(text, b.letters) >= max(rareLetters*float64(all), 1) {
			l.known = b.language
			return l
		}
	}
	if code, sure := words.Language(text); sure && (l.script == "Latin" || l.script == "Han") {
		l.known = languageNames[code]
	}
	return l
}

func countAny(text, letters string) (n float64) {
	for _, r := range text {
		if strings.ContainsRune(letters, r) {
			n++
		}
	}
	return n
}

// name returns a language's name as a part of a sentence.
func (l language) name() string {
	if l.known == "" {
		return "the language of the messages"
	}
	return l.known
}

// spokenIn returns the language of a span.
func spokenIn(items []summarize.Item) language {
	var b strings.Builder
	for _, it := range items {
		if b.Len() < maxRead {
			b.WriteString(it.Message.Text + "\n")
		}
	}
	return tell(prose(b.String()))
}

// maxRead is how much of a span is read for its language, in bytes.
const maxRead = 20_000

// foreign reports whether a text is in another language than the span, and not just a sentence of
// the model about its task: it has a number, a name or a citation of the span, or it is long.
func (t *spanText) foreign(text string) bool {
	spoken := t.spoken()
	wrote := tell(prose(text))
	differ := spoken.script != "" && wrote.script != "" && spoken.script != wrote.script ||
		spoken.known != "" && wrote.known != "" && spoken.known != wrote.known
	if !differ {
		return false
	}
	s := t.supportOf(text)
	return summarize.HasHeadings(text) || s.cited+s.numbers+s.names > 0
}

// prose returns a summary without headings and citations, which are the same in all languages.
func prose(text string) string {
	return summarize.WithoutHeadings(transcript.Citations.ReplaceAllString(text, ""))
}

// inLanguage returns the refusal of a text in another language than the span.
func (j *Judge) inLanguage(text string) Refusal {
	wrote := tell(prose(text)).known
	if wrote == "" {
		wrote = "another language"
	}
	return Refusal(fmt.Sprintf("%s%s, but the messages are in %s", wroteIn, wrote, strings.Replace(j.span.spoken().name(), "the language of the messages", "another one", 1)))
}

// support is what of a text can be checked whatever its language.
type support struct {
	numbers, wrong int // numbers of the span, and others
	names          int // of the span, in the same letters
	cited, invalid int // citations of messages of the span, and of others
}

func (t *spanText) supportOf(text string) (s support) {
	for _, citation := range transcript.Citations.FindAllString(text, -1) {
		for _, found := range seqIn.FindAllStringSubmatch(citation, -1) {
			seq, _ := seqOf(found[1])
			if t.covers(seq) {
				s.cited++
			} else {
				s.invalid++
			}
		}
	}
	for _, k := range keysOf(prose(text)) {
		known := t.vocabulary().keys[k.short]
		switch {
		case k.number && known:
			s.numbers++
		case k.number:
			s.wrong++
		case k.name && known:
			s.names++
		}
	}
	return s
}

// Supports reports whether numbers, names and citations of a text are those of the span: enough to
// accept a summary in another language, whose words cannot be compared. There must be as many as half its
// sentences, at least three, no citation of another message, and hardly another number.
func (j *Judge) Supports(text string) bool {
	s := j.span.supportOf(text)
	least := max(3, len(words.Sentences(prose(text)))/2)
	return s.invalid == 0 && 4*s.wrong <= s.numbers && s.numbers+s.names+s.cited >= least && s.numbers+s.names > 0
}
