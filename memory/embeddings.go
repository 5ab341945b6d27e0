// Search by meaning: the vector of a question, which an embedding server makes, and how near those of messages and memories are.

package memory

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/internal/observe"
	"cairn/internal/secrets"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/memory/search"
	"cairn/memory/vector"
	"cairn/store"
)

// EmbeddingOptions say which server makes vectors, and how much it may cost.
type EmbeddingOptions struct {
	Store    *store.Store
	Embedder llm.Embedder
	// Other returns the embedder for an earlier model of the same server, by its space; nil: there is none. It answers questions until
	// every text has a vector of the new model.
	Other    func(space string) llm.Embedder
	Size     int                                       // numbers of a stored vector, at most
	PerDay   int64                                     // tokens that messages and memories may use on a day; 0: no limit
	Fills    func() bool                               // whether this process makes the vectors; nil: it does
	May      func() bool                               // whether money may be spent; nil: it may
	Spent    func(conversation string, used llm.Usage) // called after each request; nil: not called
	Asked    func(byMeaning bool)                      // called for each question, with whether it has a vector; nil: not called
	Patience time.Duration                             // a question waits that long for its vector; 0: 300 ms
	Every    time.Duration                             // between two looks for new texts; 0: 15 s
	Log      *slog.Logger                              // nil: silent
}

// Embeddings make vectors: of questions, when they are asked, and of messages and memories, in the background, see Run.
type Embeddings struct {
	o      EmbeddingOptions
	failed observe.Incident // of questions
	cache  vectorCache

	mu       sync.Mutex // guards the fields below
	encoders []store.Encoder
	resume   time.Time // before then no question is sent to the server, because the last one failed
	recent   []asked   // the last questions, oldest first
	day      string    // for which used counts
	used     int64     // tokens, also of processes that have made vectors before this one

	filling // the state of Run, which alone reads and writes it
}

// asked is a question with its vector.
type asked struct {
	text   [sha256.Size]byte // its hash: a copy would outlive a deletion
	space  string
	vector []float32
}

const (
	questionRest = 30 * time.Second // after a failure
	textTokens   = 400              // of a text that is sent: small models read 512
	recentKept   = 8                // a turn asks for messages and memories with the same question
	examined     = 100_000          // vectors that a question is compared with, the newest
)

// NewEmbeddings returns embeddings which the searches of the store use from now on.
func NewEmbeddings(ctx context.Context, o EmbeddingOptions) (*Embeddings, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Every <= 0 {
		o.Every = 15 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 300 * time.Millisecond
	}
	e := &Embeddings{o: o}
	if err := e.reload(ctx); err != nil {
		return nil, err
	}
	o.Store.Embeddings.Store(e)
	return e, nil
}

