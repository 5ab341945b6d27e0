// Postings: where in a conversation the words of a question stand.

package memory

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cairn/words"
)

const (
	// postingsRead bounds what one question reads of the index. Rare words come first;
	// of a word for which nothing is left only what stands around the best found so
	// far is looked up.
	postingsRead = 2000

	// counted bounds how many postings of a term are counted: of one that has more,
	// the newest tell how frequent it is. Of a long question's they are fewer.
	counted        = 500
	countedInAll   = 20_000
	countedAtLeast = 20
)

// place is where a term stands in a conversation, or near.
type place struct {
	seq    int64
	tf     float64 // in the message
	near   float64 // in the message and, for less, in those around it
	length int     // terms of the message; 0: it does not have this one
}

// trace is a term and the places where it stands.
type trace struct {
	lookup
	places []place // by seq
	common bool    // not read whole
}

// around tells how often the term stands in the messages from seq-reach to seq+reach,
// and the length of the message seq if it stands there.
func (t trace) around(seq int64) (tf [2*reach + 1]float64, length int) {
	i, _ := slices.BinarySearchFunc(t.places, seq-reach, func(p place, seq int64) int { return cmp.Compare(p.seq, seq) })
	for ; i < len(t.places) && t.places[i].seq <= seq+reach; i++ {
		p := t.places[i]
		tf[p.seq-seq+reach] = p.tf
		if p.seq == seq {
			length = p.length
		}
	}
	return tf, length
}

// spread adds to postings, ordered by document, the places around them.
func spread(postings []posting) []place {
	places := make([]place, 0, 3*len(postings))
	for _, p := range postings {
		last := p.document - reach - 1
		if n := len(places); n > 0 {
			last = max(last, places[n-1].seq)
		}
		for seq := last + 1; seq <= p.document+reach; seq++ {
			places = append(places, place{seq: seq})
		}
		end := len(places) - 1 // the place at p.document+reach
		for _, around := range nearby {
			if i := end - reach + int(around.offset); i >= 0 {
				at := &places[i]
				at.near += around.weight * float64(p.tf)
				if around.offset == 0 {
					at.tf, at.length = float64(p.tf), p.length
				}
			}
		}
	}
	return places
}

// postings reads the index of one conversation, messages from a seq on and before one.
type postings struct {
	tx           *transaction
	id           int64 // the conversation
	from, before int64
	n            int // messages before, from the first on: what is rare is so in all of them
}

// dfs tells in how many messages each term stands; of a frequent one about.
func (p postings) dfs(terms []string) (map[string]int, error) {
	if len(terms) == 0 {
		return map[string]int{}, nil
	}
	list, err := json.Marshal(terms)
	if err != nil {
		return nil, err
	}
	most := min(max(countedInAll/max(len(terms), 1), countedAtLeast), counted)
	dfs := make(map[string]int, len(terms))
	err = each(p.tx, func(rows *sql.Rows) error {
		var term, found string
		if err := rows.Scan(&term, &found); err != nil {
			return err
		}
		var n, oldest int
		if _, err := fmt.Sscanf(found, "%d %d", &n, &oldest); err != nil {
			return err
		}
		if n == most {
			if span := p.n + 1 - oldest; span > n {
				n = n * p.n / span
			} else {
				n = p.n
			}
		}
		dfs[term] = n
		return nil
	}, `SELECT j.value, (SELECT count(*) || ' ' || coalesce(min(seq), 0) FROM
		(SELECT seq FROM message_terms WHERE conversation = ? AND term = j.value AND seq < ? ORDER BY seq DESC LIMIT ?)) FROM json_each(?) j`,
		p.id, p.before, most, string(list))
	return dfs, err
}

func (p postings) languages() ([]string, error) {
	return among(p.tx, words.Languages(), stemsOf+"message_terms WHERE conversation = ? AND "+ofLanguage, p.id)
}

func (p postings) size() int { return p.n }

func (p postings) known(terms []string) ([]string, error) {
	return among(p.tx, terms, "EXISTS (SELECT 1 FROM message_terms WHERE conversation = ? AND term = j.value AND seq < ?)", p.id, p.before)
}

