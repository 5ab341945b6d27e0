// Reach: which messages a question may find, by their place, time and author.

package store

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reach limits the messages of a conversation that a question may find.
type Reach struct {
	From, To     int64     // their seqs
	Since, Until time.Time // when they were sent, without Until itself; zero: any time
	By           []Person  // their authors, under one of these names if they have no ID; nil: anyone
	Assistant    bool      // only those of the bot; By is nil
}

const (
	// maxTimes limits how many messages are read, from each end of a period, to find out which seqs it has.
	maxTimes = 1000

	// maxByAuthor limits how many messages of a person a search knows.
	maxByAuthor = 10_000

	// maxListed limits how many messages are looked through for a list.
	maxListed = 5000
)

// Reached are the messages within reach, in one transaction.
type Reached struct {
	Reach
	in Messages
}

// Within narrows the seqs of a reach to those of its period. An imported file may hold earlier messages than those before it, so
// the seqs of a period are not always neighbours: of a long period, those in between its ends may lie outside.
func (ms Messages) Within(r Reach) Reached {
	if r.Since.IsZero() && r.Until.IsZero() {
		return Reached{r, ms}
	}
	const end = `SELECT min(id) AS low, max(id) AS high FROM (SELECT id FROM messages
		WHERE conversation = ?1 AND said_at >= ?2 AND said_at < ?3 ORDER BY said_at %s LIMIT ?4) said`
	since, until := r.period()
	var low, high int64
	ms.tx.row("SELECT coalesce(min(low) & 4294967295, 0), coalesce(max(high) & 4294967295, 0) FROM ("+
		fmt.Sprintf(end, "ASC")+" UNION ALL "+fmt.Sprintf(end, "DESC")+") ends",
		ms.c.id, since, until, maxTimes).Scan(&low, &high)
	r.From = max(r.From, low)
	r.To = min(r.To, high)
	return Reached{r, ms}
}

// period returns the time of a reach as it is stored, without its end.
func (r Reach) period() (since, until int64) {
	since = math.MinInt64
	if !r.Since.IsZero() {
		since = r.Since.UnixMilli()
	}
	until = math.MaxInt64
	if !r.Until.IsZero() {
		until = r.Until.UnixMilli()
	}
	return since, until
}

// ByAuthors returns the seqs of the newest messages of the authors, or of the oldest ones, in order.
func (r Reached) ByAuthors(oldest bool) []int64 {
	seqs := r.by(oldest, maxByAuthor)
	slices.Sort(seqs)
	return seqs
}

func (r Reached) by(oldest bool, limit int) (seqs []int64) {
	low, high := r.in.c.rowRange(r.From, r.To)
	for _, id := range distinctIDs(r.By) {
		seqs = append(seqs, r.in.numbers(`SELECT id & 4294967295 AS seq FROM messages WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ?
			ORDER BY id `+direction(oldest)+" LIMIT ?", id, low, high, limit)...)
	}
	return seqs
}

// Sent returns the seqs of messages that say something, of people and of the bot, the newest first, or the oldest first,
// at most limit. Of authors it goes by seq, else by time.
func (r Reached) Sent(oldest bool, limit int) (seqs []int64) {
	for _, read := range []int{min(4*limit, maxListed), maxListed} { // usually most of them are to be listed
		seqs = r.sent(oldest, limit, read)
		if len(seqs) == limit {
			break
		}
	}
	return seqs
}

func (r Reached) sent(oldest bool, limit, read int) []int64 {
	candidates := r.by(oldest, read)
	slices.Sort(candidates)
	if !oldest {
		slices.Reverse(candidates)
	}
	if r.By == nil {
		low, high := r.in.c.rowRange(r.From, r.To)
		since, until := r.period()
		order := direction(oldest)
		candidates = r.in.numbers(`SELECT seq FROM messages WHERE conversation = ? AND said_at >= ? AND said_at < ? AND id BETWEEN ? AND ?
			ORDER BY said_at `+order+", id "+order+" LIMIT ?", r.in.c.id, since, until, low, high, read)
	}
	within, args := r.where()
	return r.in.numbers(`SELECT m.seq FROM json_each(?) j CROSS JOIN messages m
		WHERE m.id = CAST(j.value AS BIGINT) + ? AND role <> 'tool' AND deleted_at IS NULL AND (text <> '' OR attachments <> '') AND `+within+" LIMIT ?",
		slices.Concat([]any{listOf(candidates), r.in.c.rowID(0)}, args, []any{limit})...)
}

func direction(ascending bool) string {
	if ascending {
		return "ASC"
	}
	return "DESC"
}

func distinctIDs(people []Person) (ids []string) {
	for _, p := range people {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// where returns the condition that the time and the author of a message are within reach.
func (r Reach) where() (condition string, args []any) {
	condition = "said_at >= ? AND said_at < ?"
	since, until := r.period()
	args = []any{since, until}
	switch {
	case r.Assistant:
		condition += " AND role = 'assistant'"
	case r.By != nil:
		var names []string
		for _, p := range r.By {
			names = append(names, p.Name)
		}
		condition += ` AND role = 'user' AND author_id IN (SELECT value FROM json_each(?))
			AND (author_id <> '' OR author IN (SELECT value FROM json_each(?)))`
		args = append(args, listOf(distinctIDs(r.By)), listOf(names))
	}
	return condition, args
}

// numbers reads numbers as one text: handing over a row costs three times as much as reading it.
func (ms Messages) numbers(query string, args ...any) (all []int64) {
	text := getValue[string](ms.tx, "SELECT coalesce(string_agg(CAST(seq AS TEXT), ','), '') FROM ("+query+") q", args...)
	for number := range strings.SplitSeq(text, ",") {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}
