package summarize

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"cairn/internal/facts"
	"cairn/internal/words"
)

// verdict is the result for one line.
type verdict struct {
	wrong   string  // why the messages contradict it; "" if they do not
	seqs    []int64 // the messages of the span that say it; none: not found
	earlier bool    // only what was shown beside the span says it
}

// judge compares a claim with the evidence. It is contradicted only where code can see that a cited message says something else;
// in doubt it is merely not found.
func (e *evidence) judge(c *claim) verdict {
	if c.invented != "" {
		return verdict{wrong: fmt.Sprintf("nobody here is called %s", c.invented)}
	}
	cited, missing := e.resolve(c)
	if missing != 0 {
		return verdict{wrong: fmt.Sprintf("there is no message #%d", missing)}
	}
	telling := slices.DeleteFunc(slices.Clone(cited), func(i int) bool { return !e.tells(c, i) })
	why, found := e.checkSpeaker(c, telling)
	if why != "" {
		return verdict{wrong: why}
	}
	found = found && len(c.unknown) == 0
	for _, check := range []func(c *claim, cited, telling []int) (string, bool){e.checkNumbers, e.checkDates} {
		why, ok := check(c, cited, telling)
		if why != "" {
			return verdict{wrong: why}
		}
		found = found && ok
	}
	if !found {
		return verdict{}
	}
	if len(telling) == 0 {
		telling = e.search(c)
	} else if !e.covers(c, telling) {
		telling = nil
	}
	own := slices.DeleteFunc(slices.Clone(telling), func(i int) bool { return i >= e.own })
	return verdict{seqs: e.seqsOf(own, c), earlier: len(own) == 0 && len(telling) > 0}
}

// resolve returns the passages of the messages that a line cites, and the first message that does not exist. A message of the
// span that was not shown is passed over.
func (e *evidence) resolve(c *claim) (passages []int, missing int64) {
	for _, seq := range c.cited {
		at := e.at[seq]
		if len(at) == 0 && (seq < e.first || seq > e.last) && !e.reference[seq] {
			return nil, seq
		}
		passages = append(passages, at...)
	}
	slices.Sort(passages)
	return slices.Compact(passages), 0
}

// tells reports whether a cited passage says something of a line: they share a word, number or date; or it is a short answer to
// one that does.
func (e *evidence) tells(c *claim, i int) bool {
	if c.foreign {
		return true
	}
	if own := e.overlap(c, i); own.words >= leastShared || e.sharesFact(c, i) {
		return true
	}
	p := e.read(i)
	if i >= e.own || !slices.Contains(c.people, p.author) {
		return false
	}
	for k := max(i-3, 0); k <= min(i+1, e.own-1); k++ {
		if o := e.overlap(c, k); k != i && o.words >= leastShared && (p.words <= shortAnswer || o.shared >= 2) {
			return true
		}
	}
	return false
}

const (
	leastShared = 0.6 // rarity of the words that a line shares with a message that says something of it
	shortAnswer = 4   // words of a message that only agrees, or answers
)

// sharesFact reports whether a passage has a number or date of the line.
func (e *evidence) sharesFact(c *claim, i int) bool {
	p := e.read(i)
	for _, n := range c.facts.Numbers {
		if !n.Weak && !n.Dated && slices.ContainsFunc(p.facts.Numbers, func(m facts.Number) bool { return !m.Weak && facts.Same(n, m) }) {
			return true
		}
	}
	for _, d := range c.facts.Dates {
		if !d.Soft && slices.ContainsFunc(p.facts.Dates, func(o facts.Date) bool { return !o.Soft && facts.Meet(d, p.at, o, p.at) }) {
			return true
		}
	}
	return false
}

// covers reports whether the passages, with those around them, say enough of a line.
func (e *evidence) covers(c *claim, passages []int) bool {
	if c.foreign || len(c.keys) == 0 {
		return true
	}
	all := e.near(passages)
	found, sum := 0.0, 0.0
	for _, k := range c.keys {
		sum += k.weight
		for _, i := range all {
			if weight := max(e.passages[i].keys[k.short], e.passages[i].keys[k.stem]); weight > 0 {
				found += k.weight
				break
			}
		}
	}
	return found >= leastCovered*sum || found >= manyWords
}

