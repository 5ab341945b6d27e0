// The full-text index as a search reads it: which messages and memories contain which terms. Package memory ranks what it finds.

package store

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/chat"
	"cairn/internal/words"
)

const (
	// counted limits how many postings of a term are counted. For a more frequent term, the
	// newest ones show how frequent it is. A long question counts fewer per term.
	counted        = 500
	countedInAll   = 20_000
	countedAtLeast = 20

	maxPairs = 200 // in which one character occurs
)

// TermIndex is a table of postings, limited to what a query can reach, in one transaction. After an error its methods return nothing.
type TermIndex struct {
	tx              *Tx
	in              scopeIDs // whose members' names count
	table, document string   // the table, and its column
	within          string   // the condition that selects rows within reach
	args            []any    // of the condition
	spoken          string   // the condition that selects rows whose languages are tried
	speakers        []any    // its arguments
	size            int      // documents within reach
	sampled         bool     // their numbers have no gaps: only the newest postings of a frequent term are counted
}

// Size returns the number of documents.
func (x TermIndex) Size() int { return x.size }

// Frequencies returns in how many documents each term occurs; terms that occur in none are missing.
func (x TermIndex) Frequencies(terms []string) map[string]int {
	limit := noLimit
	if x.sampled {
		limit = min(max(countedInAll/max(len(terms), 1), countedAtLeast), counted)
	}
	frequencies := make(map[string]int, len(terms))
	eachRow(x.tx, func(rows *sql.Rows) error {
		var term, found string
		if err := rows.Scan(&term, &found); err != nil {
			return err
		}
		var n, oldest int
		_, err := fmt.Sscanf(found, "%d %d", &n, &oldest)
		if n == limit {
			n = n * x.size / max(x.size+1-oldest, n)
		}
		frequencies[term] = n
		return err
	}, `SELECT j.value, (SELECT count(*) || ' ' || coalesce(min(d), 0) FROM
		(SELECT `+x.document+` d FROM `+x.table+` WHERE term = j.value AND `+x.within+` ORDER BY d DESC LIMIT ?) n) FROM json_each(?) j
		WHERE EXISTS (SELECT 1 FROM `+x.table+` WHERE term = j.value AND `+x.within+")",
		slices.Concat(x.args, []any{limit, listOf(terms)}, x.args)...)
	return frequencies
}

// Languages returns those of the stems that occur, see words.Stems.
func (x TermIndex) Languages() []string {
	return listValues[string](x.tx, `SELECT value FROM json_each(?) j
		WHERE EXISTS (SELECT 1 FROM `+x.table+` WHERE term > j.value || ':' AND term < j.value || ';' AND `+x.spoken+")", append([]any{listOf(words.Languages())}, x.speakers...)...)
}

// Pairs returns terms of two characters, one of which it is. It goes from term to term, so it needs no more steps than there are different
// ones.
func (x TermIndex) Pairs(character string) []string {
	next := "SELECT min(term) FROM " + x.table + " WHERE " + x.within + " AND term > "
	return listValues[string](x.tx, "WITH RECURSIVE known (term) AS ("+next+"'\u0e00' UNION ALL SELECT ("+next+`known.term)
			FROM known WHERE known.term IS NOT NULL)
		SELECT term FROM known WHERE length(term) = 2 AND instr(term, ?) > 0 LIMIT ?`, slices.Concat(x.args, x.args, []any{character, maxPairs})...)
}

// Members returns the names of members that contain the terms; of several that contain the same, the first in order.
func (x TermIndex) Members(terms []string) map[string]string {
	named := make(map[string]string)
	within, args := x.in.where("'server'") // names are shared
	eachRow(x.tx, func(rows *sql.Rows) error {
		var term, name string
		err := rows.Scan(&term, &name)
		named[term] = name
		return err
	}, `SELECT term, min(name) FROM members
		WHERE term IN (SELECT value FROM json_each(?)) AND `+within+" GROUP BY term", append([]any{listOf(terms)}, args...)...)
	return named
}

// Postings returns the newest postings of each term, at most limit, the newest first.
func (x TermIndex) Postings(terms []string, limit int) map[string][]words.Posting {
	return x.packed(terms, "SELECT string_agg("+packing+", ',') FROM (SELECT "+x.document+` d, tf, length FROM `+x.table+`
		WHERE term = t.value AND `+x.within+" ORDER BY d DESC LIMIT ?) p", append(slices.Clone(x.args), limit)...)
}

// packing is SQL that makes one number of a posting.
const packing = "CAST((d << 16) + (CASE WHEN tf > 255 THEN 255 ELSE tf END << 8) + CASE WHEN length > 255 THEN 255 ELSE length END AS TEXT)"

// packed reads the postings of terms t, the newest first, with one statement. Those of a term come as one text, because handing over a row
// costs three times as much as reading it.
func (x TermIndex) packed(terms []string, query string, args ...any) map[string][]words.Posting {
	found := make(map[string][]words.Posting, len(terms))
	eachRow(x.tx, func(rows *sql.Rows) error {
		var term, text string
		err := rows.Scan(&term, &text)
		found[term] = unpack(text)
		return err
	}, "SELECT t.value, coalesce(("+query+"), '') FROM json_each(?) t", append(args, listOf(terms))...)
	return found
}

