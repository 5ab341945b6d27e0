// The weights for and against a sentence, measured on real conversations with questions about them: in a summary, and as
// something worth remembering after the conversation.

package summarize

import (
	"slices"
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

// judge sets weight, idle, timed and kind of a sentence whose text and terms are set.
func (s *sentence) judge(names map[string]bool) {
	t := traitsOf(s.text, names)
	s.weight = 1 + nameWeight*t.named
	s.kind = "observation"
	s.timed = t.timed
	if t.figure {
		s.weight += numberWeight
	}
	if t.timed {
		s.weight += timeWeight
	}
	if t.self {
		s.weight += selfWeight
		s.kind = "fact"
		if t.timed {
			s.kind = "event"
		}
	}
	if t.you && !t.self {
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

// lasting returns how likely a sentence says something about its speaker, or someone they know,
// that matters beyond the day: who they are, what they have, did, decided, like or plan. Above 0 it
// does. Kind words, opinions on life, advice and current activities do not. names are the
// speakers'.
func (s *sentence) lasting(names map[string]bool) float64 {
	text := strings.ReplaceAll(s.alone, "’", "'")
	t := traitsOf(text, names)
	kind := cueIn(text)
	if foreign(text) { // its verbs are not known
		if strings.ContainsFunc(text, words.IsUnspaced) { // words are not separated by spaces
			t.personal = t.personal || pronounSigns().MatchString(text)
			t.figure = t.figure || strings.ContainsFunc(text, unicode.IsNumber)
		}
		if !s.idle && (kind != "" || len(s.terms) >= 3 && (t.self || t.personal || t.figure)) {
			return 1
		}
		return -1
	}
	// Terms that are not small talk; names count twice.
	telling := t.named + float64(concrete(distinct(words.Content(dates().ReplaceAllString(text, ""))), names))
	sum := -5.8 + 1.2*min(telling, 4) + 0.3*min(max(telling-4, 0), 6) - 1.2*min(t.words/10, 2.5)
	for _, trait := range []struct {
		holds  bool
		weight float64
	}{
		{t.personal, 1.9},
		{t.self, 1.4},
		{t.tells, 1.3},
		{t.personal && t.tells, -0.8},
		{t.figure, 1.6},
		{t.dated, 2.1},
		{kind == "identity", 2.3},
		{kind == "decision", 2.4},
		{kind == "todo", 0.8},
		{kind == "preference", 1.7},
		{s.idle, -2.2},
		{t.you, -1.4},
	} {
		if trait.holds {
			sum += trait.weight
		}
	}
	if sum > minBeside && passing().MatchString(text) {
		sum -= 2.1
	}
	return sum
}

// foreign reports whether a sentence does not appear to be English.
func foreign(text string) bool {
	return !isEnglish(text) && (strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) }) ||
		slices.ContainsFunc(strings.Fields(text), func(word string) bool { return pronouns[words.Bare(word)] }))
}

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

	// passing matches what no longer matters after the conversation.
	passing = lazy.Pattern(`(?i)\b(?:not (?:gonna|going to)|right now|at the moment|brb|be right back|i'm on my way|` +
		`gotta (?:go|run)|head(?:ing)? (?:to bed|out|home|off|back)|to bed|to sleep|` +
		`tonight|this (?:morning|afternoon|evening|weekend)|in a (?:bit|sec|second|minute|moment|few)|see you|` +
		`talk (?:to you )?(?:soon|later)|catch up|keep (?:you|me) (?:posted|updated)|let me know|` +
		`(?:i|we)'ll (?:let|keep|try|check|see|be|do|definitely|remember|look|think|make sure)|` +
		`keep (?:on )?\w+ing|fingers crossed|can't wait|since (?:we|the|our|i) (?:\w+ )?(?:last|talked|spoke)|takes me back|check (?:it|this|that)|mentioned)\b`)

	pronouns = words.Set(`ich mein meine meinen meiner wir unser unsere
je j'ai mon ma mes nous notre yo mi mis nosotros nuestra nuestro я мой моя мне мы наш наша`)
	pronounSigns = lazy.Pattern(`私|僕|俺|我|うち|저는|나는|제가|내가|우리`)
	nearWords    = words.Set(`he she his her him hers`)
	pasts        = words.Set(`went had made took met saw found bought won began came gave left told wrote built lost grew taught became
did ran sold read spent brought drove flew sang said heard put set broke cut hurt caught chose
held kept led sent spoke stood threw wore swam slept fell ate drew shot grew moved`)
)