const (
	leastCovered = 0.15 // share of a line's words in the messages that it cites and those around them
	manyWords    = 3
)

// search returns the passages that say most of a line which cites none that does; at most mostFound.
func (e *evidence) search(c *claim) (best []int) {
	type hit struct {
		at    int
		words float64
	}
	var hits []hit
	sum := 0.0
	for _, k := range c.keys {
		rarity := e.rarityOf(k)
		if rarity == 0 { // no message has it
			rarity = math.Log(1 + float64(len(e.passages)))
		}
		sum += k.weight * rarity
	}
	for i := range e.passages {
		o := e.overlap(c, i)
		if e.passages[i].author != noPerson && slices.Contains(c.people, e.passages[i].author) {
			o.words *= 1.5
		}
		if o.words > 0 || len(c.keys) == 0 {
			if e.sharesFact(c, i) {
				o.words += 2
			}
			hits = append(hits, hit{i, o.words})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmpFloat(b.words, a.words) })
	for _, h := range hits[:min(len(hits), mostFound)] {
		if h.words >= leastFound*sum && h.words >= hits[0].words/2 {
			best = append(best, h.at)
		}
	}
	slices.Sort(best)
	return best
}

const (
	mostFound  = 3
	leastFound = 0.15 // share of a line's words, by rarity, in a message on which it rests without citing it
)

