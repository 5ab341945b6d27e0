// Fills the vectors of messages and memories in the background: newest first, a batch of each conversation in turn.

package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"cairn/internal/observe"
	"cairn/store"
)

const (
	batchTexts    = 32   // in a request: more than some servers take, see embedAll
	fitted        = 2000 // vectors that a projection is fitted on
	shortText     = 300  // bytes that every server reads
	dropped       = 2000 // vectors of an earlier model that one transaction deletes
	fullSweep     = time.Hour
	longestBreak  = 10 * time.Minute
	longestBreath = 5 * time.Second // between two requests
)

// errSpent ends a sweep: no more tokens may be used today.
var errSpent = errors.New("the tokens of today are used up")

// filling is the state of Run.
type filling struct {
	fills   bool          // this process makes the vectors
	in      store.Encoder // 0: not known before the first answer
	has     int           // vectors of in, about
	filled  map[int64]int64
	swept   time.Time // when the last full sweep began: it finds edited texts, too
	batch   int       // texts in a request; 0: batchTexts
	works   bool      // the server has returned vectors since the start
	warned  string    // the day on which the log says that the tokens are used up
	failing time.Duration

	stopped  observe.Incident
	breathes bool // between requests
	changed  bool // the encoder has, since the sweep began
}

// Run makes the vectors of all texts, and of new ones as they come, until ctx ends. A failure of the server is one line in the log; it
// is tried again, at growing intervals.
func (e *Embeddings) Run(ctx context.Context) {
	e.breathes = true
	for ctx.Err() == nil {
		pause := e.o.Every
		err := e.Fill(ctx)
		switch {
		case err == nil:
			e.failing = 0
		case errors.Is(err, errSpent):
			e.noteSpent()
		case ctx.Err() == nil:
			e.o.Log.Log(ctx, e.stopped.Begin(), "embeddings_failed", "of", "texts", "effect", "search is by words where vectors are missing", "error", err)
			e.failing = min(max(2*e.failing, e.o.Every), longestBreak)
			pause = e.failing
		}
		rest(ctx, pause)
	}
}

// rest waits.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (e *Embeddings) noteSpent() {
	if today := store.Day(time.Now()); e.warned != today {
		e.warned = today
		e.o.Log.Info("embedding_tokens_spent", "limit", e.o.PerDay, "effect", "new texts get their vectors tomorrow")
	}
}

// part is a range of texts without vectors: of a conversation, or, without one, memories.
type part struct {
	store.Extent
	from, to int64 // that were not looked at yet
}

// vectors are those of the part.
func (p *part) vectors(tx *store.Tx) interface {
	Missing(encoder, from, to int64, limit int) []store.VectorSource
	Set(encoder int64, of store.VectorSource, vector []byte)
} {
	if p.Conversation == nil {
		return tx.MemoryVectors()
	}
	return p.Vectors(tx)
}

// begin reads how many tokens were used today, if this process has not made the vectors until now.
func (e *Embeddings) begin(ctx context.Context) error {
	if e.fills {
		return nil
	}
	today := store.Day(time.Now())
	all, err := e.o.Store.Usage(ctx, today)
	if err != nil {
		return err
	}
	used := int64(0)
	for _, u := range all {
		if u.Kind == store.ForEmbedding {
			used += u.Input
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.day = today
	e.used = used
	e.fills = true
	return nil
}

// Fill makes vectors of what has none: what is new since the last time, and once an hour everything, also what was edited. Only one
// goroutine may call it.
func (e *Embeddings) Fill(ctx context.Context) error {
	if e.o.Fills != nil && !e.o.Fills() { // questions are compared with what another process makes
		e.fills = false
		return e.reload(ctx)
	}
	if err := e.begin(ctx); err != nil {
		return err
	}
	full := time.Since(e.swept) >= fullSweep
	e.changed = false
	began := time.Now()
	open, err := e.parts(ctx, full)
	for err == nil && len(open) > 0 {
		left := open[:0]
		for _, p := range open {
			more := false
			more, err = e.fillSome(ctx, &p)
			if err != nil {
				break
			}
			if more {
				left = append(left, p)
			}
		}
		open = left
	}
	if err != nil || !full || e.changed {
		return err
	}
	e.swept = began
	return e.finish(ctx)
}

// memoriesPart is the number under which filled has memories: no conversation has it.
const memoriesPart = 0

// parts returns what a sweep looks at: memories first, then conversations, that with the newest message first.
func (e *Embeddings) parts(ctx context.Context, full bool) (open []part, err error) {
	err = e.o.Store.View(ctx, func(tx *store.Tx) {
		open = append(open, part{Extent: store.Extent{Next: tx.Memories().Newest() + 1}})
		for _, place := range tx.Encoders().Extents() {
			open = append(open, part{Extent: place})
		}
	})
	for i := range open {
		p := &open[i]
		p.to = p.Next - 1
		p.from = 1
		if !full {
			p.from = cmp.Or(e.filled[p.key()], 1)
		}
	}
	return slices.DeleteFunc(open, func(p part) bool { return p.from > p.to }), store.Fail("look for texts without vectors", err)
}

func (p part) key() int64 {
	if p.Conversation == nil {
		return memoriesPart
	}
	return p.ID()
}

// fillSome makes the vectors of the newest texts of a part; more reports that there may be others.
func (e *Embeddings) fillSome(ctx context.Context, p *part) (more bool, err error) {
	if err := e.maySpend(); err != nil {
		return false, err
	}
	if err := e.open(ctx); err != nil {
		return false, err
	}
	var sources []store.VectorSource
	err = e.o.Store.View(ctx, func(tx *store.Tx) {
		sources = p.vectors(tx).Missing(e.in.ID, p.from, p.to, batchTexts)
	})
	if err != nil {
		return false, store.Fail("read texts without vectors", err)
	}
	if len(sources) > 0 {
		began := time.Now()
		if err := e.give(ctx, p, sources); err != nil {
			return false, err
		}
		p.to = sources[len(sources)-1].ID - 1
		if e.breathes { // questions get their turn, too
			rest(ctx, min(time.Since(began), longestBreath))
		}
	}
	if len(sources) == batchTexts && p.from <= p.to {
		return true, ctx.Err()
	}
	if e.filled == nil {
		e.filled = make(map[int64]int64)
	}
	e.filled[p.key()] = p.Next
	return false, ctx.Err()
}

func (e *Embeddings) maySpend() error {
	e.mu.Lock()
	spent := e.o.PerDay > 0 && e.used >= e.o.PerDay && e.day == store.Day(time.Now())
	e.mu.Unlock()
	if spent || e.o.May != nil && !e.o.May() {
		return errSpent
	}
	return nil
}
