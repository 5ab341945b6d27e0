// The encoder whose vectors are made: it begins with the first answer of a model, gets a projection, and replaces earlier ones.

package memory

import (
	"context"
	"slices"
	"time"

	"cairn/memory/vector"
	"cairn/store"
)

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
	e.cache.dropAll()
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
	left := true
	for err == nil && left {
		err = e.o.Store.Update(ctx, func(tx *store.Tx) { left = tx.Encoders().Drop(e.in.ID, dropped) })
	}
	if err != nil {
		return store.Fail("finish the vectors", err)
	}
	e.in.Complete = true
	e.o.Log.Info("embeddings_complete", "model", e.in.Model)
	return e.reload(ctx)
}
