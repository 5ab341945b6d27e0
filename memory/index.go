// The search index: which messages and memories contain which terms.

package memory

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/memory/search"
	"cairn/store"
)

const (
	// counted limits how many postings of a term are counted. For a more frequent term, the
	// newest ones show how frequent it is. A long question counts fewer per term.
	counted        = 500
	countedInAll   = 20_000
	countedAtLeast = 20

	maxPairs = 200 // in which one character occurs
)

// termIndex is a table of postings, limited to what a query can reach.
type termIndex struct {
	tx              *store.Tx
	in              scope  // whose members' names count
	table, document string // the table, and its column
	within          string // the condition that selects rows within reach
	args            []any  // of the condition
	spoken          string // the condition that selects rows whose languages are tried
	size            int    // documents within reach
	sampled         bool   // their numbers have no gaps: only the newest postings of a frequent term are counted
}

func (x termIndex) Size() int { return x.size }

func (x termIndex) Frequencies(terms []string) map[string]int {
	most := -1 // no limit
	if x.sampled {
		most = min(max(countedInAll/max(len(terms), 1), countedAtLeast), counted)
	}
	frequencies := make(map[string]int, len(terms))
	store.Each(x.tx, func(rows *sql.Rows) error {
		var term, found string
		if err := rows.Scan(&term, &found); err != nil {
			return err
		}
		var n, oldest int
		_, err := fmt.Sscanf(found, "%d %d", &n, &oldest)
		if n == most {
			n = n * x.size / max(x.size+1-oldest, n)
		}
		frequencies[term] = n
		return err
	}, `SELECT j.value, (SELECT count(*) || ' ' || coalesce(min(d), 0) FROM
		(SELECT `+x.document+` d FROM `+x.table+` WHERE term = j.value AND `+x.within+` ORDER BY d DESC LIMIT ?)) FROM json_each(?) j
		WHERE EXISTS (SELECT 1 FROM `+x.table+` WHERE term = j.value AND `+x.within+")",
		slices.Concat(x.args, []any{most, jsonList(terms)}, x.args)...)
	return frequencies
}

func (x termIndex) Languages() []string {
	return store.Values[string](x.tx, `SELECT value FROM json_each(?) j
		WHERE EXISTS (SELECT 1 FROM `+x.table+` WHERE term > j.value || ':' AND term < j.value || ';' AND `+x.spoken+")", jsonList(words.Languages()))
}

// Pairs goes from term to term: it needs no more steps than there are different ones.
func (x termIndex) Pairs(character string) []string {
	next := "SELECT min(term) FROM " + x.table + " WHERE " + x.within + " AND term > "
	return store.Values[string](x.tx, "WITH RECURSIVE known (term) AS ("+next+"'\u0e00' UNION ALL SELECT ("+next+`known.term)
			FROM known WHERE known.term IS NOT NULL)
		SELECT term FROM known WHERE length(term) = 2 AND instr(term, ?) > 0 LIMIT ?`, slices.Concat(x.args, x.args, []any{character, maxPairs})...)
}

// Members returns the names of members that contain the terms; of several that contain the same, the first in order.
func (x termIndex) Members(terms []string) map[string]string {
	named := make(map[string]string)
	within, args := x.in.where("'server'") // names are shared
	store.Each(x.tx, func(rows *sql.Rows) error {
		var term, name string
		err := rows.Scan(&term, &name)
		named[term] = name
		return err
	}, `SELECT term, min(name) FROM members
		WHERE term IN (SELECT value FROM json_each(?)) AND `+within+" GROUP BY term", append([]any{jsonList(terms)}, args...)...)
	return named
}

func (x termIndex) Postings(term string, limit int) []search.Posting {
	return x.packed(`SELECT `+x.document+` d, tf, length FROM `+x.table+` WHERE term = ? AND `+x.within+` ORDER BY d DESC LIMIT ?`,
		slices.Concat([]any{term}, x.args, []any{limit})...)
}

// packed reads postings, ordered by document. They come as one text: handing over a row costs three times as much as reading it.
func (x termIndex) packed(query string, args ...any) []search.Posting {
	text := store.Get[string](x.tx, "SELECT coalesce(group_concat((d << 16) + (min(tf, 255) << 8) + min(length, 255)), '') FROM ("+query+")", args...)
	if text == "" {
		return nil
	}
	list := make([]search.Posting, 0, strings.Count(text, ",")+1)
	for number := range strings.SplitSeq(text, ",") {
		v, _ := strconv.ParseInt(number, 10, 64)
		list = append(list, search.Posting{Document: v >> 16, Count: int(v >> 8 & 255), Length: int(v & 255)})
	}
	slices.SortFunc(list, func(x, y search.Posting) int { return cmp.Compare(x.Document, y.Document) })
	return slices.Compact(list)
}

// messageIndex indexes the messages of one conversation before a seq.
type messageIndex struct {
	termIndex
	c     *store.Conversation
	since time.Time // earlier messages are not found
}

func (x messageIndex) Around(term string, seqs []int64) []search.Posting {
	return x.packed(`SELECT m.seq d, m.tf, m.length FROM json_each(?) j CROSS JOIN message_terms m
		WHERE m.term = ? AND m.`+x.within+` AND m.seq BETWEEN j.value - ? AND j.value + ?`, jsonList(seqs), term, search.Reach, search.Reach)
}

// Messages reads messages, except those that are empty or repeat what is found elsewhere.
func (x messageIndex) Messages(seqs []int64) (found []search.Message) {
	store.Each(x.tx, func(rows *sql.Rows) error {
		var m search.Message
		var role llm.Role
		var tool string
		var with []chat.Attachment
		err := rows.Scan(&m.Seq, &role, &m.Author, &m.Text, store.JSON(&with), &tool, store.Local(&m.Time), &m.Answers)
		for _, a := range with {
			m.Captions += " " + a.Name + " " + a.Caption
		}
		m.Assistant = role == llm.RoleAssistant
		m.Length = tokens.Estimate(m.Text+m.Captions) / 3 // a term costs about three tokens
		if m.Text+m.Captions != "" && !(role == llm.RoleTool && slices.Contains(chat.MemoryTools, tool)) {
			found = append(found, m)
		}
		return err
	}, `SELECT m.seq, role, author, text, attachments, tool, said_at, coalesce((SELECT substr(rtrim(b.text), -1) IN ('?', '？')
			AND (b.author_id <> m.author_id OR b.author <> m.author) FROM messages b WHERE b.id = m.id - 1), 0)
		FROM json_each(?) j CROSS JOIN messages m ON m.id = j.value + ?
		WHERE deleted_at IS NULL AND said_at >= ?`, jsonList(seqs), x.c.Row(0), x.since.UnixMilli())
	return found
}

// jsonList returns a list as an argument for json_each, which makes a row from null.
func jsonList[T int64 | string](list []T) string { return store.Encode(append([]T{}, list...)) }
