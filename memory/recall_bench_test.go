package memory_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// searchable is a conversation of n messages and n/10 memories in words of which few are frequent.
func searchable(b *testing.B, n int) *store.Conversation {
	b.Helper()
	dice := rand.New(rand.NewPCG(1, 1))
	sentence := func() string {
		var all []string
		for range 12 {
			all = append(all, fmt.Sprintf("w%dx", int(dice.ExpFloat64()*200)))
		}
		return strings.Join(all, " ")
	}
	past := make([]store.Inbound, n)
	for i := range past {
		past[i] = said(i+1, sentence())
	}
	c := newTalk(b)
	check.Must(c.Past().Import(ctx, past))(b)
	for range n / 10 {
		storetest.Keep(b, c, "Ann", sentence())
	}
	return c
}

// BenchmarkMeaning searches messages and memories whose vectors have 128 numbers.
func BenchmarkMeaning(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		c := newTalk(b)
		past := make([]store.Inbound, n)
		for i := range past {
			past[i] = said(i+1, fmt.Sprintf("w%dx w%dx w%dx", i%997, i%89, i%7))
		}
		check.Must(c.Past().Import(ctx, past))(b)
		server := llmtest.ServeEmbeddings(b, llmtest.Embeddings{Length: 128})
		check.NoError(b, embed(b, c.Store(), server, nil).Fill(ctx))
		memories := fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO memories (id, conversation, kind, content, folded, importance, speaker, about, made_by, said_at, saved_at)
			SELECT i, %d, 'fact', 'w' || i %% 997 || 'x', i, 0.5, 'Ann', 'Ann', 'person', i, i FROM n`, n, c.ID())
		storetest.Run(b, c.Store(), memories)
		storetest.Run(b, c.Store(), "INSERT INTO memory_vectors (memory, encoder, vector) SELECT id, 1, randomblob(128) FROM memories")
		b.Run(fmt.Sprint(n, " messages"), func(b *testing.B) {
			for b.Loop() {
				recallAll(b, c, memory.Question{Text: "w1x w2x", Limit: 10})
			}
		})
		b.Run(fmt.Sprint(n, " memories"), func(b *testing.B) {
			for b.Loop() {
				searched(b, c, "w1x w2x", 10)
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	c := searchable(b, 5000)
	question := func(i int) string { return fmt.Sprintf("w%dx w%dx w%dx", i%50, 40+i%150, 200+i%300) }
	b.Run("messages", func(b *testing.B) {
		for i := range b.N {
			recallAll(b, c, memory.Question{Text: question(i), Limit: 10})
		}
	})
	middle := storetest.Day.Add(2500 * time.Minute)
	for _, q := range []memory.Question{{By: "Ann"}, {Order: "newest"}, {Since: middle}, {Until: middle}, {By: "Ann", Until: middle}} {
		name := fmt.Sprintf("by %q, order %q, since %v, until %v", q.By, q.Order, !q.Since.IsZero(), !q.Until.IsZero())
		q.Limit = 10
		b.Run("messages "+name, func(b *testing.B) {
			for i := range b.N {
				q.Text = question(i)
				recallAll(b, c, q)
			}
		})
		b.Run("listed "+name, func(b *testing.B) {
			q.Text = ""
			for range b.N {
				recallAll(b, c, q)
			}
		})
	}
	b.Run("memories", func(b *testing.B) {
		for i := range b.N {
			searched(b, c, question(i), 10)
		}
	})
}
