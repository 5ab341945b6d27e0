// Remembered: the memories that answer a question, ranked.

package memory

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"cairn/words"
)

// What a memory's score is made of beside its words.
const (
	// byImportance is the most that importance adds, as a share of what the words are
	// worth: words come first.
	byImportance = 0.2
)

// weighed is a memory with its score.
type weighed struct {
	id     int64
	saidAt int64
	score  float64
	parts  []Part
}

// ranked chooses by a query, the best first; of equally good ones the newer first.
func ranked(tx *transaction, f Filter, in scope) ([]weighed, error) {
	x := memoryIndex{tx: tx, in: in}
	x.within, x.args = in.where()
	if shared, with := in.shares("(SELECT reach FROM memories WHERE id = memory)"); shared != "" { // what others keep to themselves tells nothing, not even how a word is spelt
		x.within += " AND " + shared
		x.args = append(x.args, with...)
	}
	fitting, args := Filter{State: "current"}.where(in)
	err := tx.QueryRow("SELECT count(*) FROM memories WHERE "+fitting, args...).Scan(&x.n)
	if err != nil {
		return nil, err
	}
	i := Question{Text: f.Query, Asker: f.Asker}.inquiry()
	lookups, err := i.lookups(x)
	if err != nil {
		return nil, err
	}
	scores := make(map[int64]float64)
	for _, l := range lookups { // sorted: scores add up in one order
		list, err := l.read(x.read)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			scores[p.document] += l.gain(float64(p.tf), p.length)
		}
	}
	fitting, args = f.where(in)
	look := "SELECT said_at, importance, kind, speaker, about, pinned, confirmed FROM memories WHERE id = ? AND " + fitting
	now := time.Now()
	var chosen []weighed
	for id, score := range scores {
		m := weighed{id: id}
		var is Memory
		err := tx.QueryRow(look, append([]any{id}, args...)...).Scan(&m.saidAt, &is.Importance, &is.Kind, &is.Speaker, &is.About, &is.Pinned, &is.Confirmed)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m.add("words", score)
		if i.speaker != "" && (strings.EqualFold(is.About, i.speaker) || strings.EqualFold(is.Speaker, i.speaker)) {
			m.add("speaker", m.score*(bySpeaker-1))
		}
		is.SaidAt = at(m.saidAt)
		m.add("importance", m.score*byImportance*is.Importance)
		m.add("age", m.score*byImportance*(is.Worth(now)-is.Importance)/(1+byImportance*is.Importance))
		chosen = append(chosen, m)
	}
	slices.SortFunc(chosen, func(x, y weighed) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.saidAt, x.saidAt), cmp.Compare(y.id, x.id))
	})
	return chosen, nil
}

func (m *weighed) add(name string, value float64) {
	if value != 0 {
		m.score += value
		m.parts = append(m.parts, Part{name, value})
	}
}

// memoryIndex is the index of the memories in a scope.
type memoryIndex struct {
	tx     *transaction
	in     scope
	within string // on memory_terms
	args   []any
	n      int // active ones
}

func (x memoryIndex) dfs(terms []string) (map[string]int, error) {
	if len(terms) == 0 {
		return map[string]int{}, nil
	}
	list, err := json.Marshal(terms)
	if err != nil {
		return nil, err
	}
	dfs := make(map[string]int, len(terms))
	err = each(x.tx, func(rows *sql.Rows) error {
		var term string
		var n int
		err := rows.Scan(&term, &n)
		dfs[term] = n
		return err
	}, "SELECT j.value, (SELECT count(*) FROM memory_terms WHERE term = j.value AND "+x.within+") FROM json_each(?) j", append(slices.Clone(x.args), string(list))...)
	return dfs, err
}

func (x memoryIndex) languages() ([]string, error) {
	return among(x.tx, words.Languages(), stemsOf+"memory_terms WHERE "+ofLanguage)
}

func (x memoryIndex) size() int { return x.n }

func (x memoryIndex) known(terms []string) ([]string, error) {
	return among(x.tx, terms, "EXISTS (SELECT 1 FROM memory_terms WHERE term = j.value AND "+x.within+")", x.args...)
}

func (x memoryIndex) members(terms []string) (map[string]string, error) {
	return members(x.tx, x.in, terms)
}

// read reads all postings of a term: all that match are wanted, for their total is told.
func (x memoryIndex) read(term string) ([]posting, error) {
	return packed(x.tx, "SELECT "+memoryPacking+" FROM memory_terms WHERE term = ? AND "+x.within, append([]any{term}, x.args...)...)
}

// memoryPacking is packing for memories.
const memoryPacking = `group_concat((memory << 16) + (min(tf, 255) << 8) + min(length, 255))`
