package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// TestVectorsAreShortened: the server's are as long as it makes them, until there are enough to know which numbers matter.
func TestVectorsAreShortened(t *testing.T) {
	check.SkipUnderRace(t)
	c := newTalk(t)
	var past []store.Inbound
	for n := range 2100 {
		past = append(past, said(n+1, fmt.Sprintf("entry %d of %d about item %d", n, n%7, n%50)))
	}
	past[77].Text = "last spring I bought a red car in Riga"
	check.Must(c.Past().Import(ctx, past[:1000]))(t)
	e := embed(t, c.Store(), llmtest.ServeEmbeddings(t, llmtest.Embeddings{Length: 96, Same: meaning.Same}), func(o *memory.EmbeddingOptions) { o.Size = 16 })
	check.NoError(t, e.Fill(ctx))
	lengths := func() string {
		return strings.Join(storetest.Rows(t, c.Store(), "SELECT DISTINCT length(vector) FROM message_vectors ORDER BY 1"), " ")
	}
	check.Equal(t, "at first", lengths(), "96")
	check.Equal(t, "found at first", recalled(t, c, "who purchased an automobile")[0], 78)
	check.Must(c.Past().Import(ctx, past[1000:]))(t)
	check.NoError(t, e.Fill(ctx))
	check.Equal(t, "then", lengths(), "16")
	messages, _ := vectorsOf(t, c.Store())
	check.Len(t, "messages with vectors", strings.Fields(messages), 2100)
	check.Equal(t, "found then", recalled(t, c, "who bought that automobile")[0], 78)
	check.Must(c.Past().Import(ctx, []store.Inbound{said(2101, "a feline sleeps on the sofa")}))(t)
	check.NoError(t, e.Fill(ctx))
	check.Equal(t, "new ones", lengths(), "16")
	again := embed(t, c.Store(), e.server, func(o *memory.EmbeddingOptions) { o.Size = 16 })
	check.Equal(t, "found after a restart", recalled(t, c, "where does the cat sleep")[0], 2101)
	check.NoError(t, again.Fill(ctx))
}

// TestAnotherModelTakesOver when it has made all vectors; until then questions are sent to the old one, if it is on the same server.
func TestAnotherModelTakesOver(t *testing.T) {
	c := carTalk(t)
	server := llmtest.ServeEmbeddings(t, meaning)
	check.NoError(t, embed(t, c.Store(), server, nil).Fill(ctx))
	server.Change(llmtest.Embeddings{Length: 64, Model: "other", Same: meaning.Same})
	asked := ""
	next := func(o *memory.EmbeddingOptions) {
		o.Embedder = embedderFor(t, server, "other")
		o.Other = func(space string) llm.Embedder {
			asked = space
			return embedderFor(t, server, "test-embedding")
		}
	}
	e := embed(t, c.Store(), server, next)
	check.Len(t, "while the server does not have the old model any more", recalled(t, c, "who purchased an automobile"), 0)
	check.HasPrefix(t, "the old model", asked, "test-embedding@")
	check.NoError(t, e.Fill(ctx))
	check.EqualAll(t, "lengths", storetest.Rows(t, c.Store(), "SELECT DISTINCT length(vector) FROM message_vectors"), []string{"64"})
	check.EqualAll(t, "models", storetest.Rows(t, c.Store(), "SELECT substr(model, 1, 6) FROM encoders"), []string{"other@"})
	embed(t, c.Store(), server, next)
	check.Equal(t, "found then", recalled(t, c, "who purchased an automobile")[0], 2)
}

// TestALongerVectorIsAnotherModel, behind the same name.
func TestALongerVectorIsAnotherModel(t *testing.T) {
	c := carTalk(t)
	server := llmtest.ServeEmbeddings(t, meaning)
	e := embed(t, c.Store(), server, nil)
	check.NoError(t, e.Fill(ctx))
	server.Change(llmtest.Embeddings{Length: 64, Same: meaning.Same})
	deliver(t, c, said(6, "a feline sleeps on the sofa"))
	check.NoError(t, e.Fill(ctx))
	check.NoError(t, e.Fill(ctx)) // all of them
	check.EqualAll(t, "lengths", storetest.Rows(t, c.Store(), "SELECT DISTINCT length(vector) FROM message_vectors"), []string{"64"})
	messages, _ := vectorsOf(t, c.Store())
	check.Equal(t, "messages with vectors", messages, "1 2 3 4 5 6")
	check.Equal(t, "found", recalled(t, c, "where does a cat sleep")[0], 6)
}

// TestATextThatChangesMeanwhile gets no vector of its old words.
func TestATextThatChangesMeanwhile(t *testing.T) {
	c := carTalk(t)
	server := llmtest.ServeEmbeddings(t, meaning)
	e := embed(t, c.Store(), server, func(o *memory.EmbeddingOptions) {
		o.Spent = func(string, llm.Usage) { // the server has answered, and nothing is stored yet
			if messages, _ := vectorsOf(t, c.Store()); messages == "" && len(server.Requests()) == 1 {
				storetest.Edit(t, c, 2, "last spring I sold a horse")
				storetest.Remove(t, c, 4)
			}
		}
	})
	check.NoError(t, e.Fill(ctx))
	messages, _ := vectorsOf(t, c.Store())
	check.Equal(t, "messages with vectors", messages, "1 3 5")
	check.NoError(t, embed(t, c.Store(), server, nil).Fill(ctx))
	messages, _ = vectorsOf(t, c.Store())
	check.Equal(t, "after the next look at everything", messages, "1 2 3 5")
}

// TestQuestionsSeeChanges although the vectors that they are compared with stay in memory.
func TestQuestionsSeeChanges(t *testing.T) {
	c := carTalk(t)
	e := embed(t, c.Store(), llmtest.ServeEmbeddings(t, meaning), nil)
	first := func(question string) int64 {
		check.NoError(t, e.Fill(ctx))
		if found := recalled(t, c, question); len(found) > 0 {
			return found[0]
		}
		return 0
	}
	check.Equal(t, "at first", first("who purchased an automobile"), 2)
	deliver(t, c, said(6, "a feline sleeps on the sofa"))
	check.Equal(t, "a new message", first("where is the cat sleeping"), 6)
	check.Equal(t, "an earlier one", first("who purchased an automobile"), 2)
	storetest.Remove(t, c, 2)
	check.That(t, first("who purchased an automobile") != 2, "a deleted message is found")
	storetest.Edit(t, c, 6, "nothing of note")
	check.That(t, first("where is the cat sleeping") != 6, "an edited message is found by its old words")
	found := check.Must(memory.Of(c).Recall(ctx, memory.Question{Text: "where is the cat sleeping", Limit: 9, Before: 3}))(t)
	check.That(t, !slices.ContainsFunc(found, func(f memory.Found) bool { return f.Seq >= 3 }), "found after the question: %+v", found)
}
