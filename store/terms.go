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
		WHERE EXISTS (SELECT 1 FROM `+x.table+` WHERE term > j.value || ':' AND term < j.value || ';' AND `+x.spoken+")", listOf(words.Languages()))
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

// Postings returns the newest postings of a term, at most limit, by document.
func (x TermIndex) Postings(term string, limit int) []words.Posting {
	return x.packed(`SELECT `+x.document+` d, tf, length FROM `+x.table+` WHERE term = ? AND `+x.within+` ORDER BY d DESC LIMIT ?`,
		slices.Concat([]any{term}, x.args, []any{limit})...)
}

// packed reads postings, ordered by document. They come as one text: handing over a row costs three times as much as reading it.
func (x TermIndex) packed(query string, args ...any) []words.Posting {
	text := getValue[string](x.tx, "SELECT coalesce(string_agg(CAST((d << 16) + (CASE WHEN tf > 255 THEN 255 ELSE tf END << 8) + CASE WHEN length > 255 THEN 255 ELSE length END AS TEXT), ','), '') FROM ("+query+") q", args...)
	if text == "" {
		return nil
	}
	list := make([]words.Posting, 0, strings.Count(text, ",")+1)
	for number := range strings.SplitSeq(text, ",") {
		v, _ := strconv.ParseInt(number, 10, 64)
		list = append(list, words.Posting{Document: v >> 16, Count: int(v >> 8 & 255), Length: int(v & 255)})
	}
	slices.SortFunc(list, func(x, y words.Posting) int { return cmp.Compare(x.Document, y.Document) })
	return slices.Compact(list)
}

// MessageIndex indexes the messages of one conversation before a seq.
type MessageIndex struct {
	TermIndex
	c handle
}

// Index returns the full-text index of the messages before a seq.
func (ms Messages) Index(before int64) MessageIndex {
	here := fmt.Sprintf("conversation = %d", ms.c.id)
	return MessageIndex{TermIndex{
		tx: ms.tx, in: scopeIDs{full: []int64{ms.c.id}}, table: "message_terms", document: "seq",
		within: fmt.Sprintf("%s AND seq < %d", here, before), spoken: here, size: int(before - 1), sampled: true,
	}, ms.c}
}

// Near returns the postings of a term at most distance messages away from one of the messages.
func (x MessageIndex) Near(term string, seqs []int64, distance int) []words.Posting {
	return x.packed(`SELECT m.seq d, m.tf, m.length FROM json_each(?) j CROSS JOIN message_terms m
		WHERE m.term = ? AND m.`+x.within+` AND m.seq BETWEEN CAST(j.value AS BIGINT) - ? AND CAST(j.value AS BIGINT) + ?`, listOf(seqs), term, distance, distance)
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

// Earliest returns the oldest postings of a term from a seq on, at most limit, by document.
func (x MessageIndex) Earliest(term string, from int64, limit int) []words.Posting {
	return x.packed("SELECT seq d, tf, length FROM message_terms WHERE term = ? AND "+x.within+" AND seq >= ? ORDER BY d LIMIT ?", term, from, limit)
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
		WHERE m.id = n.id AND deleted_at IS NULL AND role <> 'tool' AND (?4 = '' OR lower(author) = lower(?4)) ORDER BY said_at DESC, m.id DESC`,
		in.From.UnixMilli(), in.To.UnixMilli(), read, author)
	if len(seqs) <= limit {
		return seqs
	}
	spread := make([]int64, limit)
	for n := range spread {
		spread[n] = seqs[n*len(seqs)/limit]
	}
	return spread
}
