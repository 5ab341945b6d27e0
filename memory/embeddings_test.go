package memory_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/llm/prices"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// meaning is a server whose model knows a few words that mean the same.
var meaning = llmtest.Embeddings{Length: 512, Same: map[string]string{"automobile": "car", "purchased": "bought", "feline": "cat", "pet": "cat"}}

type embeddingRig struct {
	*memory.Embeddings
	server *llmtest.EmbeddingServer
	log    *check.Buffer
	spent  map[string]int // tokens, by conversation
}

// embed gives a store embeddings by a server; set changes their options.
func embed(t testing.TB, s *store.Store, server *llmtest.EmbeddingServer, set func(*memory.EmbeddingOptions)) *embeddingRig {
	t.Helper()
	r := &embeddingRig{server: server, log: new(check.Buffer), spent: map[string]int{}}
	o := memory.EmbeddingOptions{
		Store: s, Embedder: embedderFor(t, server, "test-embedding"), Size: 128, Patience: 20 * time.Second, Every: time.Millisecond,
		Spent: func(conversation string, used llm.Usage) { r.spent[conversation] += used.Prompt },
		Log:   slog.New(slog.NewTextHandler(r.log, nil)),
	}
	if set != nil {
		set(&o)
	}
	r.Embeddings = check.Must(memory.NewEmbeddings(ctx, o))(t)
	return r
}

func embedderFor(t testing.TB, server *llmtest.EmbeddingServer, model string) llm.Embedder {
	return check.Must(openai.NewEmbedder(openai.Options{BaseURL: server.URL, Model: model, MaxRetries: -1}, 128))(t)
}

func vectorsOf(t *testing.T, s *store.Store) (messages, memories string) {
	t.Helper()
	return strings.Join(storetest.Rows(t, s, "SELECT message & 4294967295 FROM message_vectors ORDER BY 1"), " "),
		strings.Join(storetest.Rows(t, s, "SELECT memory FROM memory_vectors ORDER BY 1"), " ")
}

// carTalk has an answer that shares no word with the question, among others.
func carTalk(t *testing.T) *store.Conversation {
	c := newTalk(t)
	deliver(t, c, said(1, "we went to the lake and swam"), said(2, "last spring I bought a red car in Riga"),
		said(3, "the soup was far too salty"), said(4, "my sister plays the oboe in a band"),
		said(5, "the train to the coast was late again"))
	return c
}

func recalled(t *testing.T, c *store.Conversation, question string) (seqs []int64) {
	t.Helper()
	for _, f := range check.Must(memory.Of(c).Recall(ctx, memory.Question{Text: question, Limit: 3}))(t) {
		seqs = append(seqs, f.Seq)
	}
	return seqs
}

func TestRecallByMeaning(t *testing.T) {
	c := carTalk(t)
	const question = "who purchased an automobile"
	check.Len(t, "found by words", recalled(t, c, question), 0)
	e := embed(t, c.Store(), llmtest.ServeEmbeddings(t, meaning), nil)
	check.Len(t, "without vectors", recalled(t, c, question), 0)
	check.NoError(t, e.Fill(ctx))
	messages, _ := vectorsOf(t, c.Store())
	check.Equal(t, "messages with vectors", messages, "1 2 3 4 5")
	check.Equal(t, "found by meaning", recalled(t, c, question)[0], 2)
	check.Equal(t, "one word asks for this word", len(recalled(t, c, "automobile")), 0)
	found := check.Must(memory.Of(c).Recall(ctx, memory.Question{Text: "the oboe in an automobile", Limit: 3}))(t)
	check.Equal(t, "words still come first", found[0].Seq, 4)
	check.That(t, slices.ContainsFunc(found[0].Parts, func(p memory.Part) bool { return p.Name == "words" }), "parts %+v", found[0].Parts)
	check.That(t, e.spent[c.Name()] > 30, "tokens spent: %v", e.spent)
	before := len(e.server.Requests())
	recalled(t, c, question)
	check.Len(t, "a question that was just asked is not sent again", e.server.Requests(), before)
}