func (p postings) members(terms []string) (map[string]string, error) {
	return members(p.tx, only(p.id), terms)
}

// read reads the places of a lookup, at most limit of its newest postings.
func (p postings) read(l lookup, limit int) ([]posting, error) {
	all, err := l.read(func(term string) ([]posting, error) { return p.newest(term, limit) })
	return all[max(len(all)-limit, 0):], err
}

func (p postings) newest(term string, limit int) ([]posting, error) {
	return packed(p.tx, `SELECT `+packing+` FROM
		(SELECT seq, tf, length FROM message_terms WHERE conversation = ? AND term = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?)`,
		p.id, term, p.from-reach, p.before, limit)
}

// around reads the postings of a term that stand around messages.
func (p postings) around(term string, seqs []int64) ([]posting, error) {
	list, err := json.Marshal(seqs)
	if err != nil {
		return nil, err
	}
	return packed(p.tx, `SELECT `+packing+` FROM
		(SELECT m.seq, m.tf, m.length FROM json_each(?) j CROSS JOIN message_terms m
		WHERE m.conversation = ? AND m.term = ? AND m.seq BETWEEN j.value - ? AND j.value + ? AND m.seq < ?)`,
		string(list), p.id, term, reach, reach, p.before)
}

// packing makes one text of many rows: handing over each costs three times as much
// as reading it.
const packing = `group_concat((seq << 16) + (min(tf, 255) << 8) + min(length, 255))`

// packed reads what packing made, ordered by document, each once.
func packed(tx *transaction, query string, args ...any) ([]posting, error) {
	var text sql.NullString
	if err := tx.QueryRow(query, args...).Scan(&text); err != nil || text.String == "" {
		return nil, err
	}
	list := make([]posting, 0, strings.Count(text.String, ",")+1)
	for number := range strings.SplitSeq(text.String, ",") {
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, posting{v >> 16, int(v >> 8 & 255), int(v & 255)})
	}
	slices.SortFunc(list, func(x, y posting) int { return cmp.Compare(x.document, y.document) })
	return slices.CompactFunc(list, func(x, y posting) bool { return x.document == y.document }), nil
}

// traces reads the places of the lookups, the rarest first, as far as postingsRead
// goes, but at least some of the rarest.
func (p postings) traces(lookups []lookup) ([]trace, error) {
	slices.SortStableFunc(lookups, func(a, b lookup) int { return cmp.Compare(a.df, b.df) })
	rest := postingsRead
	var all []trace
	for i, l := range lookups {
		t := trace{lookup: l, common: l.df > rest}
		if !t.common || i == 0 {
			list, err := p.read(l, rest)
			if err != nil {
				return nil, err
			}
			rest -= len(list)
			t.places = spread(list)
		}
		all = append(all, t)
	}
	return all, nil
}

// complete reads what traces left out, around the messages that matter.
func (p postings) complete(traces []trace, seqs []int64) error {
	for i := range traces {
		if t := &traces[i]; t.common {
			list, err := t.read(func(term string) ([]posting, error) { return p.around(term, seqs) })
			if err != nil {
				return err
			}
			t.places = spread(list)
		}
	}
	return nil
}

// scores weighs all places of the traces between the messages from and to, by seq:
// the best of them are worth a closer look.
func scores(traces []trace, from, to int64) []scored {
	var all []scored
	heads := make([]int, len(traces)) // the next place of each
	for {
		next := to + 1
		for n, t := range traces {
			if heads[n] < len(t.places) {
				next = min(next, t.places[heads[n]].seq)
			}
		}
		if next > to {
			return all
		}
		s, length := scored{document: next}, 0
		for n, t := range traces {
			if heads[n] < len(t.places) && t.places[heads[n]].seq == next {
				length = max(length, t.places[heads[n]].length)
			}
		}
		if length == 0 {
			length = ordinary
		}
		for n, t := range traces {
			if heads[n] < len(t.places) && t.places[heads[n]].seq == next {
				s.score += t.gain(t.places[heads[n]].near, length)
				heads[n]++
			}
		}
		if next >= from {
			all = append(all, s)
		}
	}
}
