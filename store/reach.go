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

// Within narrows the seqs of a reach to those of its period. An imported file may hold earlier messages than those before it, so
// the seqs of a period are not always neighbours: of a long period, those in between its ends may lie outside.
func (ms Messages) Within(r Reach) Reach {
	if r.Since.IsZero() && r.Until.IsZero() {
		return r
	}
	const end = `SELECT min(id) AS low, max(id) AS high FROM (SELECT id FROM messages
		WHERE conversation = ?1 AND said_at >= ?2 AND said_at < ?3 ORDER BY said_at %s LIMIT ?4)`
	var low, high int64
	ms.tx.row("SELECT coalesce(min(low) & 4294967295, 0), coalesce(max(high) & 4294967295, 0) FROM ("+
		fmt.Sprintf(end, "ASC")+" UNION ALL "+fmt.Sprintf(end, "DESC")+")",
		ms.c.id, millisOf(r.Since), untilMillis(r.Until), maxTimes).Scan(&low, &high)
	r.From = max(r.From, low)
	r.To = min(r.To, high)
	return r
}

// untilMillis returns the end of a period as it is stored.
func untilMillis(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixMilli()
}

// By returns the seqs of the newest messages of the authors within reach, or of the oldest ones, in order.
func (ms Messages) By(r Reach, oldest bool) []int64 {
	seqs := ms.by(r, oldest, maxByAuthor)
	slices.Sort(seqs)
	return seqs
}

func (ms Messages) by(r Reach, oldest bool, limit int) (seqs []int64) {
	low, high := ms.c.rowRange(r.From, r.To)
	for _, id := range distinctIDs(r.By) {
		seqs = append(seqs, ms.numbers(`SELECT id & 4294967295 AS seq FROM messages WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ?
			ORDER BY id `+direction(oldest)+" LIMIT ?", id, low, high, limit)...)
	}
	return seqs
}

// Sent returns the seqs of messages within reach that say something, of people and of the bot, the newest first, or the oldest first,
// at most limit. Of authors it goes by seq, else by time.
func (ms Messages) Sent(r Reach, oldest bool, limit int) (seqs []int64) {
	for _, read := range []int{min(4*limit, maxListed), maxListed} { // usually most of them are to be listed
		seqs = ms.sent(r, oldest, limit, read)
		if len(seqs) == limit {
			break
		}
	}
	return seqs
}

func (ms Messages) sent(r Reach, oldest bool, limit, read int) []int64 {
	candidates := ms.by(r, oldest, read)
	slices.Sort(candidates)
	if !oldest {
		slices.Reverse(candidates)
	}
	if r.By == nil {
		low, high := ms.c.rowRange(r.From, r.To)
		order := direction(oldest)
		candidates = ms.numbers(`SELECT seq FROM messages WHERE conversation = ? AND said_at >= ? AND said_at < ? AND id BETWEEN ? AND ?
			ORDER BY said_at `+order+", id "+order+" LIMIT ?", ms.c.id, millisOf(r.Since), untilMillis(r.Until), low, high, read)
	}
	within, args := r.where()
	return ms.numbers(`SELECT m.seq FROM json_each(?) j CROSS JOIN messages m ON m.id = j.value + ?
		WHERE role <> 'tool' AND deleted_at IS NULL AND (text <> '' OR attachments <> '') AND `+within+" LIMIT ?",
		slices.Concat([]any{listOf(candidates), ms.c.rowID(0)}, args, []any{limit})...)
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
	args = []any{millisOf(r.Since), untilMillis(r.Until)}
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
	text := getValue[string](ms.tx, "SELECT coalesce(group_concat(seq), '') FROM ("+query+")", args...)
	for number := range strings.SplitSeq(text, ",") {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}
