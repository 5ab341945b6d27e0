// The extractive summarizer needs no model: it chooses among the sentences of the messages. Its
// text consists of the speakers' own words, never of new sentences.

package summarize

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/transcript"
)

// Extract summarizes messages in at most target tokens: under each day and speaker, the most
// informative sentences in their order. Repetitions do not count, and sentences with words of focus
// are preferred. The memories are at most maxMemories sentences in which people describe
// themselves, decide, plan or state a preference, best first, and at most one for two messages of
// people.
//
// A message without a seq is the text of a summary: its lines stay whole and under their headings,
// above the sentences, see foldLines.
//
// Sources are the seqs of the messages whose sentences were chosen, and of the runners-up: a fold
// chooses among them again, so its cost does not grow with the past. 0 represents all texts of
// summaries. Lines are those that consist of sentences of messages, with the messages. Equal arguments give equal results. The text
// is empty only if the messages have no text or target is below 1; the caller sets Tokens.
//
// The words of others, the summaries beside it, count as little as words that were already chosen.
func Extract(messages []chat.Message, target, maxMemories int, focus string, others ...[]string) Summary {
	messages, texts := apart(messages)
	sentences := sentencesOf(messages, focus)
	lines := newLines(texts, sentences, target, focus)
	c := choose(sentences, target-lines.tokens(), others)
	spoken := write(slices.Clone(c.chosen), target-lines.tokens())
	s := Summary{Text: lines.above(spokenText(spoken), target), Memories: Memories(messages, maxMemories)}
	s.Lines = restingOn(messages, spoken, s.Text)
	if len(texts) > 0 {
		s.Sources = []int64{0}
	}
	c.fill(sentences)
	c.take(runnersUp * target)
	for i, m := range messages {
		if c.messages[i] && (m.Seq != 0 || !slices.Contains(s.Sources, 0)) {
			s.Sources = append(s.Sources, m.Seq)
		}
	}
	return s
}

// runnersUp is how much more than the chosen sentences is kept for later folds.
const runnersUp = 2

// choose takes the sentences with the most information per token, best first, until target is used
// up. The information of a sentence is the sum of its terms' weights: rarer terms weigh more, and
// terms that were already chosen weigh little.
func choose(sentences []*sentence, target int, others [][]string) *chooser {
	c := &chooser{rarity: rarities(sentences), covered: map[string]bool{}, speech: map[speech]bool{}, messages: map[int]bool{}}
	for _, terms := range others {
		for _, term := range terms {
			c.covered[term] = true
		}
	}
	// The cost of a sentence depends on its neighbours, so some room is left after the first round.
	room := target
	for range 3 {
		c.fill(sentences)
		if !c.take(room) {
			break
		}
		room = target - tokens.Estimate(spokenText(inOrder(c.chosen)))
	}
	return c
}

// chooser is the state of a choice.
type chooser struct {
	rarity   map[string]float64
	covered  map[string]bool
	speech   map[speech]bool
	messages map[int]bool
	queue    []*sentence // best last
	chosen   []*sentence
}

func (c *chooser) fill(sentences []*sentence) {
	c.queue = slices.DeleteFunc(slices.Clone(sentences), func(s *sentence) bool { return s.taken })
	for _, s := range c.queue {
		s.score = c.scoreOf(s)
	}
	slices.SortFunc(c.queue, byScore)
}

// byScore sorts the highest score last, and of equal ones the earlier sentence.
func byScore(a, b *sentence) int {
	return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(b.place, a.place))
}

// take moves sentences from the queue to the choice until room is used up. It reports whether it
// moved any.
func (c *chooser) take(room int) (took bool) {
	for len(c.queue) > 0 && (room > 0 || len(c.chosen) == 0) {
		// Scores only fall as terms are chosen. So the last of the queue is the best if it is still
		// last after it is scored again.
		last := len(c.queue) - 1
		s := c.queue[last]
		c.queue = c.queue[:last]
		if score := c.scoreOf(s); score < s.score {
			s.score = score
			at, _ := slices.BinarySearchFunc(c.queue, s, byScore)
			c.queue = slices.Insert(c.queue, at, s)
			continue
		}
		cost := s.tokens
		if !c.speech[s.speech()] {
			cost += s.label
		}
		if !c.speech[speech{day: s.day}] {
			cost += dayTokens
		}
		if (cost > room || s.score == 0) && len(c.chosen) > 0 {
			continue
		}
		room -= cost
		took = true
		s.taken = true
		c.chosen = append(c.chosen, s)
		c.speech[speech{day: s.day}] = true
		c.speech[s.speech()] = true
		c.messages[s.message] = true
		for _, term := range s.terms {
			c.covered[term] = true
		}
	}
	return took
}

