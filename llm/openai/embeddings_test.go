package openai_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func embedder(t *testing.T, server *llmtest.EmbeddingServer, dimensions int) *openai.Embedder {
	o := openai.Options{BaseURL: server.URL, Model: "test-embedding", APIKey: "secret", MaxRetries: 1, RetryDelay: time.Millisecond}
	return check.Must(openai.NewEmbedder(o, dimensions))(t)
}

var threeTexts = []string{"the ferry leaves at nine", "a ferry leaves at nine", "Bob likes tea"}

func TestEmbeddings(t *testing.T) {
	for name, c := range map[string]struct {
		rules  llmtest.Embeddings
		fail   string
		length int
	}{
		"the server shortens":               {llmtest.Embeddings{Shortens: true}, "", 16},
		"the server refuses to shorten":     {llmtest.Embeddings{}, "", 48},
		"the server ignores the dimensions": {llmtest.Embeddings{Ignores: true}, "", 48},
		"base64":                            {llmtest.Embeddings{Base64: true, Ignores: true}, "", 48},
		"in another order":                  {llmtest.Embeddings{Ignores: true}, "reversed", 48},
		"a failure passes":                  {llmtest.Embeddings{Ignores: true}, "429", 48},
		"an answer that breaks off":         {llmtest.Embeddings{Ignores: true}, "cut", 48},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.ServeEmbeddings(t, c.rules)
			if c.fail != "" {
				server.Fail(c.fail)
			}
			e := embedder(t, server, 16)
			for range 2 {
				vectors, used, err := e.Embed(t.Context(), threeTexts)
				check.NoError(t, err)
				check.Len(t, "vectors", vectors, 3)
				check.Len(t, "numbers", vectors[0], c.length)
				near, far := angle(vectors[0], vectors[1]), angle(vectors[0], vectors[2])
				check.That(t, near > far+0.2, "the texts about the ferry have a cosine of %v, with the one about tea %v", near, far)
				check.Equal(t, "tokens", used.Prompt, 13)
			}
			check.Len(t, "accepted requests", server.Requests(), 2)
			check.Equal(t, "key", server.Keys()[0], "Bearer secret")
		})
	}
}

func angle(a, b []float32) (cosine float64) {
	var ofA, ofB float64
	for i := range a {
		cosine += float64(a[i] * b[i])
		ofA += float64(a[i] * a[i])
		ofB += float64(b[i] * b[i])
	}
	return cosine / math.Sqrt(ofA*ofB)
}

func TestEmbeddingsThatAreNone(t *testing.T) {
	for fault, c := range map[string]struct {
		kind llm.Kind
		says string
	}{
		"too few":       {llm.KindBadRequest, "2 vectors for 3 texts"},
		"wrong length":  {llm.KindBadRequest, "has 47 numbers"},
		"null":          {llm.KindBadRequest, "a number is missing"},
		"huge":          {llm.KindBadRequest, ""},
		"zero":          {llm.KindBadRequest, "no direction"},
		"twice":         {llm.KindBadRequest, "index 0 is there twice"},
		"500*":          {llm.KindOverloaded, "out of memory"},
		"error in 200*": {llm.KindBadRequest, "loading"},
		"not JSON":      {llm.KindWrongAddress, "html"},
	} {
		server := llmtest.ServeEmbeddings(t, llmtest.Embeddings{Ignores: true})
		server.Fail(fault)
		_, _, err := embedder(t, server, 16).Embed(t.Context(), threeTexts)
		check.Equal(t, fault, llm.KindOf(err), c.kind)
		check.That(t, err != nil && strings.Contains(err.Error(), c.says), "%s: %v", fault, err)
	}
	server := llmtest.ServeEmbeddings(t, llmtest.Embeddings{Ignores: true, MaxTexts: 2, MaxBytes: 40})
	for what, texts := range map[string][]string{"too many texts": threeTexts, "a long text": {strings.Repeat("tea ", 11)}, "an empty text": {""}} {
		_, _, err := embedder(t, server, 16).Embed(t.Context(), texts)
		check.That(t, err != nil && !llm.OfServer(err), "%s: %v", what, err)
	}
}

func TestEmbeddingsEndWithTheirContext(t *testing.T) {
	server := llmtest.ServeEmbeddings(t, llmtest.Embeddings{})
	server.Fail("hang*")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _, err := embedder(t, server, 16).Embed(ctx, threeTexts)
	check.That(t, errors.Is(err, context.DeadlineExceeded) && time.Since(began) < 10*time.Second, "after %v: %v", time.Since(began), err)
}

func TestVectorsOfAnotherModelHaveAnotherSpace(t *testing.T) {
	server := llmtest.ServeEmbeddings(t, llmtest.Embeddings{})
	e := embedder(t, server, 16)
	check.Equal(t, "space", e.Space(), "test-embedding@"+strings.TrimPrefix(server.URL, "http://"))
	check.Equal(t, "name", e.Name(), "test-embedding")
}
