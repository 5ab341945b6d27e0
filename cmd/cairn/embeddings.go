// Search by meaning: the embeddings of a running bot, and those with which a command searches.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"cairn/channel"
	"cairn/config"
	"cairn/llm"
	"cairn/llm/openai"
	"cairn/memory"
	"cairn/store"
)

// embedderOf returns the embedder of the settings; nil if embeddings are off.
func embedderOf(s *config.Settings, log *slog.Logger) (*openai.Embedder, error) {
	t, on, err := config.EmbeddingServer(s)
	if err != nil {
		return nil, usage(err)
	}
	if !on {
		return nil, nil
	}
	return newEmbedder(s, t, log)
}

func newEmbedder(s *config.Settings, t config.Target, log *slog.Logger) (*openai.Embedder, error) {
	e, err := openai.NewEmbedder(openai.Options{
		BaseURL: t.BaseURL, APIKey: t.Key, Model: t.Model, IdleTimeout: time.Minute, MaxTime: 2 * time.Minute, Log: log,
	}, s.Embeddings.Dimensions)
	if err != nil {
		return nil, usage(err)
	}
	return e, nil
}

// embeddingOptions returns the options of an embedder of the settings.
func embeddingOptions(s *config.Settings, db *store.Store, e *openai.Embedder, log *slog.Logger) memory.EmbeddingOptions {
	return memory.EmbeddingOptions{
		Store: db, Embedder: e, Size: s.Embeddings.Dimensions, PerDay: s.Embeddings.TokensPerDay, Log: log,
		Other: func(space string) llm.Embedder { return earlierModel(s, e, space, log) },
	}
}

// earlierModel returns the embedder of another model of the same server; nil if the space is that of another server.
func earlierModel(s *config.Settings, now *openai.Embedder, space string, log *slog.Logger) llm.Embedder {
	model, same := strings.CutSuffix(space, strings.TrimPrefix(now.Space(), now.Name()))
	t, _, err := config.EmbeddingServer(s)
	if !same || err != nil {
		return nil
	}
	t.Model = model
	e, err := newEmbedder(s, t, log)
	if err != nil {
		return nil
	}
	return e
}

// startEmbeddings makes the vectors of texts in the background, if embeddings are on, and searches by them.
func (b *bot) startEmbeddings(ctx context.Context) error {
	e, err := embedderOf(&b.started, b.log)
	if e == nil || err != nil {
		return err
	}
	o := embeddingOptions(&b.started, b.store, e, b.log)
	o.Fills = func() bool { return channel.FleetOf(b.hub).DoesChores() }
	o.May = b.hasBudget
	o.Spent = func(conversation string, used llm.Usage) { b.spent(store.ForEmbedding, e.Name(), conversation, used) }
	o.Asked = b.metrics.asked
	made, err := memory.NewEmbeddings(ctx, o)
	if err != nil {
		return err
	}
	b.tasks.Go(func() { made.Run(b.ctx) })
	return nil
}

// searchByMeaning makes the searches of a command use embeddings, if they are on.
func (a *app) searchByMeaning(ctx context.Context, db *store.Store) error {
	log := a.logger(a.err, slog.LevelWarn)
	e, err := embedderOf(&a.settings, log)
	if e == nil || err != nil {
		return err
	}
	_, err = memory.NewEmbeddings(ctx, embeddingOptions(&a.settings, db, e, log))
	return err
}

// embeddings asks the server for the vectors of two texts, and says how many texts have one.
func (d *doctor) embeddings(ctx context.Context) {
	s := &d.app.settings
	e, err := embedderOf(s, slog.New(slog.DiscardHandler))
	if e == nil {
		if err != nil {
			d.report("search", err)
		}
		return
	}
	limited, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	began := time.Now()
	vectors, _, err := e.Embed(limited, []string{"the ferry leaves at nine", "a second text"})
	if err != nil {
		d.report("search", fmt.Errorf("embeddings by %s at %s: %w", e.Name(), config.MaskAddress(s.Embeddings.BaseURL), err))
		return
	}
	fact := fmt.Sprintf("embeddings by %s at %s: %d numbers in %v; texts of messages, memories and questions are sent there",
		e.Name(), config.MaskAddress(s.Embeddings.BaseURL), len(vectors[0]), time.Since(began).Round(time.Millisecond))
	d.report("search", nil, fact)
	if !d.hasData { // the check of the data has reported why
		return
	}
	err = d.app.withStore(ctx, true, func(db *store.Store) error {
		return db.View(ctx, func(tx *store.Tx) {
			for _, in := range tx.Encoders().All() {
				state := "not all texts have one yet"
				if in.Complete {
					state = "all texts had one"
				}
				d.report("search", nil, fmt.Sprintf("%s with a vector by %s: %s", counted(tx.Encoders().Count(in.ID), "text", "texts"), in.Model, state))
			}
		})
	})
	if err != nil {
		d.report("search", err)
	}
}
