package judge

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/words"
)

// checkSpeaker returns why the people of a line cannot be those of the messages that it cites; found is false if they are not
// among them, though it does not follow that somebody else is meant.
func (x *comparison) checkSpeaker(cited, telling []int) (wrong string, found bool) {
	if len(x.claim.people) == 0 || len(telling) == 0 {
		return "", true
	}
	if slices.ContainsFunc(cited, func(i int) bool { return slices.Contains(x.claim.people, x.e.passages[i].author) }) {
		return "", true
	}
	other := noPerson
	doubt := !x.claim.leads || x.isAfterOther()
	for _, i := range telling {
		p := x.e.read(i)
		if p.author == noPerson || slices.Contains(x.claim.people, p.author) || intersect(x.claim.people, x.namedFor(i)) {
			return "", len(telling) > 1 || !x.claim.leads || p.author == noPerson || slices.Contains(x.claim.people, p.author) || slices.Contains(x.namedFor(i), x.claim.people[0])
		}
		doubt = doubt || p.facts.You // whom it is about is not in its words
		other = p.author
	}
	if doubt {
		return "", false
	}
	return fmt.Sprintf("#%d is by %s, not by %s", x.e.passages[telling[0]].seqs[0], x.e.cast.people[other].written, x.e.cast.people[x.claim.people[0]].written), false
}

// isAfterOther reports whether two words or more are before the name with which a line begins: one of them may be a name that nobody
// knows, such as a nickname.
func (x *comparison) isAfterOther() bool {
	const before = 2
	all := strings.Fields(x.claim.text)
	return len(all) > before && len(x.e.cast.mentioned(strings.Join(all[:before], " "), true)) == 0
}

// namedFor returns the people whom a message mentions in the sentences that say something of the line; in all of them, if none
// does.
func (x *comparison) namedFor(i int) (named []int) {
	sentences := words.Sentences(x.e.passages[i].text)
	if len(sentences) < 2 {
		return x.e.namedIn(i)
	}
	found := false
	for _, sentence := range sentences {
		for _, k := range keysOf("x " + sentence) {
			if slices.ContainsFunc(x.claim.keys, func(of key) bool { return of.short == k.short || of.stem == k.stem }) {
				found = true
				named = append(named, x.e.cast.mentioned(sentence, false)...)
				break
			}
		}
	}
	if !found {
		return x.e.namedIn(i)
	}
	return named
}

func intersect(a, b []int) bool {
	return slices.ContainsFunc(a, func(x int) bool { return slices.Contains(b, x) })
}
