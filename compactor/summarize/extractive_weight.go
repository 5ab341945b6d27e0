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
	s.weight = 1
	seen := s.marks(names)
	telling := 0
	for _, term := range s.terms {
		if !talkWords()[term] && !names[term] {
			telling++
		}
	}
	s.weight += nameWeight * float64(min(seen.proper, 2))
	for _, reason := range []struct {
		holds bool
		more  float64
	}{{seen.number, numberWeight}, {s.timed, timeWeight}, {seen.self, selfWeight}} {
		if reason.holds {
			s.weight += reason.more
		}
	}
	if seen.you && !seen.self {
		s.weight *= youFactor
	}
	if words.EndsInQuestion(s.text) {
		s.weight *= questionFactor
		s.idle = true
	}
	if telling == 0 {
		s.weight = 0
	}
	s.idle = s.idle || telling < 2
	if len(s.terms) < 3 {
		s.weight *= shortFactor
	}
	switch {
	case seen.self && s.timed:
		s.kind = "event"
	case seen.self:
		s.kind = "fact"
	default:
		s.kind = "observation"
	}
}

// marks are signs that a sentence matters.
type marks struct {
	number, self, you bool
	proper            int // names and quotations
}

// marks reads a sentence's words as they are written. It also sets timed.
func (s *sentence) marks(names map[string]bool) marks {
	m := marks{proper: strings.Count(s.text, `"`)/2 + strings.Count(s.text, "“")}
	for i, word := range strings.FieldsFunc(s.text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '\'' && r != '’'
	}) {
		lower := strings.ToLower(strings.ReplaceAll(word, "’", "'"))
		first, _ := utf8.DecodeRuneInString(word)
		switch {
		case unicode.IsNumber(first):
			m.number = true
			s.timed = s.timed || len(word) == 4 && (word[:2] == "19" || word[:2] == "20")
		case timeWords[lower] && word != "may":
			s.timed = true
		case selfWords[lower]:
			m.self = true
		case youWords[lower]:
			m.you = true
		case i > 0 && unicode.IsUpper(first) && !names[strings.TrimSuffix(lower, "'s")] && len(words.Content(word)) > 0:
			m.proper++
		}
	}
	return m
}

// terms returns the terms of a list of words.
func terms(list string) map[string]bool { return set(words.Terms(list)...) }

var (
	timeWords = set(strings.Fields(`yesterday today tonight tomorrow ago week weeks weekend month months
year years monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
september october november december summer winter spring fall autumn birthday anniversary`)...)

	selfWords = set(strings.Fields(`i i'm i've i'd i'll im ive my mine myself me we we're we've we'll our us`)...)

	youWords = set(strings.Fields(`you your you're you've you'd you'll yours yourself`)...)

	// talkWords are words of small talk: two sentences of them mean the same.
	talkWords = lazy.Set(`thank thanks welcome great good nice cool awesome amazing wonderful fantastic lovely incredible
glad happy sorry hear sound sure agree proud love wow congrats congratulations luck inspiring impressive support
appreciate see talk chat catch care bye goodbye later soon time day keep go know think feel look way thing lot
definitely totally absolutely exactly right true hope wait believe share tell say let come up always stay enjoy
morning night evening excited exciting beautiful`, terms)

	interjections = set(strings.Fields(`hey hi hello yo wow oh ooh ah aha haha hahaha lol hmm hm um uh well yeah yep yes yup
ok okay cool nice great awesome amazing sure right absolutely definitely totally exactly aw aww awww
woah whoa yay congrats congratulations sorry damn gosh no nope bye cheers ugh man dude so anyway btw true agreed
fantastic wonderful`)...)
)
