// Remembered: the memories that answer a question, ranked.

package memory

import (
	"cmp"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
)

// What a memory's score is made of beside its words.
const (
	// byImportance is the most that importance adds, as a share of what the words are
	// worth: words come first.
	byImportance = 0.2

	// fades is how long it takes until what is remembered counts half as important.
	// Who somebody is does not fade.
	fades = 180 * 24 * time.Hour
)

// weighed is a memory with its score.
type weighed struct {
	id     int64
	saidAt int64
	score  float64
	parts  []Part
}

// faded is the importance of a memory as it counts after a time. It is computed when
// it is needed and never written back.
func faded(importance float64, kind string, age time.Duration) float64 {
	if kind == "identity" {
		return importance
	}
	return importance / (1 + float64(max(age, 0))/float64(fades))
}

// ranked chooses by a query, the best first; of equally good ones the newer first.
func ranked(tx *sql.Tx, f Filter, in scope) ([]weighed, error) {
	x := memoryIndex{tx: tx}
	x.within, x.args = in.where()
	x.in = in
	err := tx.QueryRow("SELECT count(*) FROM memories WHERE state = 'active' AND "+x.within, x.args...).Scan(&x.n)
	if err != nil {
		return nil, err
	}
	i := Question{Text: f.Query}.inquiry()
	lookups, err := i.lookups(x)
	if err != nil {
		return nil, err
	}
	words := make(map[int64]float64)
	for _, l := range lookups { // sorted: scores add up in one order
		list, err := x.read(l.term)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			words[p.document] += l.gain(float64(p.tf), p.length)
		}
	}
	look, err := tx.Prepare("SELECT said_at, importance, kind, speaker, about FROM memories WHERE id = ? AND state = ? AND (kind = ? OR ? = '') AND said_at >= ?")
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var chosen []weighed
	for id, score := range words {
		m := weighed{id: id}
		var importance float64
		var kind, speaker, about string
		err := look.QueryRow(id, f.State, f.Kind, f.Kind, earliest(f.Since)).Scan(&m.saidAt, &importance, &kind, &speaker, &about)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m.add("words", score)
		if i.speaker != "" && (strings.EqualFold(about, i.speaker) || strings.EqualFold(speaker, i.speaker)) {
			m.add("speaker", m.score*(bySpeaker-1))
		}
		m.add("importance", m.score*byImportance*importance)
		m.add("age", m.score*byImportance*(faded(importance, kind, now.Sub(at(m.saidAt)))-importance)/(1+byImportance*importance))
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
	tx     *sql.Tx
	in     scope
	within string
	args   []any
	n      int // active ones
}

func (x memoryIndex) df(term string) (n int, err error) {
	err = x.tx.QueryRow("SELECT count(*) FROM memory_terms WHERE term = ? AND "+x.within, append([]any{term}, x.args...)...).Scan(&n)
	return n, err
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