func TestMemoriesByMeaning(t *testing.T) {
	c := carTalk(t)
	for i, text := range []string{"Bob has a cat", "Ann sings", "the launch is on Friday", "Zoe moved to Oslo"} {
		keep(t, c, "", text, int64(i+1))
	}
	listed := func() (all []string) {
		found, _, err := memory.Of(c).List(ctx, memory.Filter{Query: "which feline lives with him", Limit: 1})
		check.NoError(t, err)
		for _, m := range found {
			all = append(all, m.Content)
		}
		return all
	}
	check.Len(t, "by words", listed(), 0)
	e := embed(t, c.Store(), llmtest.ServeEmbeddings(t, meaning), nil)
	check.NoError(t, e.Fill(ctx))
	check.EqualAll(t, "by meaning", listed(), []string{"Bob has a cat"})
}

// countingEmbedder counts requests, also those that end before the server has read them.
type countingEmbedder struct {
	llm.Embedder
	requests atomic.Int32
}

func (e *countingEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	e.requests.Add(1)
	return e.Embedder.Embed(ctx, texts)
}

// TestTheServerIsAway: a question waits for it once, and then for a while not at all.
func TestTheServerIsAway(t *testing.T) {
	c := carTalk(t)
	server := llmtest.ServeEmbeddings(t, meaning)
	embedder := &countingEmbedder{Embedder: embedderFor(t, server, "test-embedding")}
	e := embed(t, c.Store(), server, func(o *memory.EmbeddingOptions) {
		o.Patience = 50 * time.Millisecond
		o.Embedder = embedder
	})
	check.NoError(t, e.Fill(ctx))
	server.Fail("hang*")
	embedder.requests.Store(0)
	for i := range 3 {
		check.Equal(t, "found by words", recalled(t, c, fmt.Sprintf("%d red car", i))[0], 2)
	}
	check.Equal(t, "requests, of the first question alone", embedder.requests.Load(), 1)
	check.Equal(t, "log lines", strings.Count(e.log.String(), "embeddings_failed"), 1)
}

func TestFillingGoesOnAfterFailures(t *testing.T) {
	for name, c := range map[string]struct {
		rules llmtest.Embeddings
		fail  []string
		warns int
	}{
		"429":                           {meaning, []string{"429"}, 1},
		"500":                           {meaning, []string{"500", "500"}, 1},
		"an answer with too few":        {meaning, slices.Repeat([]string{"too few"}, 8), 1},
		"a batch that is too large":     {llmtest.Embeddings{MaxTexts: 2}, nil, 0},
		"a text that the server cannot": {llmtest.Embeddings{MaxBytes: 38}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			talk := carTalk(t)
			server := llmtest.ServeEmbeddings(t, c.rules)
			server.Fail(c.fail...)
			e := embed(t, talk.Store(), server, nil)
			ctx, stop := context.WithCancel(ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				e.Run(ctx)
			}()
			done := check.Soon(func() bool {
				messages, _ := vectorsOf(t, talk.Store())
				return messages == "1 2 3 4 5"
			})
			check.That(t, done, "not all messages have vectors")
			stop()
			<-ended
			check.Equal(t, "warnings", strings.Count(e.log.String(), "level=WARN"), c.warns)
		})
	}
}

// TestRunEndsWithItsContext, also while the server hangs.
func TestRunEndsWithItsContext(t *testing.T) {
	c := carTalk(t)
	server := llmtest.ServeEmbeddings(t, meaning)
	server.Fail("hang*")
	e := embed(t, c.Store(), server, nil)
	ctx, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	began := time.Now()
	e.Run(ctx)
	check.That(t, time.Since(began) < 10*time.Second, "it ends after %v", time.Since(began))
	check.Len(t, "messages can still be found", recalled(t, c, "red car in Riga"), 3)
}

func TestTokensOfADay(t *testing.T) {
	c := carTalk(t)
	fills := false
	e := embed(t, c.Store(), llmtest.ServeEmbeddings(t, meaning), func(o *memory.EmbeddingOptions) {
		o.PerDay = 100
		o.Fills = func() bool { return fills }
	})
	check.NoError(t, e.Fill(ctx))
	used := store.Usage{Day: store.Day(time.Now()), Kind: store.ForEmbedding, Model: "m", Requests: 1, Tokens: prices.Tokens{Input: 100}}
	check.NoError(t, c.Turns().AddUsage(ctx, []store.Usage{used})) // by another process
	fills = true
	check.That(t, e.Fill(ctx) != nil, "it makes vectors")
	messages, _ := vectorsOf(t, c.Store())
	check.Equal(t, "messages with vectors", messages, "")
	may := false
	e = embed(t, c.Store(), e.server, func(o *memory.EmbeddingOptions) { o.May = func() bool { return may } })
	check.That(t, e.Fill(ctx) != nil, "it spends more than the budget")
	may = true
	check.NoError(t, e.Fill(ctx))
}

