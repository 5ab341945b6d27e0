// What a sentence is worth as a memory: whether somebody could want it weeks later, without the conversation around it.

package summarize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/words"
)

// minWorth is the worth from which a sentence is remembered. It and the weights below were chosen on two sets of sentences that
// people had marked: talk of friends, of a team's channel and of meetings, and invented ones.
const minWorth = 3.8

// What a sentence is worth in addition to its best cue.
const (
	nameWorth   = 0.9   // each name or quotation, two at most
	figureWorth = 0.6   // a number
	dateWorth   = 0.9   // a date other than the present day
	termWorth   = 0.4   // each term that is neither small talk nor in a cue, four at most
	longWorth   = -0.06 // each word from the 25th

	looseWorth     = -2.5 // a pronoun for what another sentence names
	objectWorth    = -2.5 // a cue whose object is missing: "I love it"
	technicalWorth = -2   // code in what somebody does or wants
	shopWorth      = -1.6 // a cue of what people have or do, where they talk about code
	additionWorth  = -1.5 // a statement about a thing that begins with "and" or "apparently"
	replyWorth     = -1.5 // an end such as "too" or "though"
	fillerWorth    = -0.4 // each sound or stammer of speech
)

// What a sentence without a cue is worth instead.
const (
	worksWorth   = 1.9 // how something technical works
	datedWorth   = 2.2 // what happens when
	foreignWorth = 2.2 // the first person, or a number, in a language with few cues
)

// vague is the importance of an intention without a thing or a date.
const vague = 0.4

// talk is what a span of messages is like.
type talk struct {
	names map[string]bool // the first names of the speakers
	team  bool            // several people: what one of them states may concern all
	shop  bool            // about code: "I have a list" is no possession
}

// worth is what a sentence is as a memory.
type worth struct {
	kind       string
	importance float64
	points     float64
	loose      bool // it has a pronoun whose noun another sentence has
	shows      bool // it points at an attachment
	empty      bool // it names nothing
	asks       bool // it asks, speaks to somebody, is vague or an opinion
}

// reading is a sentence while its worth is determined.
type reading struct {
	traits
	text      string
	plain     []string // see plainWords
	of        talk
	technical bool
	cues      map[string]bool // the groups of its cues
	kind      string          // of the best cue; "": none
	best      float64         // points of the best cue
	against   float64         // points of cues against it
	telling   int             // terms that are neither small talk nor in a cue
}

// worthOf weighs a sentence.
func worthOf(text string, of talk) worth {
	text = strings.ReplaceAll(text, "’", "'")
	plain := plainWords(text)
	if unfit(text, plain) {
		return worth{asks: true, empty: true}
	}
	r := reading{traits: traitsOf(text, of.names), text: text, plain: plain, of: of, technical: hasCode(text), cues: map[string]bool{}}
	r.figure = r.figure || count(plain, numberWords) >= 2
	if r.unspaced() {
		r.self = r.self || pronounSigns().MatchString(text)
		r.figure = r.figure || strings.ContainsFunc(text, unicode.IsNumber)
	}
	r.findCues()
	w := worth{
		loose: isLoose(plain, of.names), shows: showing().MatchString(text),
		empty: len(plain) < minWhole || r.telling < 2 && r.named == 0, asks: r.cues["you"] || r.cues["opinion"] || r.cues["vague"],
	}
	if r.best <= 0 {
		r.findSubject()
	}
	if r.best <= 0 {
		return w
	}
	w.points = r.best + r.against + r.details()
	if w.loose {
		w.points += looseWorth
	}
	w.kind, w.importance = r.memory()
	return w
}

func (r *reading) unspaced() bool { return strings.ContainsFunc(r.text, words.IsUnspaced) }

// findCues sets cues, kind, best, against and telling.
func (r *reading) findCues() {
	rest := slices.Clone(r.plain)
	for _, h := range cues().hits(r.text, r.plain) {
		isClause := h.at > 0 && subordinate[r.plain[h.at-1]] // "while I'm studying the notes"
		if h.cue.name == "group" && !r.of.team || isClause && h.cue.points > 0 {
			continue
		}
		if h.cue.points < 0 {
			if !r.cues[h.cue.name] {
				r.against += h.cue.points
			}
			r.cues[h.cue.name] = true
			continue
		}
		r.cues[h.cue.name] = true
		for i := h.at; i < h.end; i++ {
			rest[i] = ""
		}
		if points := r.pointsOf(h); points > r.best {
			r.best = points
			r.kind = h.cue.kind
		}
	}
	r.telling = concrete(distinct(words.Content(strings.Join(rest, " "))), r.of.names)
	if r.unspaced() {
		r.telling = len(words.Content(r.text))
	}
	plainFact := r.cues["team"] || r.cues["self"] || r.cues["habit"] || r.cues["decision"]
	if r.technical && !plainFact && r.best > 0 {
		r.against += technicalWorth
	}
}

