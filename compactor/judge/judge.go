// Package judge decides by evidence, which are the names, numbers and words of a span, whether a text
// from any source is acceptable as its summary, what each line of it rests on, and whether messages
// support a memory. It also takes the summary out of what a model wrote around it. Its few word lists
// contain how models talk about their task, and words that any text has. All of it is pure.
package judge

import (
	"cmp"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/compactor/summarize"
	"cairn/internal/lazy"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/transcript"
)

// Judge decides which texts can be the summary of a span.
type Judge struct {
	span     *spanText
	agent    string           // the prompt of the chat's model
	people   []string         // names of people who may be mentioned beside those who speak
	evidence func() *evidence // see With
	removed  []transcript.DroppedLine
	known    map[int]transcript.Line // by index, see Knowing
}

// Of returns the judge of the summaries of items, which may also mention people, by name.
func Of(items []summarize.Item, people ...string) *Judge {
	j := &Judge{span: spanTextOf(items), people: people}
	return j.With("", "")
}

// With returns the judge of summaries whose writer was also shown a text beside the span, the prompt of the agent, and
// summaries of what is before the span.
func (j *Judge) With(beside, agent string, earlier ...transcript.Summary) *Judge {
	with := *j
	with.agent = agent
	with.evidence = lazy.Value(func() *evidence { return evidenceOf(with.span.items, with.people, beside, agent, earlier) })
	return &with
}

// MaxTokens returns the maximum length of a summary of items, in tokens: one that is hardly
// shorter than its span frees nothing.
func MaxTokens(items []summarize.Item) int {
	return max(summarize.CostOfItems(items)*6/10, transcript.MinSummary)
}

// Refuses returns why a text cannot be the summary; "" if it can. instructions is the writer's prompt, before the
// summary before the span as it was shown, limit the maximum length in tokens.
func (j *Judge) Refuses(text, instructions, before string, limit int) Refusal {
	uncited := transcript.Citations.ReplaceAllString(text, "") // numbers of messages are no evidence: every span has them
	switch {
	case text == "":
		return RefusedEmpty
	case toolSyntax().MatchString(text):
		return refusedTools
	case repeats(text, instructions):
		return refusedInstructions
	case repeats(uncited, j.span.messages), label().MatchString(text):
		return refusedEcho
	case strings.Contains(flat(before), flat(text)) && tokens.Estimate(text) >= leastCopy:
		return refusedBefore
	}
	if j.plans(text) {
		return refusedReasoning
	}
	sentences := words.Sentences(uncited)
	if why := j.declines(text, sentences); why != "" {
		return why
	}
	if n := tokens.Estimate(text); n > limit {
		return TooLarge(n, limit)
	}
	v := j.span.vocabulary()
	found, all, declined := v.evidence(sentences)
	least := max(min(v.size/wordsPerEvidence, maxEvidence), 1)
	share := min(leastShare+max(0.06*math.Log2(v.spaced/100), 0), maxShare)
	if found >= least && found >= share*all {
		return ""
	}
	return j.reason(text, declined)
}

const (
	// maxRefusal is the length, in tokens, up to which a text can consist of a refusal alone.
	maxRefusal = 80

	// maxEvidence is the minimum number of words of a long span in its summary; of a short span it
	// is one per wordsPerEvidence different words.
	maxEvidence      = 6.0
	wordsPerEvidence = 8.0

	// leastShare is the minimum share of a summary's evidence that must be in its span: a summary
	// uses its own words, but one of another span has different names and numbers. The more words a
	// span has, the more of them any text has, so the minimum grows up to maxShare. In five long
	// conversations, questions about a span reached 0.66 and more; summaries of something else had a
	// median of 0.23 for short spans and 0.55 for long ones.
	leastShare, maxShare = 0.4, 0.55

	// leastCopy is the minimum length, in tokens, of a summary that is not the same as the one before
	// by coincidence.
	leastCopy = 50

	// specific is the weight of a name or number relative to a word.
	specific = 3.0
)