// TestSecretsStayHere: the server gets no keys, neither of messages nor of questions.
func TestSecretsStayHere(t *testing.T) {
	const key = "ghp_" + "012345678901234567890123456789abcdef"
	c := carTalk(t)
	deliver(t, c, said(6, "my token is "+key+" for the car"))
	e := embed(t, c.Store(), llmtest.ServeEmbeddings(t, meaning), nil)
	check.NoError(t, e.Fill(ctx))
	recalled(t, c, "what is "+key+" good for")
	sent := fmt.Sprint(e.server.Requests())
	check.That(t, strings.Contains(sent, "my token is") && strings.Contains(sent, "good for") && !strings.Contains(sent, "0123456789"), "sent %s", sent)
}

// TestVectorsGoWithTheirTexts in the transaction of the change.
func TestVectorsGoWithTheirTexts(t *testing.T) {
	fill := func(t *testing.T) (*store.Conversation, *embeddingRig) {
		c := carTalk(t)
		keep(t, c, "", "the cat is old", 2)
		keep(t, c, "", "the choir sings", 1)
		e := embed(t, c.Store(), llmtest.ServeEmbeddings(t, meaning), nil)
		check.NoError(t, e.Fill(ctx))
		messages, memories := vectorsOf(t, c.Store())
		check.Equal(t, "before", messages+", "+memories, "1 2 3 4 5, 1 2")
		return c, e
	}
	ann := store.Person{Connector: "terminal", ID: storetest.People["Ann"], Name: "Ann"}
	for name, step := range map[string]struct {
		do   func(t *testing.T, c *store.Conversation)
		left string
	}{
		"a message is deleted": {func(t *testing.T, c *store.Conversation) { storetest.Remove(t, c, 2) }, "1 3 4 5, 2"},
		"a message is edited":  {func(t *testing.T, c *store.Conversation) { storetest.Edit(t, c, 3, "the soup was fine") }, "1 2 4 5, 1 2"},
		"a person is forgotten": {func(t *testing.T, c *store.Conversation) {
			check.Must(privacy.In(c.Store()).Erase(ctx, ann, c))(t)
			for {
				if check.Must(privacy.Of(c).EraseSome(ctx, ann.ID))(t).Done {
					return
				}
			}
		}, "1 3 5, 2"},
		"everything is purged": {func(t *testing.T, c *store.Conversation) { check.NoError(t, privacy.Of(c).Purge(ctx)) }, ", "},
		"a person opts out": {func(t *testing.T, c *store.Conversation) {
			check.Must(privacy.Of(c).OptOut(ctx, ann.ID, "Ann", true))(t)
		}, "1 3 5, 2"},
	} {
		t.Run(name, func(t *testing.T) {
			c, e := fill(t)
			step.do(t, c)
			messages, memories := vectorsOf(t, c.Store())
			check.Equal(t, "after", messages+", "+memories, step.left)
			if name == "a person opts out" || name == "a person is forgotten" {
				check.NoError(t, embed(t, c.Store(), e.server, nil).Fill(ctx))
				messages, memories = vectorsOf(t, c.Store())
				check.Equal(t, "and stays so", messages+", "+memories, step.left)
			}
		})
	}
}

// A question of somebody who opted out is not sent.
func TestQuestionsOfThoseWhoOptedOut(t *testing.T) {
	c := carTalk(t)
	ann := said(6, "I keep out of it")
	ann.AuthorID = "u7"
	ann.Author = "Ann"
	deliver(t, c, ann)
	e := embed(t, c.Store(), llmtest.ServeEmbeddings(t, meaning), nil)
	check.NoError(t, e.Fill(ctx))
	check.Must(privacy.Of(c).OptOut(ctx, "u7", "Ann", true))(t)
	for asker, sent := range map[string]int{"Ann": 0, "Bob": 1, "": 1} {
		before := len(e.server.Requests())
		check.Must(memory.Of(c).Recall(ctx, memory.Question{Text: "who purchased an automobile, asks " + asker, Asker: asker, Limit: 3}))(t)
		check.Len(t, "requests for "+asker, e.server.Requests(), before+sent)
	}
}
