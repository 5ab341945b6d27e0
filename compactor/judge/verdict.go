package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cairn/compactor/summarize"
	"cairn/internal/facts"
	"cairn/transcript"
)

// verdict is the result for one line.
type verdict struct {
	wrong   string            // why the messages contradict it; "" if they do not
	seqs    []int64           // the messages that say it, of the span if any of its does; none: not found
	on      []int             // the passages that say it
	unknown bool              // it has a name, number or date that nothing has
	by      transcript.Writer // who wrote it, if a person did
}

// comparison compares a claim with the evidence.
type comparison struct {
	e     *evidence
	claim *claim
}

// judge compares the claim with the evidence. It is contradicted only where code can see that a cited message says something else;
// in doubt it is merely not found.
func (x *comparison) judge() verdict {
	if p := x.writtenBy(); p != nil {
		return verdict{seqs: p.seqs, by: p.by}
	}
	if x.claim.invented != "" {
		return verdict{wrong: fmt.Sprintf("nobody here is named %s", x.claim.invented)}
	}
	cited, missing := x.resolve()
	if missing != 0 {
		return verdict{wrong: fmt.Sprintf("there is no message #%d", missing)}
	}
	if quoting := x.quoted(cited); len(quoting) > 0 {
		return verdict{seqs: x.seqsOf(quoting), on: quoting}
	}
	telling := slices.DeleteFunc(slices.Clone(cited), func(i int) bool { return !x.tells(i) })
	why, found := x.checkSpeaker(cited, telling)
	if why != "" {
		return verdict{wrong: why}
	}
	found = found && len(x.claim.unknown) == 0
	for _, check := range []func(cited, telling []int) (string, bool){x.checkNumbers, x.checkDates} {
		why, ok := check(cited, telling)
		if why != "" {
			return verdict{wrong: why}
		}
		found = found && ok
	}
	if !found {
		return verdict{unknown: true}
	}
	return x.rest(cited, telling)
}

// rest returns what a claim rests on that the cited messages do not contradict. telling are those of them that say something of it.
func (x *comparison) rest(cited, telling []int) verdict {
	switch {
	case len(x.claim.keys) == 0 && len(cited) > 0: // it has no words to compare
		telling = cited
	case x.states(cited):
		telling = cited
	case len(telling) == 0:
		telling = x.search()
		if len(telling) == 0 {
			telling = x.answers(cited)
		} else if !x.isByLeader(telling) {
			return verdict{unknown: true}
		}
	case !x.covers(telling):
		telling = nil
	}
	inSpan := slices.DeleteFunc(slices.Clone(telling), func(i int) bool { return i >= x.e.spanEnd })
	if len(inSpan) > 0 {
		telling = inSpan
	}
	return verdict{seqs: x.seqsOf(telling), on: telling}
}

// isByLeader reports whether one of the passages is by the person with whom the line begins, or mentions that person; true if it
// begins with nobody.
func (x *comparison) isByLeader(passages []int) bool {
	return !x.claim.leads || len(x.claim.people) == 0 || slices.ContainsFunc(passages, func(i int) bool {
		return i >= x.e.spanEnd || x.e.passages[i].author == x.claim.people[0] || slices.Contains(x.e.namedIn(i), x.claim.people[0])
	})
}

// writtenBy returns the line of an earlier summary that a person wrote and that a line repeats; nil if there is none. Nobody
// judges it.
func (x *comparison) writtenBy() *passage {
	at := slices.IndexFunc(x.e.passages, func(p passage) bool { return p.by.Name != "" && summarize.Statement(p.text) == x.claim.text })
	if at < 0 {
		return nil
	}
	return &x.e.passages[at]
}

// quoted returns the cited messages of the span that have the very words of a line.
func (x *comparison) quoted(cited []int) []int {
	words := flat(strings.TrimRight(x.claim.text, " ."))
	return slices.DeleteFunc(slices.Clone(cited), func(i int) bool {
		return words == "" || i >= x.e.spanEnd || !strings.Contains(flat(x.e.passages[i].text), words)
	})
}

// resolve returns the passages of the messages that a line cites, and the first message that does not exist. A message of the
// span that was not shown is passed over.
func (x *comparison) resolve() (passages []int, missing int64) {
	for _, seq := range x.claim.cited {
		at := x.e.at[seq]
		if len(at) == 0 && (seq < x.e.first || seq > x.e.last) && !x.e.reference[seq] {
			return nil, seq
		}
		passages = append(passages, at...)
	}
	slices.Sort(passages)
	return slices.Compact(passages), 0
}