const (
	repeatFactor = 0.3  // for a term that was already chosen
	secondFactor = 0.35 // for a sentence whose message has another chosen one
)

// dayTokens is the cost of a line with a date, usually without its year.
const dayTokens = 4

func (c *chooser) scoreOf(s *sentence) float64 {
	sum := 0.0
	for _, term := range s.terms {
		if c.covered[term] {
			sum += repeatFactor * c.rarity[term]
		} else {
			sum += c.rarity[term]
		}
	}
	if c.messages[s.message] {
		sum *= secondFactor
	}
	// The square root: two short sentences are more informative than a long one.
	return s.weight * math.Sqrt(sum) / math.Pow(float64(s.tokens), 0.85)
}

// rarities returns for each term the logarithm of how rare it is among the sentences.
func rarities(sentences []*sentence) map[string]float64 {
	rarity := map[string]float64{}
	for _, s := range sentences {
		for _, term := range s.terms {
			rarity[term]++
		}
	}
	for term, n := range rarity {
		rarity[term] = math.Log(1 + float64(len(sentences))/n)
	}
	return rarity
}

// spokenLine is a line of sentences of one speaker, or a line with the day of those below it.
type spokenLine struct {
	text     string
	messages []int // whose sentences it has, by index; none: it has a day
}

func spokenText(lines []spokenLine) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	return strings.Join(texts, "\n")
}

// restingOn returns the lines of a text that ends with spoken ones, as far as these have sentences of messages: those that a
// summary quotes have none.
func restingOn(messages []chat.Message, spoken []spokenLine, text string) (lines []transcript.Line) {
	if text == "" || !strings.HasSuffix(text, spokenText(spoken)) {
		return nil
	}
	first := strings.Count(text, "\n") + 1 - len(spoken)
	for i, l := range spoken {
		var seqs []int64
		for _, of := range l.messages {
			if seq := messages[of].Seq; seq != 0 {
				seqs = append(seqs, seq)
			}
		}
		slices.Sort(seqs)
		seqs = slices.Compact(seqs)
		if len(seqs) > 0 {
			lines = append(lines, transcript.Line{At: first + i, Seqs: seqs})
		}
	}
	return lines
}

// write returns the chosen sentences, which come best first, in their order and under their days.
// If they exceed target, the last chosen ones are dropped; a single sentence is clipped.
func write(chosen []*sentence, target int) []spokenLine {
	for ; len(chosen) > 0; chosen = chosen[:len(chosen)-1] {
		lines := inOrder(chosen)
		if tokens.Estimate(spokenText(lines)) <= target {
			return lines
		}
		if len(chosen) == 1 {
			only := chosen[0]
			text := tokens.Clip(oneLine(tokens.Clip(only.speaker+": "+only.text, target)), target)
			return []spokenLine{{text, []int{only.message}}}
		}
	}
	return nil
}

// inOrder writes day after day, and groups each day by speaker: a name at every change of speaker
// would take a quarter of the tokens.
func inOrder(chosen []*sentence) (lines []spokenLine) {
	var order []speech
	spoken := map[speech]*spokenLine{}
	for _, s := range slices.SortedFunc(slices.Values(chosen), func(a, b *sentence) int { return cmp.Compare(a.place, b.place) }) {
		line := spoken[s.speech()]
		switch {
		case line == nil:
			line = &spokenLine{text: s.speaker + ": "}
			spoken[s.speech()] = line
			order = append(order, s.speech())
		case endsSentence(line.text):
			line.text += " "
		default:
			line.text += "; "
		}
		line.text += s.text
		line.messages = append(line.messages, s.message)
	}
	day := ""
	for _, of := range order {
		if of.day != day {
			lines = append(lines, spokenLine{text: dayAfter(of.day, day) + ":"})
			day = of.day
		}
		lines = append(lines, *spoken[of])
	}
	return lines
}

// dayAfter returns a day without its year if the day above it, "" for none, has the same.
func dayAfter(day, last string) string {
	if at := strings.LastIndexByte(day, ' '); at > 0 && strings.HasSuffix(last, day[at:]) {
		return day[:at]
	}
	return day
}

func endsSentence(text string) bool {
	return strings.ContainsAny(text[max(0, len(text)-3):], ".!?…。！？।)]")
}