func unpack(text string) []words.Posting {
	if text == "" {
		return nil
	}
	list := make([]words.Posting, 0, strings.Count(text, ",")+1)
	for number := range strings.SplitSeq(text, ",") {
		v, _ := strconv.ParseInt(number, 10, 64)
		list = append(list, words.Posting{Document: v >> 16, Count: int(v >> 8 & 255), Length: int(v & 255)})
	}
	slices.SortFunc(list, func(x, y words.Posting) int { return cmp.Compare(y.Document, x.Document) })
	return list
}

// MessageIndex indexes the messages of one conversation before a seq.
type MessageIndex struct {
	TermIndex
	c handle
}

// Index returns the full-text index of the messages before a seq.
func (ms Messages) Index(before int64) MessageIndex {
	const here = "conversation = ?"
	return MessageIndex{TermIndex{
		tx: ms.tx, in: scopeIDs{full: []int64{ms.c.id}}, table: "message_terms", document: "seq",
		within: here + " AND seq < ?", args: []any{ms.c.id, before}, spoken: here, speakers: []any{ms.c.id}, size: int(before - 1), sampled: true,
	}, ms.c}
}

// Near returns the postings of each term at most distance messages away from one of the messages. PostgreSQL would read all postings of the
// term for a join with the messages.
func (x MessageIndex) Near(terms []string, seqs []int64, distance int64) map[string][]words.Posting {
	return x.packed(terms, "SELECT string_agg((SELECT string_agg("+packing+`, ',') FROM (SELECT seq d, tf, length FROM message_terms
		WHERE term = t.value AND `+x.within+` AND seq BETWEEN CAST(s.key AS BIGINT) AND CAST(s.value AS BIGINT)) p), ',') FROM json_each(?) s`,
		append(slices.Clone(x.args), encode(stretches(seqs, distance)))...)
}

// stretches returns the ends of the stretches of messages at most distance away from one of the messages, by their starts.
func stretches(seqs []int64, distance int64) map[int64]int64 {
	ends := make(map[int64]int64)
	var start, end int64
	for _, seq := range slices.Sorted(slices.Values(seqs)) {
		if seq-distance > end+1 || len(ends) == 0 {
			start = seq - distance
		}
		end = seq + distance
		ends[start] = end
	}
	return ends
}

// Candidate is what a search reads of a message that it may find.
type Candidate struct {
	Seq          int64
	Author, Text string
	Attachments  []chat.Attachment
	Assistant    bool
	Tool         string // whose result it is; empty: none's
	Time         time.Time
	Answers      bool // the message before it is a question by someone else
}

// Earliest returns the oldest postings of each term from a seq on, at most limit, the oldest first.
func (x MessageIndex) Earliest(terms []string, from int64, limit int) map[string][]words.Posting {
	found := x.packed(terms, "SELECT string_agg("+packing+`, ',') FROM (SELECT seq d, tf, length FROM message_terms
		WHERE term = t.value AND `+x.within+" AND seq >= ? ORDER BY d LIMIT ?) p", append(slices.Clone(x.args), from, limit)...)
	for _, postings := range found {
		slices.Reverse(postings)
	}
	return found
}

// Candidates reads those of the messages whose time and author are within reach.
func (x MessageIndex) Candidates(seqs []int64, r Reach) []Candidate {
	within, args := r.where()
	return listRows(x.tx, func(rows *sql.Rows, m *Candidate) error {
		return rows.Scan(&m.Seq, &m.Assistant, &m.Author, &m.Text, jsonInto(&m.Attachments), &m.Tool, localInto(&m.Time), &m.Answers)
	}, `SELECT m.seq, role = 'assistant', author, text, attachments, tool, said_at, EXISTS (SELECT 1 FROM messages b
			WHERE b.id = m.id - 1 AND substr(rtrim(b.text), length(rtrim(b.text))) IN ('?', '？') AND (b.author_id <> m.author_id OR b.author <> m.author))
		FROM json_each(?) j CROSS JOIN messages m WHERE m.id = CAST(j.value AS BIGINT) + ?
		AND deleted_at IS NULL AND `+within, append([]any{listOf(seqs), x.c.rowID(0)}, args...)...)
}

// Said returns the seqs of messages of a time, by people and the bot, or by one of them. It reads the newest read of them, and of
// more than limit returns limit, evenly spread.
func (x MessageIndex) Said(in words.Span, author string, limit int) []int64 {
	const read = 2000
	seqs := listValues[int64](x.tx, `SELECT seq FROM (SELECT id FROM messages WHERE `+x.within+` AND said_at >= ? AND said_at < ?
			ORDER BY said_at DESC, id DESC LIMIT ?) n CROSS JOIN messages m
		WHERE m.id = n.id AND deleted_at IS NULL AND role <> 'tool' AND (?6 = '' OR lower(author) = lower(?6)) ORDER BY said_at DESC, m.id DESC`,
		append(slices.Clone(x.args), in.From.UnixMilli(), in.To.UnixMilli(), read, author)...)
	if len(seqs) <= limit {
		return seqs
	}
	spread := make([]int64, limit)
	for n := range spread {
		spread[n] = seqs[n*len(seqs)/limit]
	}
	return spread
}