// tells reports whether a cited passage says something of a line: they share a word, number or date; or it is a short answer to
// one that does.
func (x *comparison) tells(i int) bool {
	if x.claim.foreign {
		return true
	}
	if o := x.overlap(i); o.words >= leastShared || x.sharesFact(i) {
		return true
	}
	p := x.e.read(i)
	if i >= x.e.spanEnd || !slices.Contains(x.claim.people, p.author) {
		return false
	}
	for k := max(i-3, 0); k <= min(i+1, x.e.spanEnd-1); k++ {
		if o := x.overlap(k); k != i && o.words >= leastShared && (p.words <= shortAnswer || o.shared >= 2) {
			return true
		}
	}
	return false
}

const (
	fewWords    = 2   // of a line about a short answer
	leastShared = 0.6 // rarity of the words that a line shares with a message that says something of it
	shortAnswer = 4   // words of a message that only agrees, or answers
)

// sharesFact reports whether a passage has a number or date of the line.
func (x *comparison) sharesFact(i int) bool {
	if !x.claim.hasFacts() {
		return false // so the passage need not be read
	}
	p := x.e.read(i)
	for _, n := range x.claim.facts.Numbers {
		if !n.Weak && !n.Dated && slices.ContainsFunc(p.facts.Numbers, func(m facts.Number) bool { return !m.Weak && facts.Same(n, m) }) {
			return true
		}
	}
	for _, d := range x.claim.facts.Dates {
		if !d.Soft && slices.ContainsFunc(p.facts.Dates, func(o facts.Date) bool { return !o.Soft && facts.Meet(d, p.at, o, p.at) }) {
			return true
		}
	}
	return false
}

// hasFacts reports whether a line has a number or date that distinguishes it.
func (c *claim) hasFacts() bool {
	return slices.ContainsFunc(c.facts.Numbers, func(n facts.Number) bool { return !n.Weak && !n.Dated }) ||
		slices.ContainsFunc(c.facts.Dates, func(d facts.Date) bool { return !d.Soft })
}

// covers reports whether the passages, with those around them, say enough of a line.
func (x *comparison) covers(passages []int) bool {
	if x.claim.foreign || len(x.claim.keys) == 0 {
		return true
	}
	all := x.e.near(passages)
	found := 0.0
	sum := 0.0
	for _, k := range x.claim.keys {
		sum += k.weight
		for _, i := range all {
			if weight := max(x.e.passages[i].keys[k.short], x.e.passages[i].keys[k.stem]); weight > 0 {
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

// answers returns the cited passages that may be what a short line tells in other words: she agrees.
func (x *comparison) answers(cited []int) []int {
	if len(x.claim.keys) > fewWords {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(cited), func(i int) bool {
		return x.e.passages[i].words > shortAnswer || !slices.Contains(x.claim.people, x.e.passages[i].author)
	})
}

// states reports whether passages have all numbers of a line that has any, or what they add up to.
func (x *comparison) states(passages []int) bool {
	some := false
	for _, n := range x.claim.facts.Numbers {
		if n.Weak || n.Dated || n.Ordinal {
			continue
		}
		number := x.number(n, passages, nil)
		if !x.e.hasNumber(n, passages) && !number.derives(false) && !number.halves() {
			return false
		}
		some = true
	}
	return some
}

// search returns the passages that say most of a line which cites none that does; at most maxFound.
func (x *comparison) search() (best []int) {
	type hit struct {
		at    int
		words float64
	}
	var hits []hit
	sum := 0.0
	for _, k := range x.claim.keys {
		rarity := max(x.e.rarity[k.short], x.e.rarity[k.stem])
		if rarity == 0 { // no message has it
			rarity = math.Log(1 + float64(len(x.e.passages)))
		}
		sum += k.weight * rarity
	}
	for i, o := range x.overlaps() {
		if x.e.passages[i].author != noPerson && slices.Contains(x.claim.people, x.e.passages[i].author) {
			o.words *= 1.5
		}
		if o.words > 0 || len(x.claim.keys) == 0 {
			if x.sharesFact(i) {
				o.words += 2
			}
			hits = append(hits, hit{i, o.words})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.words, a.words) })
	for _, h := range hits[:min(len(hits), maxFound)] {
		if h.words >= leastFound*sum && h.words >= hits[0].words/2 {
			best = append(best, h.at)
		}
	}
	slices.Sort(best)
	return best
}

const (
	maxFound   = 3
	leastFound = 0.15 // share of a line's words, by rarity, in a message on which it rests without citing it
)

// seqsOf returns the messages of passages: those that a line cites, if it cites any of a passage.
func (x *comparison) seqsOf(passages []int) (seqs []int64) {
	for _, i := range passages {
		seqsOfPassage := x.e.passages[i].seqs
		named := slices.DeleteFunc(slices.Clone(seqsOfPassage), func(seq int64) bool { return !slices.Contains(x.claim.cited, seq) })
		if len(named) > 0 {
			seqsOfPassage = named
		}
		seqs = append(seqs, seqsOfPassage...)
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}
