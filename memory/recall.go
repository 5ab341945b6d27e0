// Recall: the messages that answer a question.

package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/compactor"
	"cairn/llm"
	"cairn/words"
)

// Found is a message that recall found.
type Found struct {
	compactor.Message
	Score float64 // the higher the better; comparable within one answer only
	Parts []Part  // what the score is the sum of
}

// Part is what one thing added to a score, or took away from it: words, neighbours,
// speaker, session, date, …
type Part struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// What a message's score is multiplied by, see also the weights in rank.go.
const (
	bySpeaker = 1.8 // said by whom the question is about
	thatAsks  = 0.8 // a question itself
	naming    = 1.2 // it names something: a title, a place, somebody who is no member
	halved    = 0.5 // said by the bot: its answers repeat what people said, and it is their words that are asked for
	onDate    = 3.0 // said in the time that the question names
	nearDate  = 2.0 // or within a week after: people tell later what they did
	withDate  = 1.5 // or it mentions that time
	withTime  = 2.0 // the question is when, and it tells some time
	longer    = 0.2 // what more words add, by their logarithm
	inSession = 1.0 // what the best stretch of talk adds

	sessionBest = 3             // messages of a stretch that tell how good it is
	silence     = 6 * time.Hour // ends a stretch of talk
)

// candidates is how many messages are looked at closely.
const candidates = 100

// Recall returns the messages that speak of what q asks, the best first; of equally
// good ones the newer first. A message is found by its own words and by those said
// just before and after it. What the bot found in its own memory is not found again.
// What a question costs is bounded, however long the conversation is.
func (c *Conversation) Recall(ctx context.Context, q Question) (found []Found, err error) {
	if q.Limit <= 0 || q.Before < 0 {
		return nil, nil
	}
	q.Limit = min(q.Limit, maxFound)
	err = c.store.view(ctx, func(tx *sql.Tx) error {
		found, err = c.recall(tx, q)
		return err
	})
	if err != nil {
		return nil, c.fail("recall", err)
	}
	return found, nil
}

func (c *Conversation) recall(tx *sql.Tx, q Question) ([]Found, error) {
	p := postings{tx: tx, id: c.id, from: 1, before: q.Before}
	var next int64
	if err := tx.QueryRow("SELECT next_seq FROM conversations WHERE id = ?", c.id).Scan(&next); err != nil {
		return nil, err
	}
	if p.before == 0 || p.before > next {
		p.before = next
	}
	p.n = int(p.before - 1)
	if !q.Since.IsZero() {
		from, err := c.firstSince(tx, q.Since, p.before)
		if err != nil {
			return nil, err
		}
		p.from = from
	}
	i := q.inquiry()
	lookups, err := i.lookups(p)
	if err != nil {
		return nil, err
	}
	traces, err := p.traces(lookups)
	if err != nil {
		return nil, err
	}
	all := scores(traces, p.from, p.before-1)
	closer, err := c.candidates(tx, all, max(candidates, 4*q.Limit), q.Since)
	if err != nil {
		return nil, err
	}
	if err := p.complete(traces, seqsOf(closer)); err != nil {
		return nil, err
	}
	present := speakersOf(closer)
	for n := range closer {
		closer[n].weigh(traces, i, present)
	}
	if len(i.order) == 1 { // nobody asks a question with one word: what has it is looked for
		closer = slices.DeleteFunc(closer, func(m candidate) bool { return !slices.ContainsFunc(m.parts, isOwn) })
	}
	sessions(closer)
	slices.SortFunc(closer, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.seq, x.seq))
	})
	return c.whole(tx, closer[:min(q.Limit, len(closer))])
}

// isOwn tells of a part of a score that it is for words of the message itself.
func isOwn(p Part) bool { return p.Name == "words" }

// firstSince is the seq from which on messages before a seq were said at a time or
// later. They stand in the order in which they were said, nearly: what was imported
// out of order may be passed over, and what is too old is left out later.
func (c *Conversation) firstSince(tx *sql.Tx, since time.Time, before int64) (int64, error) {
	var failed error
	n := sort.Search(int(before-1), func(n int) bool {
		low, high := c.rows(int64(n)+1, before-1)
		var saidAt int64
		err := tx.QueryRow("SELECT said_at FROM messages WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1", low, high).Scan(&saidAt)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			failed = err
		}
		return err != nil || saidAt >= since.UnixMilli()
	})
	return int64(n) + 1, failed
}

// candidate is a message that is looked at closely.
type candidate struct {
	seq     int64
	role    llm.Role
	author  string
	text    string
	with    string // names and captions of what came with it
	answers bool   // what stands before it is a question
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
func (c *Conversation) candidates(tx *sql.Tx, all []scored, limit int, since time.Time) ([]candidate, error) {
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
		coalesce((SELECT substr(rtrim(b.text), -1) IN ('?', '？') FROM messages b WHERE b.id = m.id - 1), 0) FROM json_each(?) j CROSS JOIN messages m ON m.id = j.value
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
	for _, t := range traces {
		tf, _ := t.around(m.seq)
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
	own := words.Dates(m.text+m.with, m.saidAt)
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

// whole reads the messages that were chosen.
func (c *Conversation) whole(tx *sql.Tx, chosen []candidate) ([]Found, error) {
	var found []Found
	for _, m := range chosen {
		said, err := c.message(tx, m.seq)
		if err != nil {
			return nil, err
		}
		found = append(found, Found{Message: said, Score: m.score, Parts: m.parts})
	}
	return found, nil
}
