package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/memory"
	"cairn/store"
)

// embeddingServer makes vectors of messages and questions; without a URL, search is by words.
type embeddingServer struct {
	url, model string
	size       int
}

func (e *embeddingServer) addTo(b *benchmark) {
	b.Flags().StringVar(&e.url, "embeddings", "", "`URL` of a server of embeddings, up to /v1 (default: search by words)")
	b.Flags().StringVar(&e.model, "model", "", "`NAME` of its model")
	b.integer(&e.size, "dimensions", 128, 8, 4096, "`N` numbers of a stored vector")
	b.checks = append(b.checks, func() error {
		if (e.url == "") != (e.model == "") {
			return wrongUse(b.Command, errors.New("--embeddings and --model belong together"))
		}
		return nil
	})
}

// patience is how long a question may take: what is measured is search, not the server.
const patience = time.Minute

// fill makes the vectors of everything in a store, whose searches use them from then on.
func (e embeddingServer) fill(ctx context.Context, s *screen, db *store.Store) error {
	if e.url == "" {
		return nil
	}
	embedder, err := openai.NewEmbedder(openai.Options{BaseURL: e.url, Model: e.model, APIKey: os.Getenv("OPENAI_API_KEY")}, e.size)
	if err != nil {
		return err
	}
	return e.use(ctx, s, db, embedder)
}

func (e embeddingServer) use(ctx context.Context, s *screen, db *store.Store, embedder llm.Embedder) error {
	counted := &countedEmbedder{Embedder: embedder, screen: s}
	made, err := memory.NewEmbeddings(ctx, memory.EmbeddingOptions{
		Store: db, Embedder: counted, Size: e.size, Patience: patience, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	return made.Fill(ctx)
}

// countedEmbedder shows the progress.
type countedEmbedder struct {
	llm.Embedder
	screen *screen
	texts  atomic.Int64
}

func (c *countedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	c.screen.progress("%s vectors", thousands(int(c.texts.Add(int64(len(texts))))))
	return c.Embedder.Embed(ctx, texts)
}

// invent is fill with vectors that mean nothing, and take no time: to measure how fast search compares them.
func (e embeddingServer) invent(ctx context.Context, s *screen, db *store.Store) error {
	if e.url == "" {
		return nil
	}
	return e.use(ctx, s, db, inventor{e.size})
}

// inventor is an llm.Embedder.
type inventor struct{ size int }

func (inventor) Name() string  { return "invented" }
func (inventor) Space() string { return "invented" }

func (i inventor) Embed(_ context.Context, texts []string) (all [][]float32, _ llm.Usage, _ error) {
	for _, text := range texts {
		sum := fnv.New64a()
		fmt.Fprint(sum, text)
		random := rand.New(rand.NewPCG(sum.Sum64(), 0))
		v := make([]float32, i.size)
		for n := range v {
			v[n] = float32(random.NormFloat64())
		}
		all = append(all, v)
	}
	return all, llm.Usage{}, nil
}