// reload reads the encoders.
func (e *Embeddings) reload(ctx context.Context) error {
	var all []store.Encoder
	err := e.o.Store.View(ctx, func(tx *store.Tx) { all = tx.Encoders().All() })
	if err != nil {
		return store.Fail("read the encoders", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.encoders = all
	return nil
}

// sendable returns what the server gets of a text: without keys and passwords, and without the middle of a long one.
func sendable(text string) string {
	return strings.TrimSpace(tokens.Clip(secrets.Mask(text), textTokens))
}

// question returns the vector of a question that is asked in a conversation, and the number of its encoder; 0: there is none.
func (e *Embeddings) question(ctx context.Context, c *store.Conversation, text string) (encoder int64, v []byte) {
	encoder, v = e.vectorOf(ctx, c, sendable(text))
	if e.o.Asked != nil {
		e.o.Asked(v != nil)
	}
	return encoder, v
}

func (e *Embeddings) vectorOf(ctx context.Context, c *store.Conversation, text string) (int64, []byte) {
	in, embedder := e.current()
	if embedder == nil || text == "" {
		return 0, nil
	}
	raw := e.known(text, in.Model)
	if raw == nil {
		raw = e.ask(ctx, c, embedder, text)
	}
	if len(raw) != in.Length {
		return 0, nil
	}
	if in.Projection == nil {
		return in.ID, vector.Quantize(raw)
	}
	p := vector.Decode(in.Projection)
	if p == nil {
		return 0, nil
	}
	return in.ID, vector.Quantize(p.Apply(raw))
}

// current returns the encoder whose vectors questions are compared with, and its embedder; nil: there is none, or the server has failed
// lately.
func (e *Embeddings) current() (store.Encoder, llm.Embedder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Now().Before(e.resume) {
		return store.Encoder{}, nil
	}
	for _, in := range e.encoders {
		if in.Model == e.o.Embedder.Space() {
			return in, e.o.Embedder
		}
		if e.o.Other == nil || !in.Complete {
			continue
		}
		if other := e.o.Other(in.Model); other != nil {
			return in, other
		}
	}
	return store.Encoder{}, nil
}

func (e *Embeddings) known(text, space string) []float32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.IndexFunc(e.recent, func(a asked) bool { return a.text == sha256.Sum256([]byte(text)) && a.space == space }); i >= 0 {
		return e.recent[i].vector
	}
	return nil
}

// ask returns the vector of a question; nil if the server does not answer in time: then it gets no other question for a while.
func (e *Embeddings) ask(ctx context.Context, c *store.Conversation, embedder llm.Embedder, text string) []float32 {
	patient, cancel := context.WithTimeout(ctx, e.o.Patience)
	defer cancel()
	vectors, used, err := embedder.Embed(patient, []string{text})
	e.count(c.Name(), used, text)
	if err != nil {
		if ctx.Err() == nil {
			e.o.Log.Log(ctx, e.failed.Begin(), "embeddings_failed", "of", "questions", "effect", "search is by words", "error", err)
			e.mu.Lock()
			e.resume = time.Now().Add(questionRest)
			e.mu.Unlock()
		}
		return nil
	}
	e.noteSuccess(&e.failed, "questions")
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recent = append(e.recent[max(len(e.recent)-recentKept+1, 0):], asked{sha256.Sum256([]byte(text)), embedder.Space(), vectors[0]})
	return vectors[0]
}

// noteSuccess records that the server has made vectors of questions, or of texts.
func (e *Embeddings) noteSuccess(after *observe.Incident, of string) {
	if after.End() {
		e.o.Log.Info("embeddings_recovered", "of", of)
	}
}

// count records what a request has cost; servers that count nothing are estimated.
func (e *Embeddings) count(conversation string, used llm.Usage, texts ...string) {
	counted := int64(used.Prompt)
	if counted == 0 {
		counted = int64(tokens.Estimate(strings.Join(texts, "\n")))
	}
	e.mu.Lock()
	if today := store.Day(time.Now()); e.day != today {
		e.day = today
		e.used = 0
	}
	e.used += counted
	e.mu.Unlock()
	if e.o.Spent != nil && used.Prompt > 0 {
		e.o.Spent(conversation, used)
	}
}

// encoded is a question with its vector; without an encoder it has none.
type encoded struct {
	by      *Embeddings
	encoder int64
	vector  []byte
	epoch   int // of the cache, before the transaction of the search
}

// encode returns the vector of a question, if the store has embeddings that make one in time. The question of an asker with the name of
// somebody who opted out of memories has none.
func encode(ctx context.Context, c *store.Conversation, query *search.Query, question, asker string) (q encoded) {
	q.by, _ = c.Store().Embeddings.Load().(*Embeddings)
	if q.by == nil || !query.HasMeaning() {
		return q
	}
	hasName := func(p store.Person) bool { return asker != "" && words.Fold(p.Name) == words.Fold(asker) }
	isOut, err := store.View(ctx, c, "look for an opt-out", func(tx *store.Tx) bool { return slices.ContainsFunc(c.People(tx).NamesOut(), hasName) })
	if err == nil && !isOut {
		q.encoder, q.vector = q.by.question(ctx, c, question)
		q.epoch = q.by.cache.now()
	}
	return q
}

// messages returns the meaning of a conversation's messages before a seq; nil without a vector.
func (q encoded) messages(c *store.Conversation, of store.MessageVectors, before int64) *search.Meaning {
	if q.vector == nil {
		return nil
	}
	return q.by.cache.read(runKey{c.ID(), q.encoder}, of, q.epoch).compare(q.vector, before)
}

// memories returns the meaning of the memories that a filter chooses; nil without a vector.
func (q encoded) memories(in store.ScopedMemories, filter store.MemoryFilter) *search.Meaning {
	if q.vector == nil {
		return nil
	}
	var documents []int64
	var cosines []float64
	in.EachVector(q.encoder, filter, examined, func(id int64, v []byte) {
		documents = append(documents, id)
		cosines = append(cosines, vector.Cosine(q.vector, v))
	})
	slices.Reverse(documents) // they come newest first
	slices.Reverse(cosines)
	return search.NewMeaning(documents, cosines, false)
}
