// Cues: the phrases that show what a sentence is, in the languages that cues.txt covers.

package summarize

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/lazy"
	"cairn/internal/words"
)

//go:embed cues.txt
var cueList string

// cue is a group of phrases that mean the same for a memory.
type cue struct {
	name   string
	kind   string // of memory
	points float64
}

// phrase is the rest of a phrase after its first word.
type phrase struct {
	cue  *cue
	rest []string
}

// phraseBook has all phrases, by their first words, and the signs of scripts without blanks.
type phraseBook struct {
	first map[string][]phrase
	signs []sign
}

type sign struct {
	cue  *cue
	text string
}

var cues = lazy.Value(func() *phraseBook { return parseCues(cueList) })

func parseCues(list string) *phraseBook {
	book := &phraseBook{first: map[string][]phrase{}}
	var group *cue
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if heading, found := strings.CutPrefix(line, "= "); found {
			parts := strings.Fields(heading)
			points, err := strconv.ParseFloat(parts[2], 64)
			if err != nil {
				panic(err)
			}
			group = &cue{parts[0], parts[1], points}
			continue
		}
		for text := range strings.SplitSeq(line, " | ") {
			if strings.ContainsFunc(text, words.IsUnspaced) {
				book.signs = append(book.signs, sign{group, text})
				continue
			}
			parts := strings.Fields(text)
			book.first[parts[0]] = append(book.first[parts[0]], phrase{group, parts[1:]})
		}
	}
	return book
}

// hit is a phrase in a sentence: its words are plain[at:end].
type hit struct {
	cue     *cue
	at, end int
}

// hits returns the phrases in the plain words of a text.
func (b *phraseBook) hits(text string, plain []string) (found []hit) {
	for at, word := range plain {
		for _, first := range []string{word, classOf(word)} {
			for _, p := range b.first[first] {
				if p.fits(plain[at+1:]) {
					found = append(found, hit{p.cue, at, at + 1 + len(p.rest)})
				}
			}
		}
	}
	if strings.ContainsFunc(text, words.IsUnspaced) {
		for _, s := range b.signs {
			if strings.Contains(text, s.text) {
				found = append(found, hit{s.cue, 0, 0})
			}
		}
	}
	return found
}

func (p phrase) fits(plain []string) bool {
	if len(plain) < len(p.rest) {
		return false
	}
	for i, word := range p.rest {
		if word != plain[i] && (word[0] != '$' || word != classOf(plain[i])) {
			return false
		}
	}
	return true
}

// classOf returns the class of words that phrases name; "" if it has none.
func classOf(word string) string {
	switch {
	case kinWords[word]:
		return "$kin"
	case timeWords[word] || word == "day" || word == "morning" || word == "evening" || word == "night":
		return "$every"
	case isPast(word):
		return "$past"
	}
	return ""
}

func isPast(word string) bool {
	return pasts[word] || strings.HasSuffix(word, "ed") && len(word) > 4
}

// plainWords returns the words of a text in the form of cues.txt.
func plainWords(text string) []string {
	var plain []string
	for field := range strings.FieldsSeq(text) {
		word := words.Bare(field)
		if word == "" || adverbs[word] || strings.HasPrefix(field, "@") {
			continue
		}
		if full, short := spelledOut[word]; short {
			plain = append(plain, full...)
			continue
		}
		stem, ending, found := strings.Cut(word, "'")
		switch full := endings[ending]; {
		case found && ending == "t" && strings.HasSuffix(stem, "n"):
			plain = append(plain, strings.TrimSuffix(stem, "n"), "not")
		case found && full != "" && (ending != "s" || pronounStems[stem]):
			plain = append(plain, stem, full)
		default:
			plain = append(plain, word)
		}
	}
	// "Got a tattoo" and "Been running" are about the speaker.
	if len(plain) > 1 && (pasts[plain[0]] || isPast(plain[0]) && !byWords[plain[1]] || plain[0] == "got" || plain[0] == "been") && !strings.HasSuffix(text, "?") {
		if plain[0] == "been" {
			plain = slices.Insert(plain, 0, "have")
		}
		plain = slices.Insert(plain, 0, "i")
	}
	return plain
}

var (
	adverbs = words.Set(`really also just actually still finally definitely absolutely so very totally currently recently truly only
even ever already personally honestly simply mostly basically literally lately quite kinda especially uh um`)
	endings    = map[string]string{"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would", "s": "is"}
	spelledOut = map[string][]string{
		"im": {"i", "am"}, "ive": {"i", "have"}, "dont": {"do", "not"}, "didnt": {"did", "not"}, "cant": {"can", "not"}, "can't": {"can", "not"}, "won't": {"will", "not"},
		"cannot": {"can", "not"}, "gonna": {"going", "to"}, "wanna": {"want", "to"}, "gotta": {"have", "to"}, "u": {"you"}, "ur": {"your"}, "thats": {"that", "is"}, "idk": {"i", "do", "not", "know"},
		"i'd": {"i", "would"}, "youre": {"you", "are"},
	}
	byWords      = words.Set(`by with and`)
	pronounStems = words.Set(`it that he she here there what who let where how this`)
	kinWords     = words.Set(`mother mom mum mama father dad papa parents sister brother siblings son daughter kid kids child children baby
wife husband partner boyfriend girlfriend bf gf fiance fiancé fiancée grandmother grandma grandfather grandpa grandparents aunt uncle cousin cousins niece nephew
family roommate roommates flatmate flatmates friend friends neighbour neighbor neighbours neighbors boss colleague colleagues mentor
dog dogs cat cats puppy kitten pet pets horse rabbit hamster bird turtle fish`)
)
