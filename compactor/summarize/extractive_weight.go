// The weights for and against a sentence in a summary, measured on real conversations with questions about them.

package summarize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
	"cairn/internal/words"
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

// judge sets weight and timed of a sentence whose text and terms are set.
func (s *sentence) judge(names map[string]bool) {
	t := traitsOf(s.text, names)
	s.weight = 1 + nameWeight*t.named
	s.timed = t.timed
	if t.figure {
		s.weight += numberWeight
	}
	if t.timed {
		s.weight += timeWeight
	}
	if t.self {
		s.weight += selfWeight
	}
	if t.you && !t.self {
		s.weight *= youFactor
	}
	telling := concrete(s.terms, names)
	if words.EndsInQuestion(s.text) {
		s.weight *= questionFactor
	}
	if telling == 0 {
		s.weight = 0
	}
	if len(s.terms) < 3 {
		s.weight *= shortFactor
	}
}

// isName reports whether a word within a sentence is the name of something other than a speaker.
func isName(word string, first rune, speakers map[string]bool) bool {
	return unicode.IsUpper(first) && !speakers[strings.TrimSuffix(word, "'s")] && len(words.Content(word)) > 0
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

// traits are features of a sentence.
type traits struct {
	personal bool // it has I, my or she
	self     bool // it has I, my or we
	you      bool
	tells    bool    // something happened
	figure   bool    // it contains a number
	timed    bool    // it mentions a time
	dated    bool    // one other than the present day
	words    float64 // their number
	named    float64 // proper nouns and quotations, two at most
}

func traitsOf(text string, names map[string]bool) (t traits) {
	t.words = float64(len(strings.Fields(text)))
	named := strings.Count(text, `"`)/2 + strings.Count(text, "“")
	start := true
	for _, field := range strings.Fields(dates().ReplaceAllString(text, "")) {
		word := words.Bare(field)
		first, _ := utf8.DecodeRuneInString(strings.TrimLeft(field, `"'“(*_`))
		t.self = t.self || selfWords[word]
		t.you = t.you || youWords[word]
		year := len(word) == 4 && (strings.HasPrefix(word, "19") || strings.HasPrefix(word, "20"))
		time := year || timeWords[word] && word != "may"
		t.timed = t.timed || time
		t.dated = t.dated || time && word != "today" && word != "tonight"
		switch {
		case strings.HasPrefix(word, "we") && selfWords[word] || word == "us" || word == "our": // often everyone
		case selfWords[word] || pronouns[word] || nearWords[word]:
			t.personal = true
		case unicode.IsNumber(first):
			t.figure = true
		case !start && isName(word, first, names) && !timeWords[word]:
			named++
		case pasts[word] || strings.HasSuffix(word, "ed") && len(word) > 4:
			t.tells = true
			t.personal = t.personal || start // "Got a tattoo"
		}
		start = strings.ContainsAny(field[len(field)-1:], ".!?:")
	}
	t.named = float64(min(named, 2))
	return t
}

var (
	// dates matches what withDates added.
	dates = lazy.Pattern(`\((?:about |the )?[^()]*\d{4}\)`)

	pronouns = words.Set(`ich mein meine meinen meiner wir unser unsere
je j'ai mon ma mes nous notre yo mi mis nosotros nuestra nuestro я мой моя мне мы наш наша`)
	pronounSigns = lazy.Pattern(`私|僕|俺|我|うち|저는|나는|제가|내가|우리`)
	nearWords    = words.Set(`he she his her him hers`)
	pasts        = words.Set(`went had made took met saw found bought won began came gave left told wrote built lost grew taught became
did ran sold read spent brought drove flew sang said heard put set broke cut hurt caught chose
held kept led sent spoke stood threw wore swam slept fell ate drew shot grew moved`)
)
