package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"cairn/channel"
	"cairn/compactor"
)

// book keeps what people asked until it is answered, and how long that took: eight bytes for each
// answer.
type book struct {
	mu      sync.Mutex // guards everything below
	open    map[string]question
	pending map[*member]int // questions that are not answered
	doings  doings
	took    []time.Duration
	looked  int // of took, at the last look
}

type question struct {
	at   time.Time
	idle bool // nothing was being answered in its channel
}

// doings is what has happened so far.
type doings struct {
	Answered    int    `json:"answered"`
	Twice       int    `json:"answered_twice"` // or never asked
	Failed      int    `json:"failed"`         // answers that told of a failure
	Compactions int    `json:"compactions"`    // that landed
	Rollups     int    `json:"rollups"`        // of which summaries of summaries
	Broken      int    `json:"failed_compactions"`
	Memories    int    `json:"memories"`
	Why         string `json:"failure,omitempty"` // of the first that failed
}

func newBook() *book { return &book{open: map[string]question{}, pending: map[*member]int{}} }

func (b *book) count(f func(*doings)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.doings)
}

// asked notes a question, before it is delivered.
func (b *book) asked(m *member, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[id] = question{time.Now(), b.pending[m] == 0}
	b.pending[m]++
}

// answered notes that a reply has arrived. It counts how long it took beyond
// the model's own time, if nothing else was going on there.
func (b *book) answered(m *member, piece channel.Piece) {
	now, thought := time.Now(), m.actor.thought()
	b.mu.Lock()
	defer b.mu.Unlock()
	if piece.Failure {
		b.failedLocked(piece.Text)
		b.doings.Failed++
	}
	for _, id := range piece.To {
		q, there := b.open[id]
		if !there {
			b.doings.Twice++
			continue
		}
		delete(b.open, id)
		b.pending[m]--
		b.doings.Answered++
		if q.idle && len(piece.To) == 1 {
			b.took = append(b.took, now.Sub(q.at)-thought)
		}
	}
}

func (b *book) failedLocked(why string) {
	if b.doings.Why == "" {
		b.doings.Why = why
	}
}

func (b *book) compaction(conversation string, e channel.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case e.State == compactor.EventLanded && e.Kind == compactor.Rollup:
		b.doings.Rollups++
		b.doings.Compactions++
	case e.State == compactor.EventLanded:
		b.doings.Compactions++
	case e.State == compactor.EventFailed && !strings.HasPrefix(e.Error, "stopped before"): // by the end of the run
		b.doings.Broken++
		b.failedLocked(fmt.Sprintf("a compaction in %s: %s", conversation, e.Error))
	}
}

// look returns what has happened so far, and how long answers took since the last look.
func (b *book) look() (doings, []time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	recent := b.took[b.looked:]
	b.looked = len(b.took)
	return b.doings, recent
}

// forget forgets how long answers took before the measurement.
func (b *book) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.took, b.looked = nil, 0
}
