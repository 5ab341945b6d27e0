package judge

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"cairn/compactor/summarize"
	"cairn/internal/facts"
	"cairn/internal/lazy"
	"cairn/llm"
	"cairn/transcript"
)

// passage is what a line of a summary may rest on: a message, or a line of an earlier summary.
type passage struct {
	seqs    []int64 // the message, or those that the line rests on
	author  int     // index into evidence.people; noPerson: unknown
	at      time.Time
	text    string
	keys    map[string]float64 // weights of its words, by every form in which they are compared
	words   int                // number of different words
	earlier bool               // a line of an earlier summary
	beside  bool               // no message of the span says it, see transcript.Line
	row     int64              // the summary that says it, if beside; 0: none, or not known
	by      transcript.Writer  // the person who wrote that line; the zero value: a summarizer

	repliesTo int64 // the message that it replies to; 0: none

	facts   facts.Text
	clauses []clause
	isRead  bool
}

// evidence is a span and what was shown beside it, to be searched.
type evidence struct {
	passages    []passage       // of the span, in order, then those of the reference
	spanEnd     int             // number of passages of the span
	reference   map[int64]bool  // messages outside of the span that the reference cites
	at          map[int64][]int // indexes of passages by message
	first, last int64
	cast        cast
	rarity      map[string]float64
	holding     map[string][]int       // indexes of passages by word, in every form in which words are compared
	beginnings  func() map[string]bool // see beginningsOf
	agent       string
}

// evidenceOf indexes items, the names of people, and what was shown beside them: a text, the agent's prompt, and summaries.
func evidenceOf(items []summarize.Item, people []string, beside, agent string, summaries []transcript.Summary) *evidence {
	e := &evidence{at: map[int64][]int{}, reference: map[int64]bool{}, rarity: map[string]float64{}, holding: map[string][]int{}, cast: cast{assistant: noPerson}, agent: agent}
	rows := map[*transcript.Summary]bool{}
	for _, it := range items {
		if it.From > 0 && (e.first == 0 || it.From < e.first) {
			e.first = it.From
		}
		e.last = max(e.last, it.To)
		switch {
		case it.Message.Seq != 0:
			e.addMessage(it)
		case it.Row != nil:
			if !rows[it.Row] {
				e.addRow(*it.Row)
			}
			rows[it.Row] = true
		case it.Message.Text == "": // the head of a prompt: summaries and pinned messages
			e.addText(it.Text)
		default: // a summary, of which nothing else is known
			e.addText(it.Message.Text)
		}
	}
	e.spanEnd = len(e.passages)
	e.addBeside(beside, summaries)
	e.addText(agent)
	for i := range e.passages[e.spanEnd:] {
		e.passages[e.spanEnd+i].beside = true
	}
	for _, name := range people {
		e.cast.person(name)
	}
	e.cast.languages = e.detect()
	e.index()
	e.beginnings = lazy.Value(func() map[string]bool { return beginningsOf(e.passages) })
	return e
}

// addBeside adds what was shown beside the span. A line that a person wrote there is not theirs where another summary says it.
func (e *evidence) addBeside(text string, summaries []transcript.Summary) {
	for _, row := range summaries {
		before := len(e.passages)
		e.addRow(row)
		for i := range e.passages[before:] {
			p := &e.passages[before+i]
			p.by = transcript.Writer{}
			p.row = row.ID
		}
	}
	e.addText(text)
	for _, p := range e.passages[e.spanEnd:] {
		for _, seq := range p.seqs {
			e.reference[seq] = true
		}
	}
}

func (e *evidence) addMessage(it summarize.Item) {
	m := it.Message
	if known := e.at[m.Seq]; len(known) > 0 { // another part of a long message
		e.passages[known[0]].text += m.Text
		return
	}
	author := noPerson
	switch m.Role {
	case llm.RoleUser:
		author = e.cast.person(m.Author)
	case llm.RoleAssistant:
		author = e.cast.person(m.Author)
		e.cast.assistant = author
		e.cast.people[author].bot = true
	}
	text := m.Text
	if m.Quote != "" {
		text += "\n" + m.Quote
	}
	e.at[m.Seq] = []int{len(e.passages)}
	e.passages = append(e.passages, passage{seqs: []int64{m.Seq}, author: author, at: m.Time, text: text, repliesTo: m.ReplySeq})
}

// addRow adds the lines of an earlier summary that rest on something.
func (e *evidence) addRow(row transcript.Summary) {
	rests := map[int]transcript.Line{}
	for _, line := range row.Lines {
		rests[line.At] = line
	}
	for at, text := range strings.Split(row.Text, "\n") {
		line, judged := rests[at]
		if judged && !line.HasEvidence() {
			continue
		}
		before := len(e.passages)
		e.addLine(text, line.Seqs, row.ToTime)
		if len(e.passages) == before {
			continue
		}
		p := &e.passages[before]
		p.by = transcript.Writer{Name: line.By, ID: line.ByID}
		p.beside = line.Beside
		p.row = line.Earlier
		if !judged && len(p.seqs) == 0 {
			p.beside = true
			p.row = row.ID
		}
	}
}

