// Fills the vectors of messages and memories in the background: newest first, a batch of each conversation in turn.

package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"cairn/internal/observe"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory/vector"
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

// Fill makes vectors of what has none: what is new since the last time, and once an hour everything, also what was edited. Only one
// goroutine may call it.
func (e *Embeddings) Fill(ctx context.Context) error {
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
		if p.Conversation == nil {
			sources = tx.Memories().WithoutVector(e.in.ID, p.from, p.to, batchTexts)
		} else {
			sources = p.Messages(tx).WithoutVector(e.in.ID, p.from, p.to, batchTexts)
		}
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

// open finds the encoder whose vectors are made, unless it is known: the newest of the model. Its length is right unless the server
// says otherwise.
func (e *Embeddings) open(ctx context.Context) error {
	if e.in.ID != 0 {
		return nil
	}
	e.mu.Lock()
	for _, in := range e.encoders {
		if in.Model == e.o.Embedder.Space() && in.Size == min(e.o.Size, in.Length) && in.ID > e.in.ID {
			e.in = in
		}
	}
	e.mu.Unlock()
	if e.in.ID == 0 {
		return nil
	}
	return store.Fail("count vectors", e.o.Store.View(ctx, func(tx *store.Tx) { e.has = tx.Encoders().Count(e.in.ID) }))
}

// textOf returns what is embedded of a text.
func textOf(s store.VectorSource) string {
	text := s.Text
	for _, a := range s.Attachments {
		text += "\n" + cmp.Or(a.Caption, a.Name)
	}
	return sendable(text)
}

// give makes the vectors of some texts, and stores them.
func (e *Embeddings) give(ctx context.Context, p *part, sources []store.VectorSource) error {
	var texts []string
	var of []int // the sources of texts
	for i, s := range sources {
		if text := textOf(s); text != "" {
			texts = append(texts, text)
			of = append(of, i)
		}
	}
	conversation := sources[0].Of
	if p.Conversation != nil {
		conversation = p.Name()
	}
	vectors, err := e.embedAll(ctx, conversation, texts)
	if err != nil {
		return err
	}
	length := 0
	for _, v := range vectors {
		length = cmp.Or(length, len(v))
	}
	if length > 0 {
		e.works = true
		e.noteSuccess(&e.stopped, "texts")
		if err := e.expect(ctx, length); err != nil {
			return err
		}
	}
	raw := make([][]byte, len(sources)) // nil: without a vector
	for i, v := range vectors {
		raw[of[i]] = e.compress(v)
	}
	return e.keep(ctx, p, sources, raw)
}

func (e *Embeddings) keep(ctx context.Context, p *part, sources []store.VectorSource, vectors [][]byte) error {
	if e.in.ID == 0 { // nothing but texts that cannot be sent
		return nil
	}
	err := e.o.Store.Update(ctx, func(tx *store.Tx) {
		for i, s := range sources {
			if p.Conversation == nil {
				tx.Memories().SetVector(e.in.ID, s, vectors[i])
			} else {
				p.Messages(tx).SetVector(e.in.ID, s, vectors[i])
			}
		}
	})
	if err != nil {
		return store.Fail("write vectors", err)
	}
	e.has += len(sources)
	return e.project(ctx)
}

// compress returns a vector as it is stored.
func (e *Embeddings) compress(v []float32) []byte {
	if e.in.Projection == nil {
		return vector.Quantize(v)
	}
	p := vector.Decode(e.in.Projection)
	if p == nil {
		return nil
	}
	return vector.Quantize(p.Apply(v))
}

// embedAll returns the vectors of texts; nil for one that the server refuses. Of a batch that it refuses, halves are tried: it may have
// one text too many, or one that it cannot read. A server that refuses everything has failed.
func (e *Embeddings) embedAll(ctx context.Context, conversation string, texts []string) (all [][]float32, err error) {
	for part := range slices.Chunk(texts, cmp.Or(e.batch, batchTexts)) {
		vectors, err := e.embed(ctx, conversation, part)
		if err != nil {
			return nil, err
		}
		all = append(all, vectors...)
	}
	return all, nil
}

func (e *Embeddings) embed(ctx context.Context, conversation string, texts []string) ([][]float32, error) {
	vectors, used, err := e.o.Embedder.Embed(ctx, texts)
	e.count(conversation, used, texts...)
	switch {
	case err == nil:
		return vectors, nil
	case ctx.Err() != nil || llm.OfServer(err):
		return nil, err
	case len(texts) == 1 && len(texts[0]) > shortText:
		return e.embed(ctx, conversation, []string{tokens.Clip(texts[0], tokens.Estimate(texts[0])/3)})
	case len(texts) == 1 && e.works:
		e.o.Log.Debug("text_without_vector", "error", err)
		return [][]float32{nil}, nil
	case len(texts) == 1:
		return nil, err
	}
	half := len(texts) / 2
	first, failure := e.embed(ctx, conversation, texts[:half])
	if failure != nil {
		return nil, failure
	}
	second, failure := e.embed(ctx, conversation, texts[half:])
	if failure != nil {
		return nil, failure
	}
	vectors = append(first, second...)
	none := func(v []float32) bool { return v == nil }
	switch {
	case !slices.ContainsFunc(vectors, func(v []float32) bool { return v != nil }):
		return nil, err // not these texts are the reason
	case !slices.ContainsFunc(vectors, none):
		e.batch = len(texts) - half
	}
	return vectors, nil
}

// expect makes sure that vectors of this length belong to the encoder: another length means another model.
func (e *Embeddings) expect(ctx context.Context, length int) error {
	if e.in.ID != 0 && e.in.Length == length {
		return nil
	}
	size := min(e.o.Size, length)
	err := e.o.Store.Update(ctx, func(tx *store.Tx) { tx.Encoders().Add(e.o.Embedder.Space(), length, size) })
	if err != nil {
		return store.Fail("add an encoder", err)
	}
	if err := e.reload(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	i := slices.IndexFunc(e.encoders, func(in store.Encoder) bool {
		return in.Model == e.o.Embedder.Space() && in.Length == length && in.Size == size
	})
	e.in = e.encoders[i]
	e.mu.Unlock()
	e.has = 0
	e.changed = e.filled != nil
	e.filled = make(map[int64]int64)
	e.swept = time.Time{}
	e.o.Log.Info("embeddings_begin", "model", e.in.Model, "length", length, "stored", size)
	return nil
}

// project fits the projection, once there are enough vectors, and shortens these.
func (e *Embeddings) project(ctx context.Context) error {
	if e.in.Projection != nil || e.in.Size == e.in.Length || e.has < fitted {
		return nil
	}
	var sample [][]byte
	err := e.o.Store.View(ctx, func(tx *store.Tx) {
		tx.Encoders().Each(e.in.ID, fitted, func(v []byte) { sample = append(sample, slices.Clone(v)) })
	})
	if err != nil {
		return store.Fail("read vectors", err)
	}
	e.has = len(sample)
	if len(sample) < fitted {
		return nil
	}
	p := vector.Fit(sample, e.in.Size, func() bool { return ctx.Err() != nil })
	if p == nil {
		return ctx.Err()
	}
	raw := p.Encode()
	err = e.o.Store.Update(ctx, func(tx *store.Tx) { tx.Encoders().Project(e.in.ID, raw, p.ApplyQuantized) })
	if err != nil {
		return store.Fail("shorten vectors", err)
	}
	e.in.Projection = raw
	return e.reload(ctx)
}

// finish notes, after a full sweep, that every text has its vector, and deletes the vectors of earlier models.
func (e *Embeddings) finish(ctx context.Context) error {
	if e.in.ID == 0 {
		return nil
	}
	e.mu.Lock()
	alone := len(e.encoders) == 1
	e.mu.Unlock()
	if e.in.Complete && alone {
		return nil
	}
	err := e.o.Store.Update(ctx, func(tx *store.Tx) { tx.Encoders().Finish(e.in.ID) })
	for left := true; left && err == nil; {
		err = e.o.Store.Update(ctx, func(tx *store.Tx) { left = tx.Encoders().Drop(e.in.ID, dropped) })
	}
	if err != nil {
		return store.Fail("finish the vectors", err)
	}
	e.in.Complete = true
	e.o.Log.Info("embeddings_complete", "model", e.in.Model)
	return e.reload(ctx)
}
