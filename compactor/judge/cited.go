// Statements that are alone and cite messages, such as memories. They are judged like lines of a summary, but only by the messages
// that they cite, and in doubt they have no support.

package judge

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/lazy"
	"cairn/internal/words"
)

// Support is what cited messages say of a statement.
type Support struct {
	Seqs  []int64  // those that say something of it, in order; none: the rest of Support is zero
	About bool     // one of them is by the person whom it is about, or mentions them
	Wrong string   // which person, number or date of it they do not have, for its writer; "": they have them all
	Names []string // names in it that no item, no person and no prompt has
}

// Support judges a statement by the messages that it cites. about is whom it is about; "": not stated.
func (j *Judge) Support(statement, about string, seqs []int64) (s Support) {
	e := j.evidence()
	c := e.claimOf(statement, -1, nil)
	c.cited = seqs
	x := &comparison{e, c}
	subject := e.cast.personNamed(about)
	if len(c.people) == 0 && subject != noPerson {
		c.people = []int{subject}
		c.leads = true
	}
	cited := e.ofMessages(seqs)
	citedText := e.textOf(cited)
	c.foreign = words.Differ(c.text, citedText)
	telling := slices.DeleteFunc(cited, func(i int) bool { return !x.speaksOf(i) })
	if len(telling) == 0 {
		return s
	}
	s.Seqs = x.seqsOf(telling)
	s.About = subject != noPerson && slices.ContainsFunc(telling, func(i int) bool {
		return e.passages[i].author == subject || slices.Contains(e.namedIn(i), subject)
	})
	s.Wrong = x.refute(telling)
	if !c.foreign || tell(c.text).script == tell(citedText).script { // in another script names are spelled in other ways
		s.Names = c.strangeNames()
	}
	return s
}

// speaksOf reports whether a passage says something of a claim, itself or by what it answers.
func (x *comparison) speaksOf(i int) bool {
	if x.claim.foreign || x.shares(i) {
		return true
	}
	p := &x.e.passages[i]
	return (len(x.claim.people) == 0 || slices.Contains(x.claim.people, p.author)) && slices.ContainsFunc(x.e.questionOf(i), func(k int) bool { return x.shares(k) })
}

// shares reports whether a passage has a number or date of a claim, or words of it: one, or two of those that many messages have.
func (x *comparison) shares(i int) bool {
	if len(x.claim.keys) == 0 && !x.claim.hasFacts() {
		return x.sharesAnyWord(i)
	}
	p := &x.e.passages[i]
	shared := slices.DeleteFunc(slices.Clone(x.claim.keys), func(k key) bool { return p.keys[k.short] == 0 && p.keys[k.stem] == 0 })
	if len(shared) == 1 && len(x.claim.keys) > 1 && isLight(shared[0]) {
		shared = nil
	}
	all := len(shared) == len(x.claim.keys)
	return len(shared) > 0 && (all || x.overlap(i).words >= leastShared) || x.sharesFact(i)
}

// sharesAnyWord compares the words of a claim that has none to compare, names included.
func (x *comparison) sharesAnyWord(i int) bool {
	const least = 2
	terms := words.Content(x.e.passages[i].text)
	all := words.Content(x.claim.text)
	shared := slices.DeleteFunc(slices.Clone(all), func(term string) bool { return !slices.Contains(terms, term) })
	return len(shared) > 0 && len(shared) >= min(least, len(all))
}

// questionOf returns what a message of the span answers: the message that it replies to, or the question, or the words of the assistant,
// before it.
func (e *evidence) questionOf(i int) []int {
	if to := e.passages[i].repliesTo; to != 0 {
		return e.at[to]
	}
	for k := i - 1; k >= 0 && i < e.spanEnd; k-- {
		p := e.passages[k]
		if p.author == e.passages[i].author {
			continue
		}
		if p.author != noPerson && p.author == e.cast.assistant || words.IsQuestion(p.text) {
			return []int{k}
		}
		break
	}
	return nil
}

// isLight reports whether many messages have a word, whatever they are about.
func isLight(k key) bool { return words.IsFrequent(k.short) || lightWords()[k.stem] }

var lightWords = lazy.Set(`
able actually add agree already always amazing anyway around ask away awesome back bad believe best better big bit bring call care
change cool day different easy enjoy enough excited family feel find fine first friend fun get give glad go good got great guess guy
happen happy hard hear heard help hope idea important information interesting keep kind know last later learn least let life like
little live long look lot love make many maybe mean meet mention mind moment month morning need never new next nice night old part
people plan please pretty probably put question read ready remember right said save say see seem set share show soon sorry start
stay still story stuff super sure take talk tell thank thing think time today together told tomorrow tonight totally tried try
understand use usually wait want watch way week weekend whole wish wonder work world worry write wrong year yesterday yet
喜欢 喜歡 今天 明天 昨天 可以 知道 觉得 覺得 什么 什麼 谢谢 謝謝 时候 時候 现在 現在 自己 大家 今日 明日 昨日 自分`, func(list string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range words.Cut(list) {
		set[w.Term] = true
	}
	return set
})

// refute returns which person, number or date of a claim the passages that say something of it do not have.
func (x *comparison) refute(telling []int) string {
	wrong, found := x.checkSpeaker(telling, telling)
	switch {
	case wrong != "":
		return wrong
	case !found:
		return fmt.Sprintf("it is not by %s, and does not mention them", x.e.cast.people[x.claim.people[0]].written)
	}
	wrong, found = x.checkNumbers(telling, telling)
	switch {
	case wrong != "":
		return wrong
	case !found:
		return "it has not all the numbers"
	}
	wrong, found = x.checkDates(telling, telling)
	if wrong == "" && !found {
		return "it has not all the dates"
	}
	return wrong
}

// personNamed returns the index of the person with a name; noPerson if there is none. Messages of the assistant may have no name.
func (c *cast) personNamed(name string) int {
	if name == "" {
		return noPerson
	}
	return slices.IndexFunc(c.people, func(p person) bool { return p.name == words.Fold(name) })
}

// ofMessages returns the passages of messages, in order.
func (e *evidence) ofMessages(seqs []int64) (passages []int) {
	for _, seq := range seqs {
		passages = append(passages, e.at[seq]...)
	}
	slices.Sort(passages)
	return slices.Compact(passages)
}

func (e *evidence) textOf(passages []int) string {
	var text strings.Builder
	for _, i := range passages {
		text.WriteString(e.passages[i].text + "\n")
	}
	return text.String()
}

// strangeNames returns the names in a claim that nobody has; none if it writes most words like names.
func (c *claim) strangeNames() (names []string) {
	const least, short = 3, 3
	long := slices.DeleteFunc(wordsIn(c.text), func(w nameWord) bool { return utf8.RuneCountInString(w.text) <= short })
	if len(long) >= least && !slices.ContainsFunc(long, func(w nameWord) bool { return !w.capital }) {
		return nil
	}
	if c.invented != "" {
		names = append(names, c.invented)
	}
	for _, w := range c.unknown {
		names = append(names, w.text)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
