// Weighing: how well a message answers a question, by more than its words.

package memory

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/compactor"
	"cairn/llm"
	"cairn/words"
)

// candidate is a message that is looked at closely.
type candidate struct {
	seq     int64
	role    llm.Role
	author  string
	text    string
	with    string // names and captions of what came with it
	answers bool   // the message before it is somebody else's question
	saidAt  time.Time
	score   float64
	parts   []Part
}

func seqsOf(all []candidate) []int64 {
	seqs := make([]int64, len(all))
	for n, m := range all {
		seqs[n] = m.seq
	}
	return seqs
}

// candidates reads the messages with the best scores, at most limit; not those that
// say nothing or repeat what is found elsewhere.
func (c *Conversation) candidates(tx *transaction, all []scored, limit int, since time.Time) ([]candidate, error) {
	earliest := int64(math.MinInt64)
	if !since.IsZero() {
		earliest = since.UnixMilli()
	}
	var ids []int64
	for _, s := range best(all, limit) {
		ids = append(ids, c.row(s.document))
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	var found []candidate
	err = each(tx, func(rows *sql.Rows) error {
		var m candidate
		var saidAt int64
		var tool, attachments string
		if err := rows.Scan(&m.seq, &m.role, &m.author, &m.text, &attachments, &tool, &saidAt, &m.answers); err != nil {
			return err
		}
		if m.role == llm.RoleTool && remembering[tool] {
			return nil
		}
		m.saidAt = at(saidAt)
		var with []compactor.Attachment
		if err := fromJSON(attachments, &with); err != nil {
			return err
		}
		for _, a := range with {
			m.with += " " + a.Name + " " + a.Caption
		}
		if m.text+m.with != "" {
			found = append(found, m)
		}
		return nil
	}, `SELECT m.seq, role, author, text, attachments, tool, said_at,
		coalesce((SELECT substr(rtrim(b.text), -1) IN ('?', '？') AND (b.author_id <> m.author_id OR b.author <> m.author) FROM messages b WHERE b.id = m.id - 1), 0) FROM json_each(?) j CROSS JOIN messages m ON m.id = j.value
		WHERE deleted_at IS NULL AND said_at >= ?`, string(list), earliest)
	return found, err
}

// speakersOf are the terms of the names of those who speak.
func speakersOf(all []candidate) map[string]bool {
	names := make(map[string]bool)
	terms := make(map[string]bool)
	for _, m := range all {
		if !names[m.author] {
			names[m.author] = true
			for _, term := range words.Terms(m.author) {
				terms[term] = true
			}
		}
	}
	return terms
}

// namesSomething reports whether text has a quote, or a word with a capital that does
// not begin a sentence and is no member's name. In German that is any noun.
func namesSomething(text string, members map[string]bool) bool {
	if strings.ContainsAny(text, "\"“”„«»「『《") {
		return true
	}
	begins := true // the next word begins a sentence, or calls somebody
	for word := range strings.FieldsSeq(text) {
		first, size := utf8.DecodeRuneInString(word)
		if !begins && unicode.IsUpper(first) && len(word) > size+1 && word[size] != '\'' && !strings.HasPrefix(word[size:], "’") {
			if terms := words.Terms(word); len(terms) > 0 && !members[terms[0]] {
				return true
			}
		}
		begins = strings.ContainsRune(".!?,…:", rune(word[len(word)-1]))
	}
	return false
}

// weigh gives the candidate its score, but for its session.
func (m *candidate) weigh(traces []trace, i inquiry, members map[string]bool) {
	length := 0
	for _, t := range traces {
		_, n := t.around(m.seq)
		length = max(length, n)
	}
	if length == 0 { // none of its own words is asked for; a term costs about three tokens
		length = compactor.Estimate(m.text+m.with) / 3
	}
	own, all := 0.0, 0.0
	has, asked := 0.0, 0.0 // what the terms in the message tell, and all terms
	for _, t := range traces {
		tf, _ := t.around(m.seq)
		asked += t.tell
		if tf[reach] > 0 {
			has += t.tell
		}
		near := 0.0
		for _, around := range nearby {
			weight := around.weight
			if around.offset == 1 && m.answers {
				weight = answering
			}
			near += weight * tf[reach-around.offset]
		}
		own += t.gain(tf[reach], length)
		all += t.gain(near, length)
	}
	m.add("words", own)
	m.add("neighbours", all-own)
	if asked > 0 {
		m.times("own", 1+itself*has/asked)
	}
	m.times("length", 1+longer*math.Log(1+float64(length)/ordinary))
	if i.speaker != "" && strings.EqualFold(m.author, i.speaker) {
		m.times("speaker", bySpeaker)
	}
	if text := strings.TrimSpace(m.text); strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") {
		m.times("question", thatAsks)
	}
	if namesSomething(m.text, members) {
		m.times("names", naming)
	}
	if m.role == llm.RoleAssistant {
		m.times("assistant", halved)
	}
	if len(i.dates) > 0 || i.when {
		m.times("date", m.inTime(i))
	}
}

// inTime tells how well the time of the message, or the times it names, fit.
func (m *candidate) inTime(i inquiry) float64 {
	fits := 1.0
	own := words.Dates(m.text+m.with, m.saidAt.Local())
	for _, asked := range i.dates {
		switch {
		case !m.saidAt.Before(asked.From) && m.saidAt.Before(asked.To):
			fits = max(fits, onDate)
		case !m.saidAt.Before(asked.From.AddDate(0, 0, -1)) && m.saidAt.Before(asked.To.AddDate(0, 0, 7)):
			fits = max(fits, nearDate)
		}
		for _, told := range own {
			if told.From.Before(asked.To) && asked.From.Before(told.To) {
				fits = max(fits, withDate)
			}
		}
	}
	if i.when && (len(own) > 0 || tellsTime(m.text)) {
		fits *= withTime
	}
	return fits
}

// add adds to the score.
func (m *candidate) add(name string, value float64) {
	if value != 0 {
		m.score += value
		m.parts = append(m.parts, Part{name, value})
	}
}

// times multiplies the score.
func (m *candidate) times(name string, factor float64) { m.add(name, m.score*(factor-1)) }

// sessions adds to each candidate what the stretch of talk it stands in is worth
// beside the best one: one that answers much answers more.
func sessions(all []candidate) {
	slices.SortFunc(all, func(x, y candidate) int { return cmp.Compare(x.seq, y.seq) })
	worth := make([]float64, len(all))
	most := 0.0
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].saidAt.Sub(all[to-1].saidAt).Abs() <= silence {
			to++
		}
		var of []float64
		for _, m := range all[from:to] {
			of = append(of, m.score)
		}
		slices.Sort(of)
		sum := 0.0
		for _, score := range of[max(len(of)-sessionBest, 0):] {
			sum += score
		}
		for n := from; n < to; n++ {
			worth[n] = sum
		}
		most = max(most, sum)
		from = to
	}
	for n := range all {
		if most > 0 {
			all[n].times("session", 1+inSession*worth[n]/most)
		}
	}
}
