package main

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"cairn/channel"
	"cairn/compactor"
)

// book keeps what people asked until it is answered, and how long that took. It takes
// no more memory the longer a run is.
type book struct {
	mu      sync.Mutex // guards everything below
	open    map[string]question
	pending map[*member]int // questions that are not answered
	doings  doings
	recent  times // since the last look
	among   times // while the sick are talked to
	alone   times // while they are not
	sick    bool
}

type question struct {
	at   time.Time
	idle bool // nothing was being answered in its channel
}

// doings is what has happened so far.
type doings struct {
	Answered    int    `json:"answered"`
	Twice       int    `json:"answered_twice"` // or never asked
	Failed      int    `json:"failed"`         // answers in healthy channels that told of a failure
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

// answered notes that a reply has arrived. Of a healthy channel it counts how long it took
// beyond the model's own time, if nothing else was going on there.
func (b *book) answered(m *member, piece channel.Piece) {
	now, thought := time.Now(), m.actor.thought()
	b.mu.Lock()
	defer b.mu.Unlock()
	if piece.Failure && m.ill == well {
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
		if m.ill == well && q.idle && len(piece.To) == 1 {
			b.noteLocked(now.Sub(q.at) - thought)
		}
	}
}

func (b *book) noteLocked(took time.Duration) {
	b.recent.add(took)
	if b.sick {
		b.among.add(took)
	} else {
		b.alone.add(took)
	}
}

func (b *book) failedLocked(why string) {
	if b.doings.Why == "" {
		b.doings.Why = why
	}
}

func (b *book) compaction(m *member, e channel.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case e.State == compactor.EventLanded && e.Kind == compactor.Rollup:
		b.doings.Rollups++
		b.doings.Compactions++
	case e.State == compactor.EventLanded:
		b.doings.Compactions++
	case e.State == compactor.EventFailed && m.ill == well && !strings.HasPrefix(e.Error, "stopped before"): // by the end of the run
		b.doings.Broken++
		b.failedLocked(fmt.Sprintf("a compaction in %s: %s", m.name, e.Error))
	}
}

// look returns what has happened so far, and how long answers took since the last look.
func (b *book) look() (doings, times) {
	b.mu.Lock()
	defer b.mu.Unlock()
	recent := b.recent
	b.recent = times{}
	return b.doings, recent
}

// stretch tells whether the sick are talked to from here on; what was timed before the
// measurement is forgotten.
func (b *book) stretch(sick, forget bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sick = sick; forget {
		b.recent, b.among, b.alone = times{}, times{}, times{}
	}
}

// times is how often something took how long: in steps of 1 %, from 0.1 ms on.
type times struct {
	n    int
	bins [1500]uint32
}

const (
	firstBin = 0.1 // ms
	binGrows = 1.01
)

func (t *times) add(d time.Duration) {
	at := 0
	if v := ms(d) / firstBin; v > 1 {
		at = min(int(math.Log(v)/math.Log(binGrows)), len(t.bins)-1)
	}
	t.bins[at]++
	t.n++
}

// quantile is what a share of all stay below, in milliseconds; 0 if there are none.
func (t *times) quantile(share float64) float64 {
	left := share * float64(t.n)
	for at, n := range t.bins {
		if left -= float64(n); n > 0 && left <= 0 {
			return firstBin * math.Pow(binGrows, float64(at)+0.5)
		}
	}
	return 0
}
