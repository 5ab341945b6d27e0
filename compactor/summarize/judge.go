// The judge decides whether a text is acceptable as the summary of a span, by evidence: names,
// numbers and words of the span. It needs few word lists: how models speak of their task, and words
// that any text has.

package summarize

import (
	"cmp"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/words"
)

// Judge returns why text is not acceptable as a summary of messages, in words for people; nil if it
// is.
func Judge(text string, messages []chat.Message) error {
	items := ItemsOf(messages, MostOfMessage)
	if why := JudgeItems(StripThoughts(text), items, "", MostOfSummary(items)); why != "" {
		return why
	}
	return nil
}

// MostOfSummary returns the most tokens of a summary of items: one that is hardly shorter frees
// nothing.
func MostOfSummary(items []Item) int { return max(CostOfItems(items)*6/10, MinSummary) }

// JudgeItems returns why a text cannot be the summary of items; "" if it can. instructions is the writer's
// prompt, most the most tokens.
func JudgeItems(text string, items []Item, instructions string, most int) Refusal {
	switch {
	case text == "":
		return RefusedEmpty
	case toolSyntax().MatchString(text):
		return refusedTools
	case echoes(text, instructions), repeats(text, items):
		return refusedEcho
	}
	sentences := words.Sentences(text)
	if len(sentences) > 0 && Declines(sentences[0]) && tokens.Estimate(text) <= mostOfRefusal {
		return RefusedDeclined
	}
	if tokens.Estimate(text) > most {
		return RefusedLarge
	}
	span := vocabularyOf(items)
	e, declined := span.evidence(sentences)
	switch {
	case e.found >= span.least() && e.found >= span.share()*e.all:
		return ""
	case declined || refusing().MatchString(text):
		return RefusedDeclined
	}
	return refusedNothing
}

const (
	// mostOfRefusal is the longest text, in tokens, that can be nothing but a refusal.
	mostOfRefusal = 80

	// mostEvidence is how many words of a long span its summary must have at least, and
	// wordsPerEvidence of how many different words of a short one it must have one.
	mostEvidence     = 6.0
	wordsPerEvidence = 8.0

	// leastShare of what a summary tells must stand in its span: a summary says things
	// in words of its own, one of something else has different names and numbers. The
	// more words a span has the more of them any text has, up to mostShare. In five long
	// conversations questions about a span had 0.66 and more of it, summaries of
	// something else 0.23 in the median of short spans and 0.55 of long ones.
	leastShare, mostShare = 0.4, 0.55

	// specific is how much more a name or number tells than a word.
	specific = 3.0
)

// vocabulary is the evidence by which a span is recognized.
type vocabulary struct {
	keys   map[string]bool
	size   float64 // different words, two pairs of characters being one
	spaced float64 // the words among them
}

func vocabularyOf(items []Item) vocabulary {
	v := vocabulary{keys: map[string]bool{}}
	for _, it := range items {
		for _, k := range keysOf(it.Text) {
			if !v.keys[k.short] && !k.number {
				v.size += k.weight()
				if !k.pair {
					v.spaced++
				}
			}
			v.keys[k.short], v.keys[k.stem] = true, true
		}
	}
	return v
}

// least returns how much evidence a summary of the span must have.
func (v vocabulary) least() float64 { return max(min(v.size/wordsPerEvidence, mostEvidence), 1) }

// share returns which share of a summary must be in the span.
func (v vocabulary) share() float64 {
	return min(leastShare+max(0.06*math.Log2(v.spaced/100), 0), mostShare)
}

// evidence counts how much of a text is in its span.
type evidence struct{ found, all float64 }

// evidence looks at the sentences that do more than decline; it reports whether some do not.
func (v vocabulary) evidence(sentences []string) (e evidence, declined bool) {
	seen := map[string]bool{}
	for _, sentence := range sentences {
		if Declines(sentence) {
			declined = true
			continue
		}
		for _, k := range keysOf(sentence) {
			if seen[k.short] {
				continue
			}
			seen[k.short] = true
			weight, found := k.weight(), v.keys[k.short] || v.keys[k.stem]
			if k.name || k.number && found && len(k.short) > 1 { // a number of its own may be a sum or a date
				weight *= specific
			}
			e.all += weight
			if found {
				e.found += weight
			}
		}
	}
	return e, declined
}

