// The same fact in other words: what differs so little that it says the same. No model
// is asked, so it errs on the side of two facts.

package memory

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cairn/words"
)

// overlap is the share of its words that a wording must have in common with a longer one.
const overlap = 0.85

// weightless words may come and go: they are not compared.
var weightless = setOf("a an the that of at in on to for and is are am be do does also really very")

// turning words make another fact of one, as do the common words that are not
// weightless ("not", "was", "or", "before"). They must be the same, in the same places.
var turning = setOf(`stop stops stopped quit quits former formerly ex never no nor without against except unless until till since
	may might must could would should used almost hardly rarely seldom barely nearly some many few several half part cancelled canceled
	refuse refuses refused deny denies denied fail fails failed false untrue unlikely maybe perhaps possibly yet still already
	want wants wanted wish wishes hope hopes plan plans planned intend intends try tries tried consider considers considered
	start starts started begin begins began think thinks thought believe believes believed says said claims claimed asks asked need needs
	instead rather like unlike less least above below behind next last first another`)

func setOf(list string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// token is a word of a fact.
type token struct {
	folded string
	plain  bool // it may be missing from the other wording
}

// unnegated writes out the negations that hide in a word.
var unnegated = strings.NewReplacer("can't", "can not", "can’t", "can not", "cannot", "can not", "won't", "will not", "won’t", "will not", "n't", " not", "n’t", " not")

// tokens cuts a fact into the words that count.
func tokens(content string) (found []token) {
	for field := range strings.FieldsSeq(unnegated.Replace(content)) {
		marked := strings.ContainsFunc(field, func(r rune) bool { // a name, a number, a quote, a script without blanks
			return unicode.IsUpper(r) || !unicode.IsLetter(r) && !strings.ContainsRune(".,;:!?'’()-", r) || r >= 0xe00
		})
		for folded := range strings.FieldsSeq(words.Fold(field)) {
			if !weightless[folded] {
				found = append(found, token{folded, !marked && !turning[folded] && len(words.Content(folded)) > 0})
			}
		}
	}
	return found
}

// endings are those of number and person. What else a word ends in, as "ed", may tell
// what was from what is.
var endings = []string{"", "s", "es", "e", "ing", "y", "ies"}

// alike tells whether two words are one in two forms.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n >= 3 && slices.Contains(endings, a[n:]) && slices.Contains(endings, b[n:]) &&
		slices.Equal(words.Terms(a), words.Terms(b))
}

// sameFact tells whether two wordings say the same: one has all words of the other, in
// their order, and few besides, all of them plain. So numbers, names, negations,
// tenses and who does what to whom are the same.
func sameFact(a, b []token) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 || float64(len(a)) < overlap*float64(len(b)) {
		return false
	}
	for _, t := range b {
		if len(a) > 0 && alike(a[0].folded, t.folded) {
			a = a[1:]
		} else if !t.plain {
			return false
		}
	}
	return len(a) == 0
}

// mostAlike is how many memories that share a word are compared at most: the newest.
const mostAlike = 200

// inOtherWords finds the oldest memory in a state that says the same as a draft, about
// the same person; 0: there is none.
func (c *Conversation) inOtherWords(tx *transaction, d draft, state string) (id int64, err error) {
	is := tokens(d.Content)
	// The other lacks a few words at most, each of them of one term, or two with a hyphen.
	missing := len(is) - int(overlap*float64(len(is)))
	near, err := c.lookalikes(tx, d, state, func(terms int) int { return terms - 2*missing })
	if err != nil {
		return 0, err
	}
	for _, m := range near {
		if m.folded == d.folded || sameFact(is, tokens(m.content)) {
			return m.id, nil
		}
	}
	return 0, nil
}

// lookalike is a memory that may say the same as a draft.
type lookalike struct {
	id              int64
	content, folded string
}

// lookalikes are memories in a state, about the same person as a draft, that have in
// common with it at least so many of its terms as least says, the oldest first.
func (c *Conversation) lookalikes(tx *transaction, d draft, state string, least func(terms int) int) (found []lookalike, err error) {
	ids, err := c.sharing(tx, d, least)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		m := lookalike{id: id}
		err := tx.QueryRow("SELECT content, folded FROM memories m WHERE id = ? AND conversation = ? AND state = ? AND about = ? COLLATE NOCASE AND "+aboutOf+" IN ('', ?)",
			id, c.id, state, d.About, d.aboutID).Scan(&m.content, &m.folded)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	return found, nil
}

// bearers are the memories that have a term, the newest at most.
type bearers struct {
	term string
	ids  []int64
}

// sharing returns the memories that have at least as many of a draft's terms as least
// says. All of them are among those that have one of the rarest terms; of a term that
// many have, anyone may have it.
func (c *Conversation) sharing(tx *transaction, d draft, least func(terms int) int) (found []int64, err error) {
	all, err := c.bearers(tx, d)
	if err != nil {
		return nil, err
	}
	has, unknown := make(map[int64]int), 0
	for _, b := range all {
		if len(b.ids) == mostAlike {
			unknown++
			continue
		}
		for _, id := range b.ids {
			has[id]++
		}
	}
	need := max(least(len(all)), 1)
	for _, b := range all[:max(len(all)-need+1, 0)] {
		for _, id := range b.ids {
			if has[id]+unknown >= need {
				found = append(found, id)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// bearers are those of each term of a draft, of the rarest first.
func (c *Conversation) bearers(tx *transaction, d draft) (all []bearers, err error) {
	counts, _ := count(memoryTerms(d.Content, ""))
	terms, err := json.Marshal(slices.AppendSeq([]string{}, maps.Keys(counts))) // not nil: of a null SQLite makes a row
	if err != nil {
		return nil, err
	}
	err = each(tx, func(rows *sql.Rows) error {
		var b bearers
		var list string
		if err := rows.Scan(&b.term, &list); err != nil {
			return err
		}
		for number := range strings.SplitSeq(list, ",") {
			if number == "" {
				continue
			}
			id, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				return err
			}
			b.ids = append(b.ids, id)
		}
		all = append(all, b)
		return nil
	}, `SELECT j.value, coalesce((SELECT group_concat(memory) FROM
			(SELECT memory FROM memory_terms WHERE term = j.value AND conversation = ? ORDER BY memory DESC LIMIT ?)), '')
		FROM json_each(?) j`, c.id, mostAlike, string(terms)) // one text for each word: see packing
	slices.SortFunc(all, func(a, b bearers) int {
		return cmp.Or(cmp.Compare(len(a.ids), len(b.ids)), cmp.Compare(a.term, b.term))
	})
	return all, err
}

// akin is the share of their words that two facts have in common from which one may
// take the other's place.
const akin = 0.5

// close finds the active memory that is most like a draft and says something else: it
// may be what the draft takes the place of. found is false if none is much like it.
func (c *Conversation) close(tx *transaction, d draft) (most lookalike, found bool, err error) {
	near, err := c.lookalikes(tx, d, "active", func(terms int) int { return int(math.Ceil(akin * float64(terms))) })
	if err != nil {
		return most, false, err
	}
	is, _ := count(memoryTerms(d.Content, ""))
	best := akin
	for _, m := range near {
		says, _ := count(memoryTerms(m.content, ""))
		common := 0
		for term := range says {
			if is[term] > 0 {
				common++
			}
		}
		if share := float64(common) / float64(len(is)+len(says)-common); share >= best {
			most, best, found = m, share, true
		}
	}
	return most, found, nil
}