// vocabulary is the set of keys by which a span is recognized.
type vocabulary struct {
	keys   map[string]bool
	size   float64 // number of different words; a pair of characters counts as half a word
	spaced float64 // the part of size from scripts with spaces
}

func vocabularyOf(items []summarize.Item) vocabulary {
	v := vocabulary{keys: map[string]bool{}}
	for _, it := range items {
		for _, k := range keysOf(it.Text) {
			if !v.keys[k.short] && !k.number {
				v.size += k.weight
				v.spaced += math.Floor(k.weight)
			}
			v.keys[k.short] = true
			v.keys[k.stem] = true
		}
	}
	return v
}

// evidence weighs the keys of the sentences that do not decline: all, and those found in the span. declined
// reports whether any sentence declines.
func (v vocabulary) evidence(sentences []string) (found, all float64, declined bool) {
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
			weight := k.weight
			known := v.keys[k.short] || v.keys[k.stem]
			if k.name || k.number && known && len(k.short) > 1 { // a number not in the span may be a sum or a date
				weight *= specific
			}
			all += weight
			if known {
				found += weight
			}
		}
	}
	return found, all, declined
}

// key is the form in which words are compared.
type key struct {
	short  string // its first letters, without case and accents
	stem   string
	name   bool // it is capitalized within a sentence
	number bool
	weight float64 // 0.5 for a pair of characters of a script without spaces
}

// keysOf returns the keys of the meaningful words, in their order.
func keysOf(text string) (keys []key) {
	first := true
	for _, field := range strings.FieldsFunc(text, parts) {
		capital, _ := utf8.DecodeRuneInString(field)
		for _, w := range words.Cut(field) {
			k := key{short: w.Folded, stem: w.Term, weight: 1}
			runes := []rune(w.Folded)
			switch {
			case strings.ContainsFunc(w.Folded, unicode.IsDigit):
				k.number = true
				k.short = cmp.Or(strings.TrimLeft(w.Folded, "0"), "0")
				k.stem = k.short
			case words.IsUnspaced(runes[0]):
				k.weight = 0.5
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

// shortKey is how many letters of a word are compared: if they are equal, it is more often one word
// with two endings than two words.
const shortKey = 5

// parts reports whether r separates words. An apostrophe separates a word from its ending.
func parts(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '.' && r != ','
}

// declineLength is the part of a sentence, in bytes, in which a model says that it declines.
const declineLength = 300

// Declines reports whether a sentence is about the task itself: that it was not done, or what is
// missing.
func Declines(sentence string) bool {
	sentence = sentence[:min(len(sentence), declineLength)]
	return task().MatchString(sentence) && refusing().MatchString(sentence) || assistant().MatchString(sentence)
}

var (
	// label matches the label of a message, as the worker or the chat's model sees it.
	label   = lazy.Pattern(`<(?:message|answer|tool_result) id="\d|\[#\d+ \d{4}-\d\d-\d\d `)
	speaker = lazy.Pattern(`^[\pL\pM\pN ._-]{1,32}: +`) // before the text
)

// leastEcho is the least length of a single sentence that counts as repeated, in bytes: a shorter one may be anywhere.
const leastEcho = 20

// repeats reports whether a text repeats passages of another instead of choosing from it.
func repeats(text, other string) bool {
	other = flat(other)
	sentences := words.Sentences(text)
	for i, sentence := range sentences {
		sentences[i] = flat(speaker().ReplaceAllString(sentence, ""))
	}
	if len(sentences) == 1 {
		return len(sentences[0]) >= leastEcho && strings.Contains(other, sentences[0])
	}
	follows := 0
	for i := 1; i < len(sentences); i++ {
		if strings.Contains(other, sentences[i-1]+" "+sentences[i]) || strings.Contains(other, sentences[i-1]+sentences[i]) {
			follows++
		}
	}
	return 5*follows >= 3*(len(sentences)-1) // pictures may be between two messages
}

func flat(text string) string { return strings.Join(strings.Fields(text), " ") }
