// Makes the vectors of one batch of texts, and stores them.

package memory

import (
	"cmp"
	"context"
	"slices"

	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/store"
)

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
		if p.Conversation != nil {
			tx.Lock(p.Conversation) // its messages may be deleted meanwhile
		}
		for i, s := range sources {
			p.vectors(tx).Set(e.in.ID, s, vectors[i])
		}
	})
	if err != nil {
		return store.Fail("write vectors", err)
	}
	if p.Conversation != nil {
		e.cache.drop(p.ID(), sources[len(sources)-1].ID, sources[0].ID) // newest first
	}
	e.has += len(sources)
	return e.project(ctx)
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
