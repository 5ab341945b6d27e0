package llm

import (
	"log/slog"
	"sync"
	"time"

	"cairn/internal/observe"
)

// How long a model whose server fails is left alone, if another one answers in its place.

// The rest of a model: a minute after its first failure in a row, and twice as long after each further one, up to ten minutes.
const (
	firstRest   = time.Minute
	longestRest = 10 * time.Minute
)

// Rest is the rest of a model after a failure. The zero value: the model works. It is safe for concurrent use.
type Rest struct {
	incident observe.Incident

	mu     sync.Mutex // guards the fields below
	why    error      // nil: the model works
	failed time.Time  // when Begin was called last
	length time.Duration
	until  time.Time
}

// Begin starts a rest, and returns the level at which to log why. Turns that fail side by side are one failure.
func (r *Rest) Begin(why error) slog.Level {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.why == nil {
		r.length = firstRest
	} else if now.Sub(r.failed) >= firstRest {
		r.length = min(2*r.length, longestRest)
	}
	r.why = why
	r.failed = now
	r.until = now.Add(r.length)
	return r.incident.Begin()
}

// End records that the model answered, and reports whether that ended an incident.
func (r *Rest) End() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = nil
	return r.incident.End()
}

// Take reports whether a request may be sent now. When a rest is over, the first caller may; for others it goes on until that one has
// called Begin or End, at most for as long again.
func (r *Rest) Take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.why == nil {
		return true
	}
	over := !now.Before(r.until)
	if over {
		r.until = now.Add(r.length)
	}
	return over
}

// Why returns the failure after which the model rests, nil: it works; and for how much longer it does.
func (r *Rest) Why() (left time.Duration, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(time.Until(r.until), 0), r.why
}