// key returns the form by which words are compared.
type key struct {
	short  string // its beginning, without case and accents
	stem   string
	name   bool // it has a capital letter within a sentence
	number bool
	pair   bool // of a script without blanks: two characters
}

func (k key) weight() float64 {
	if k.pair {
		return 0.5
	}
	return 1
}

// keysOf returns the keys of the words that tell something, in their order.
func keysOf(text string) (keys []key) {
	first := true
	for _, field := range strings.FieldsFunc(text, parts) {
		capital, _ := utf8.DecodeRuneInString(field)
		for _, w := range words.Cut(field) {
			k := key{short: w.Folded, stem: w.Term}
			runes := []rune(w.Folded)
			switch {
			case strings.ContainsFunc(w.Folded, unicode.IsDigit):
				k.number = true
				k.short = cmp.Or(strings.TrimLeft(w.Folded, "0"), "0")
				k.stem = k.short
			case unicode.In(runes[0], pairedScripts...):
				k.pair = true
			default:
				k.name = unicode.IsUpper(capital) && !first
				if rest, found := strings.CutPrefix(strings.TrimLeft(w.Folded, "وبلفك"), "ال"); found && len(runes) > 4 { // the Arabic article
					runes = []rune(rest)
				}
				k.short = string(runes[:min(len(runes), shortKey)])
				if len(runes) < 3 && !k.name {
					continue
				}
			}
			if !w.Stop && !common()[k.short] {
				keys = append(keys, k)
			}
		}
		first = false
	}
	return keys
}

// pairedScripts are cut into pairs of characters.
var pairedScripts = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// shortKey is how many letters of a word count: where they are equal, it is one word
// with two endings more often than two words.
const shortKey = 5

// parts reports where a word ends. An apostrophe separates a word from its ending.
func parts(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '.' && r != ','
}

// Declines reports whether a sentence speaks of the task, to say that it is not done or
// what is missing for it.
func Declines(sentence string) bool {
	return task().MatchString(sentence) && refusing().MatchString(sentence) || assistant().MatchString(sentence)
}

var (
	// label matches the mark of a message, as the worker or the chat's model sees it.
	label   = words.Pattern(`<(?:message|answer|tool_result) id="\d|\[#\d+ \d{4}-\d\d-\d\d `)
	speaker = words.Pattern(`^[\pL\pM\pN ._-]{1,32}: +`) // before the text
)

// leastRepeated is of how many messages a span must be for one that is in the
// summary word for word to be an echo.
const leastRepeated = 4

// repeats reports whether a text goes on as the span does: it is a piece of the transcript,
// with labels or without, and no choice from it.
func repeats(text string, items []Item) bool {
	if label().MatchString(text) {
		return true
	}
	var said strings.Builder
	messages := 0
	for _, it := range items {
		if it.From == it.To { // not a summary: what it says may be said again
			said.WriteString(flat(it.Said.Text) + " ")
			messages++
		}
	}
	if messages < leastRepeated {
		return false
	}
	span, sentences := said.String(), words.Sentences(text)
	for i, sentence := range sentences {
		sentences[i] = flat(speaker().ReplaceAllString(sentence, ""))
	}
	if len(sentences) == 1 {
		return strings.Contains(span, sentences[0])
	}
	follows := 0
	for i := 1; i < len(sentences); i++ {
		if strings.Contains(span, sentences[i-1]+" "+sentences[i]) || strings.Contains(span, sentences[i-1]+sentences[i]) {
			follows++
		}
	}
	return 5*follows >= 3*(len(sentences)-1) // pictures may stand between two messages
}

func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// leastEcho is the shortest sentence, in bytes, whose repetition is no coincidence.
const leastEcho = 20

// echoes reports whether a text mostly repeats its writer's prompt.
func echoes(text, instructions string) bool {
	instructions = flat(instructions)
	all, echoed := 0, 0
	for _, sentence := range words.Sentences(text) {
		sentence = flat(sentence)
		all += len(sentence)
		if len(sentence) >= leastEcho && strings.Contains(instructions, sentence) {
			echoed += len(sentence)
		}
	}
	return 2*echoed > all
}

// MinSummary is the smallest budget of a summary: below it nothing can be said.
const MinSummary = 40
