package summarize

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/words"
)

// checkSpeaker returns why the people of a line cannot be those of the messages that it cites; found is false if they are not
// among them, though it does not follow that somebody else is meant.
func (e *evidence) checkSpeaker(c *claim, cited, telling []int) (wrong string, found bool) {
	if len(c.people) == 0 || len(telling) == 0 {
		return "", true
	}
	if slices.ContainsFunc(cited, func(i int) bool { return slices.Contains(c.people, e.passages[i].author) }) {
		return "", true
	}
	other, doubt := noPerson, !c.leads || e.isAfterOther(c)
	for _, i := range telling {
		p := e.read(i)
		if p.author == noPerson || slices.Contains(c.people, p.author) || intersect(c.people, e.namedFor(c, i)) {
			return "", len(telling) > 1 || !c.leads || p.author == noPerson || slices.Contains(c.people, p.author) || slices.Contains(e.namedFor(c, i), c.people[0])
		}
		doubt = doubt || p.facts.You // whom it is about is not in its words
		other = p.author
	}
	if doubt {
		return "", false
	}
	return fmt.Sprintf("#%d is by %s, not by %s", e.passages[telling[0]].seqs[0], e.people[other].shown, e.people[c.people[0]].shown), false
}

// isAfterOther reports whether two words or more stand before the name with which a line begins: one of them may be a name that nobody
// knows, such as a nickname.
func (e *evidence) isAfterOther(c *claim) bool {
	const before = 2
	all := strings.Fields(c.text)
	return len(all) > before && len(e.mentioned(strings.Join(all[:before], " "), true)) == 0
}

// namedFor returns the people whom a message mentions in the sentences that say something of the line; in all of them, if none
// does.
func (e *evidence) namedFor(c *claim, i int) (named []int) {
	sentences := words.Sentences(e.passages[i].text)
	if len(sentences) < 2 {
		return e.namedIn(i)
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
		return e.namedIn(i)
	}
	return named
}

func intersect(a, b []int) bool {
	return slices.ContainsFunc(a, func(x int) bool { return slices.Contains(b, x) })
}