func (e *evidence) rarityOf(k key) float64 { return max(e.rarity[k.short], e.rarity[k.stem]) }

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// seqsOf returns the messages of passages: those that a line cites, if it cites any of a passage.
func (e *evidence) seqsOf(passages []int, c *claim) (seqs []int64) {
	for _, i := range passages {
		own := e.passages[i].seqs
		named := slices.DeleteFunc(slices.Clone(own), func(seq int64) bool { return !slices.Contains(c.cited, seq) })
		if len(named) > 0 {
			own = named
		}
		seqs = append(seqs, own...)
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// checkSpeaker returns why the people of a line cannot be those of the messages that it cites; found is false if they are not
// among them, though it does not follow that somebody else is meant.
func (e *evidence) checkSpeaker(c *claim, telling []int) (wrong string, found bool) {
	if len(c.people) == 0 || len(telling) == 0 {
		return "", true
	}
	other, doubt := noPerson, !c.leads
	for _, i := range telling {
		p := e.read(i)
		if p.author == noPerson || slices.Contains(c.people, p.author) || intersect(c.people, e.namedFor(c, i)) {
			return "", true
		}
		doubt = doubt || p.facts.You // whom it is about is not in its words
		other = p.author
	}
	if doubt {
		return "", false
	}
	return fmt.Sprintf("#%d is by %s, not by %s", e.passages[telling[0]].seqs[0], e.people[other].shown, e.people[c.people[0]].shown), false
}

// namedFor returns the people whom a message mentions in the sentences that say something of the line; in all of them, if none
// does.
func (e *evidence) namedFor(c *claim, i int) (named []int) {
	p := e.read(i)
	sentences := words.Sentences(p.text)
	if len(sentences) < 2 {
		return p.named
	}
	said := false
	for _, sentence := range sentences {
		for _, k := range keysOf("x " + sentence) {
			if slices.ContainsFunc(c.keys, func(of key) bool { return of.short == k.short || of.stem == k.stem }) {
				said = true
				named = append(named, e.mentioned(sentence, false)...)
				break
			}
		}
	}
	if !said {
		return p.named
	}
	return named
}

func intersect(a, b []int) bool {
	return slices.ContainsFunc(a, func(x int) bool { return slices.Contains(b, x) })
}

// checkNumbers looks for each number of the line in the messages that it cites and in what they add up to; then, unless they have
// another number that the line leaves out, in the messages around them and in others that say something of it.
func (e *evidence) checkNumbers(c *claim, cited, telling []int) (wrong string, found bool) {
	near := e.near(cited)
	found = true
	for _, n := range c.facts.Numbers {
		if n.Weak || n.Dated || e.hasNumber(n, cited) || e.derives(n, cited) {
			continue
		}
		if i, other := e.otherNumber(c, n, telling); i >= 0 && !e.hasNumber(n, e.beside(c)) {
			return fmt.Sprintf("#%d has %s, not %s", e.passages[i].seqs[0], other.Text, n.Text), false
		}
		if !n.Ordinal && !e.hasNumber(n, near) && !e.elsewhere(c, func(i int) bool { return e.hasNumber(n, []int{i}) }) {
			found = false
		}
	}
	return "", found
}

// otherNumber returns a number of the messages that the line should have instead of n, if it has none of them.
func (e *evidence) otherNumber(c *claim, n facts.Number, telling []int) (passage int, other facts.Number) {
	for _, i := range telling {
		for _, m := range e.read(i).facts.Numbers {
			if !m.Weak && !m.Dated && m.Ordinal == n.Ordinal && facts.Comparable(n, m) && !e.isIn(c, m) {
				return i, m
			}
		}
	}
	return -1, other
}

// beside returns the passages that are no part of the span and say something of a line.
func (e *evidence) beside(c *claim) (all []int) {
	for i := e.own; i < len(e.passages); i++ {
		if e.overlap(c, i).shared > 0 {
			all = append(all, i)
		}
	}
	return all
}

// isIn reports whether the line has a number of a message.
func (e *evidence) isIn(c *claim, m facts.Number) bool {
	return slices.ContainsFunc(c.facts.Numbers, func(n facts.Number) bool { return facts.Same(n, m) })
}

func (e *evidence) hasNumber(n facts.Number, passages []int) bool {
	for _, i := range passages {
		p := e.read(i)
		if slices.ContainsFunc(p.facts.Numbers, func(m facts.Number) bool { return facts.Same(n, m) || timeInWords(n, p.facts.Numbers) }) {
			return true
		}
		if len(n.Values) > 0 && n.Values[0] == float64(p.at.Year()) {
			return true
		}
	}
	return false
}

// timeInWords reports whether a time of day may be told by an hour and minutes before or after it: ten past three.
func timeInWords(n facts.Number, said []facts.Number) bool {
	if n.Unit != facts.Clock || len(n.Values) == 0 {
		return false
	}
	hour, minute := int(n.Values[0])/60%12, int(n.Values[0])%60
	has := func(value int) bool {
		return slices.ContainsFunc(said, func(m facts.Number) bool {
			return len(m.Values) > 0 && (m.Unit == facts.None || m.Unit == facts.Minutes) && m.Values[0] == float64(value)
		})
	}
	return minute != 0 && (has(minute) && (has(hour) || has(hour+12)) || has(60-minute) && (has(hour+1) || has(hour+13)))
}

// elsewhere reports whether a message that the line does not cite, but that shares a word with it, has something.
func (e *evidence) elsewhere(c *claim, has func(int) bool) bool {
	for i := range e.passages {
		if e.overlap(c, i).shared > 0 && has(i) {
			return true
		}
	}
	return false
}

// derives reports whether a number is a sum, difference, product, quotient or count of what the cited messages have.
func (e *evidence) derives(n facts.Number, cited []int) bool {
	if len(n.Values) == 0 || n.Unit == facts.Clock {
		return false
	}
	var values []float64
	total, thousands := 0.0, false
	for _, i := range cited {
		for _, m := range e.read(i).facts.Numbers {
			if len(m.Values) == 0 || m.Dated || m.Weak && m.Unit != facts.Minutes {
				continue
			}
			values = append(values, m.Values[0])
			total += m.Values[0]
			thousands = thousands || m.Values[0] >= 1000 && math.Mod(m.Values[0], 1000) == 0
		}
	}
	if thousands {
		for _, v := range values {
			if v < 1000 {
				values = append(values, 1000*v) // eighteen thousand, and nine more
			}
		}
	}
	if n.Values[0] == float64(len(cited)) && len(cited) > 1 || len(values) > 1 && n.Values[0] == total {
		return true
	}
	for _, want := range n.Values {
		for i, a := range values {
			for _, b := range values[i+1:] {
				if want == a+b || want == math.Abs(a-b) || want == a*b || want == a*b/100 || quotient(want, a, b) || quotient(want, b, a) {
					return true
				}
			}
		}
	}
	return false
}

// quotient reports whether want is a/b, rounded.
func quotient(want, a, b float64) bool {
	return b > 1 && want != 0 && math.Abs(want-a/b) <= math.Max(0.005, 0.001*want)
}

// checkDates looks for each date of the line, as checkNumbers does for numbers.
func (e *evidence) checkDates(c *claim, cited, telling []int) (wrong string, found bool) {
	found = true
	for _, d := range c.facts.Dates {
		if d.Soft || d.IsNear() && !e.fixes(d, telling) || e.hasDate(d, cited) {
			continue
		}
		if i := e.otherDate(c, telling); i >= 0 && !e.hasDate(d, e.beside(c)) {
			return fmt.Sprintf("#%d has another date than %s", e.passages[i].seqs[0], dateText(d)), false
		}
		found = found && (e.hasDate(d, e.near(cited)) || e.elsewhere(c, func(i int) bool { return e.hasDate(d, []int{i}) }))
	}
	return "", found
}

// fixes reports whether it is certain which day a line means by tomorrow or yesterday: all messages are of one day.
func (e *evidence) fixes(d facts.Date, telling []int) bool {
	return d.Near != 0 && e.own > 0 && len(telling) > 0 && e.passages[0].at.YearDay() == e.passages[e.own-1].at.YearDay()
}

// otherDate returns a message that states a date which the line does not have; -1 if there is none.
func (e *evidence) otherDate(c *claim, telling []int) int {
	for _, i := range telling {
		p := e.read(i)
		for _, o := range p.facts.Dates {
			if !o.Soft && !slices.ContainsFunc(c.facts.Dates, func(d facts.Date) bool { return !d.Soft && facts.Meet(d, p.at, o, p.at) }) {
				return i
			}
		}
	}
	return -1
}

// hasDate reports whether passages have a date, or the day of the month alone. A message's own day counts if the messages state
// no other.
func (e *evidence) hasDate(d facts.Date, passages []int) bool {
	hard := false
	for _, i := range passages {
		p := e.read(i)
		all := p.facts.Dates
		for _, n := range p.facts.Numbers {
			all = append(slices.Clip(all), facts.Counted(n)...)
		}
		for _, o := range all {
			if o.Soft {
				continue
			}
			hard = true
			if facts.Meet(d, p.at, o, p.at) {
				return true
			}
		}
		if d.Day != 0 && slices.ContainsFunc(p.facts.Numbers, func(n facts.Number) bool { return isDay(n, d) }) && d.Weekday < 0 {
			return true
		}
	}
	for _, i := range passages {
		p := e.read(i)
		own := facts.Date{Weekday: -1}
		if !hard && (d.Day != 0 || d.Month != 0) && !p.at.IsZero() && facts.Meet(d, p.at, own, p.at) {
			return true
		}
		if hard {
			continue
		}
		for _, o := range softDates(p) {
			if facts.Meet(d, p.at, o, p.at) {
				return true
			}
		}
	}
	return false
}

// softDates returns the vague times that a passage states.
func softDates(p *passage) (all []facts.Date) {
	for _, o := range p.facts.Dates {
		if o.Soft {
			all = append(all, o)
		}
	}
	for _, n := range p.facts.Numbers {
		all = append(all, facts.Counted(n)...)
	}
	return all
}

// isDay reports whether a number is the day of a date, and nothing else.
func isDay(n facts.Number, d facts.Date) bool {
	return n.Unit == facts.None && !n.Dated && len(n.Values) > 0 && n.Values[0] == float64(d.Day)
}

func dateText(d facts.Date) string {
	switch {
	case d.Day != 0 && d.Month != 0:
		return strconv.Itoa(d.Day) + " " + time.Month(d.Month).String()
	case d.Month != 0:
		return time.Month(d.Month).String()
	case d.Day != 0:
		return "day " + strconv.Itoa(d.Day)
	case d.Weekday < 0:
		return fmt.Sprintf("%d days from then", d.Near)
	}
	return time.Weekday(d.Weekday).String()
}