// pointsOf returns the points of a cue where it is.
func (r *reading) pointsOf(h hit) float64 {
	points := h.cue.points
	if r.of.shop && idleAtWork[h.cue.name] {
		points += shopWorth
	}
	lacksObject := h.end > 0 && (h.end == len(r.plain) || objectPronouns[r.plain[h.end]])
	if lacksObject && !needsNoObject[h.cue.name] {
		points += objectWorth
	}
	return points
}

// findSubject sets kind and best of a sentence without a cue.
func (r *reading) findSubject() {
	switch {
	case r.technical && !r.self && !r.you && !openers[r.plain[0]] && r.explains():
		r.best = worksWorth
		r.kind = "fact"
	case r.technical:
	case foreign(r.text) && (r.self || r.personal || r.figure):
		r.best = foreignWorth
		r.kind = "fact"
	case r.dated && !r.you && r.telling >= 2 && r.happens():
		r.best = datedWorth
	}
}

// explains reports whether a sentence says how something works.
func (r *reading) explains() bool {
	// "The test fails" means one that only those who talk about it know.
	thing, _ := utf8.DecodeRuneInString(strings.TrimPrefix(r.text, "The "))
	begins := thing == '`' || unicode.IsUpper(thing) && r.plain[0] != "the"
	return begins && !adrift[r.plain[0]] && len(r.plain) >= 6 && !strings.Contains(r.text, "/blob/") &&
		slices.ContainsFunc(r.plain[1:], func(word string) bool { return workings[word] })
}

// happens reports whether a sentence says what happens, happened or is. Two people who pass on what does not concern them do so
// in few words: "The exam is on 3 May."
func (r *reading) happens() bool {
	const few = 14
	isVerb := func(word string) bool { return workings[word] || isPast(word) || word == "am" || word == "have" }
	first, _ := utf8.DecodeRuneInString(r.text)
	return !unicode.IsNumber(first) && slices.ContainsFunc(r.plain, isVerb) && !adrift[r.plain[0]] && (r.of.team || r.personal || len(r.plain) <= few)
}

// details returns what a sentence is worth in addition to its cues.
func (r *reading) details() (sum float64) {
	last := r.plain[len(r.plain)-1]
	for _, detail := range []struct {
		worth float64
		times float64
	}{
		{nameWorth, r.named},
		{figureWorth, oneIf(r.figure)},
		{dateWorth, oneIf(r.dated)},
		{termWorth, float64(min(r.telling, 4))},
		{longWorth, max(r.words-25, 0)},
		{additionWorth, oneIf((additions[r.plain[0]] || adrift[r.plain[0]]) && !r.self)},
		{replyWorth, oneIf(replies[last])},
		{fillerWorth, float64(fillers(r.text))},
	} {
		sum += detail.worth * detail.times
	}
	return sum
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// memory returns the kind and importance that the sentence has as a memory.
func (r *reading) memory() (kind string, important float64) {
	switch kind = r.kind; {
	case kind == "goal" && r.named == 0 && !r.figure && !r.dated && r.telling < 3:
		return "fact", vague
	case kind == "" && r.self:
		kind = "fact"
	case kind == "":
		kind = "observation"
	}
	if kind == "fact" && r.timed && r.cues["past"] {
		kind = "event"
	}
	return kind, importance[kind]
}

// isLoose reports whether a sentence has a pronoun for something that it does not name.
func isLoose(plain []string, names map[string]bool) bool {
	things := 0 // named so far
	people := false
	for i, word := range plain {
		next := ""
		if i+1 < len(plain) {
			next = plain[i+1]
		}
		last := ""
		if i > 0 {
			last = plain[i-1]
		}
		switch {
		case i == 0 && openers[word],
			word == "it" && (things == 0 || prepositions[last] && next == ""),
			(persons[word] || groups[word]) && things == 0 && !people,
			word == "these" || word == "those" || word == "that" && prepositions[last],
			word == "this" && (next == "" || links[next]),
			word == "that" && (next == "" || links[next]) && i > 0 && !links[last]:
			return true
		}
		people = people || kinWords[word] || names[word]
		isVerb := objectPronouns[next] || subjects[last] || isPast(word) // not a thing
		if i > 0 && !isVerb && !links[word] && !kinWords[word] && !talkWords()[word] && len(words.Content(word)) > 0 {
			things++
		}
	}
	return false
}

func count(plain []string, set map[string]bool) (n int) {
	for _, word := range plain {
		if set[word] {
			n++
		}
	}
	return n
}

// fillers counts the sounds and stammers of speech: "uh", "the the", "w we".
func fillers(text string) (n int) {
	last := ""
	for field := range strings.FieldsSeq(text) {
		word := words.Bare(field)
		isStammer := len(field) == 1 && word >= "b" && word <= "z" && word != "i" && word != "u"
		if word != "" && word == last || sounds[word] || isStammer {
			n++
		}
		last = word
	}
	return n
}

// foreign reports whether a sentence does not appear to be English.
func foreign(text string) bool {
	return !isEnglish(text) && (strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) }) ||
		slices.ContainsFunc(strings.Fields(text), func(word string) bool { return pronouns[words.Bare(word)] }))
}