// addText adds the lines of a text, without those that are marked as lines without evidence.
func (e *evidence) addText(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasSuffix(strings.TrimSpace(line), transcript.NoEvidence) {
			continue
		}
		e.addLine(line, nil, time.Time{})
	}
}

func (e *evidence) addLine(line string, seqs []int64, at time.Time) {
	if strings.TrimSpace(line) == "" || summarize.HeadingOf(line) >= 0 {
		return
	}
	seqs = slices.Concat(seqs, cited(line))
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	for _, seq := range seqs {
		e.at[seq] = append(e.at[seq], len(e.passages))
	}
	e.passages = append(e.passages, passage{seqs: seqs, author: noPerson, at: at, text: transcript.Citations.ReplaceAllString(line, ""), earlier: true})
}

// detect returns the languages of the span, those of people first: an assistant may answer in another one.
func (e *evidence) detect() []string {
	var people, all strings.Builder
	for i, p := range e.passages {
		if all.Len() > 1<<14 {
			break
		}
		all.WriteString(p.text + "\n")
		if i < e.spanEnd && p.author != noPerson && p.author != e.cast.assistant {
			people.WriteString(p.text + "\n")
		}
	}
	languages := facts.Languages(people.String())
	if people.String() == all.String() {
		return languages
	}
	for _, code := range facts.Languages(all.String()) {
		if !slices.Contains(languages, code) {
			languages = append(languages, code)
		}
	}
	return languages
}

// index counts the words of all passages.
func (e *evidence) index() {
	last := time.Time{}
	for i := range e.passages {
		p := &e.passages[i]
		if p.at.IsZero() {
			p.at = last
		}
		last = p.at
		p.keys = map[string]float64{}
		for _, k := range evidenceKeys(p.text) {
			if k.weight > weightOfCharacter {
				p.words++
			}
			p.keys[k.short] = k.weight
			p.keys[k.stem] = k.weight
		}
		for k := range p.keys {
			e.rarity[k]++
			e.holding[k] = append(e.holding[k], i)
		}
	}
	for k, n := range e.rarity {
		e.rarity[k] = math.Log(1 + float64(len(e.passages))/n)
	}
}

// evidenceKeys returns the keys of a text, with single Chinese characters: a summary may join them into other words.
func evidenceKeys(text string) []key {
	keys := keysOf(text)
	for _, r := range text {
		if unicode.Is(unicode.Han, r) && !strings.ContainsRune("的了是在有不也会说和一这那个们我你他她吗就要到去来", r) {
			keys = append(keys, key{short: string(r), stem: string(r), weight: weightOfCharacter})
		}
	}
	return keys
}

// weightOfCharacter is the weight of one character, as against 0.5 for two.
const weightOfCharacter = 0.2

// read returns a passage with its facts.
func (e *evidence) read(i int) *passage {
	p := &e.passages[i]
	if !p.isRead {
		p.isRead = true
		p.facts = facts.Read(p.text, e.cast.languages)
	}
	return p
}

// namedIn returns the people that a passage mentions.
func (e *evidence) namedIn(i int) []int { return e.cast.mentioned(e.passages[i].text, false) }

// known reports whether a word, in some form, is in the span or in what was shown beside it.
func (e *evidence) known(word nameWord) bool {
	for _, k := range keysOf("x " + word.text) {
		if e.rarity[k.short] > 0 || e.rarity[k.stem] > 0 {
			return true
		}
	}
	least := 4 // letters that two forms of a name begin with
	if e.cast.inflects() {
		least = 3
	}
	runes := []rune(word.folded)
	return len(runes) >= least && e.beginnings()[string(runes[:least])]
}

// beginningsOf returns how the capitalized words of all passages begin, those in Cyrillic also in Latin letters.
func beginningsOf(passages []passage) map[string]bool {
	all := map[string]bool{}
	for _, p := range passages {
		for _, w := range wordsIn(p.text) {
			for _, form := range []string{w.folded, latin.Replace(w.folded)} {
				runes := []rune(form)
				for n := 3; n <= min(4, len(runes)); n++ {
					if w.capital && (n == 4 || !w.first) || form != w.folded {
						all[string(runes[:n])] = true
					}
				}
			}
		}
	}
	return all
}

// latin replaces Cyrillic letters.
var latin = strings.NewReplacer("а", "a", "б", "b", "в", "v", "г", "g", "д", "d", "е", "e", "ж", "zh", "з", "z", "и", "i", "й", "y", "к", "k",
	"л", "l", "м", "m", "н", "n", "о", "o", "п", "p", "р", "r", "с", "s", "т", "t", "у", "u", "ф", "f", "х", "h", "ц", "ts", "ч", "ch", "ш", "sh", "ы", "y", "э", "e", "ю", "yu", "я", "ya")
