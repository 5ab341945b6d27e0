// The weights for and against a sentence, measured on real conversations with questions about them.

package summarize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
	"cairn/words"
)

const (
	numberWeight     = 0.15
	timeWeight       = 1.2
	nameWeight       = 0.8 // of each proper noun or quotation, two at most
	selfWeight       = 0.8 // of the speaker about themselves
	questionFactor   = 0.2
	youFactor        = 0.5 // about the other person
	shortFactor      = 0.3 // fewer than three terms
	attachmentWeight = 0.9
	focusWeight      = 4.0 // of each word of the focus
)

// judge sets weight, idle, timed and kind of a sentence whose text and terms are set.
func (s *sentence) judge(names map[string]bool) {
	proper := strings.Count(s.text, `"`)/2 + strings.Count(s.text, "“") // names and quotations
	var number, self, you bool
	for i, word := range strings.FieldsFunc(s.text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '\'' && r != '’'
	}) {
		lower := strings.ToLower(strings.ReplaceAll(word, "’", "'"))
		first, _ := utf8.DecodeRuneInString(word)
		switch {
		case unicode.IsNumber(first):
			number = true
			s.timed = s.timed || len(word) == 4 && (word[:2] == "19" || word[:2] == "20")
		case timeWords[lower] && word != "may":
			s.timed = true
		case selfWords[lower]:
			self = true
		case youWords[lower]:
			you = true
		case i > 0 && isName(word, lower, first, names):
			proper++
		}
	}
	s.weight = 1 + nameWeight*float64(min(proper, 2))
	s.kind = "observation"
	if number {
		s.weight += numberWeight
	}
	if s.timed {
		s.weight += timeWeight
	}
	if self {
		s.weight += selfWeight
		if s.kind = "fact"; s.timed {
			s.kind = "event"
		}
	}
	if you && !self {
		s.weight *= youFactor
	}
	telling := concrete(s.terms, names)
	s.idle = telling < 2
	if words.EndsInQuestion(s.text) {
		s.weight *= questionFactor
		s.idle = true
	}
	if telling == 0 {
		s.weight = 0
	}
	if len(s.terms) < 3 {
		s.weight *= shortFactor
	}
}

// isName reports whether a word within a sentence is the name of something other than a speaker.
func isName(word, lower string, first rune, speakers map[string]bool) bool {
	return unicode.IsUpper(first) && !speakers[strings.TrimSuffix(lower, "'s")] && len(words.Content(word)) > 0
}

// concrete returns how many terms are neither small talk nor a speaker.
func concrete(terms []string, speakers map[string]bool) (n int) {
	for _, term := range terms {
		if !talkWords()[term] && !speakers[term] {
			n++
		}
	}
	return n
}

func terms(list string) map[string]bool { return words.Set(strings.Join(words.Terms(list), " ")) }

var (
	timeWords = words.Set(`yesterday today tonight tomorrow ago week weeks weekend month months
year years monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
september october november december summer winter spring fall autumn birthday anniversary`)

	selfWords = words.Set(`i i'm i've i'd i'll im ive my mine myself me we we're we've we'll our us`)

	youWords = words.Set(`you your you're you've you'd you'll yours yourself`)

	// talkWords are words of small talk: two sentences of them mean the same.
	talkWords = lazy.Set(`thank thanks welcome great good nice cool awesome amazing wonderful fantastic lovely incredible
glad happy sorry hear sound sure agree proud love wow congrats congratulations luck inspiring impressive support
appreciate see talk chat catch care bye goodbye later soon time day keep go know think feel look way thing lot
definitely totally absolutely exactly right true hope wait believe share tell say let come up always stay enjoy
morning night evening excited exciting beautiful`, terms)

	interjections = words.Set(`hey hi hello yo wow oh ooh ah aha haha hahaha lol hmm hm um uh well yeah yep yes yup
ok okay cool nice great awesome amazing sure right absolutely definitely totally exactly aw aww awww
woah whoa yay congrats congratulations sorry damn gosh no nope bye cheers ugh man dude so anyway btw true agreed
fantastic wonderful`)
)
