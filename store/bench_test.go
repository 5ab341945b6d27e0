package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// chatter generates messages like people's: a dozen words, common ones often.
func chatter(n int) []store.Inbound {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.2, 4, 20_000)
	messages := make([]store.Inbound, n)
	for i := range messages {
		var text strings.Builder
		for range 6 + random.IntN(12) {
			fmt.Fprintf(&text, "w%d ", zipf.Uint64())
		}
		messages[i] = storetest.Said(i+1, text.String())
	}
	return messages
}

// old returns a conversation of n messages, all but the newest 100 behind ten rows.
func old(b *testing.B, dir string, n int) *store.Conversation {
	b.Helper()
	c := storetest.Find(b, storetest.OpenStore(b, dir), "terminal:general")
	past := chatter(n)
	for len(past) > 0 {
		batch := past[:min(1000, len(past))]
		past = past[len(batch):]
		check.Must(c.Past().Import(ctx, batch))(b)
	}
	covered := int64(n - 100)
	for i := range int64(10) {
		storetest.ApplyRows(b, c, storetest.StoreSummary(b, c, transcript.Leaf, transcript.Worker, i*covered/10+1, (i+1)*covered/10))
	}
	return c
}

func BenchmarkStoreRows(b *testing.B) {
	b.Run("one by one", func(b *testing.B) {
		c := storetest.Find(b, storetest.OpenStore(b, b.TempDir()), "terminal:general")
		messages := chatter(10_000)
		for i := 0; b.Loop(); i++ {
			m := messages[i%len(messages)]
			m.ID = fmt.Sprint(i)
			check.Len(b, "not dequeued", storetest.Deliver(b, c, m), 1)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("import", func(b *testing.B) {
		c := storetest.Find(b, storetest.OpenStore(b, b.TempDir()), "terminal:general")
		const batch = 500
		messages := chatter(batch)
		for i := 0; b.Loop(); i++ {
			for j := range messages {
				messages[j].ID = fmt.Sprint(i*batch + j)
			}
			check.Must(c.Past().Import(ctx, messages))(b)
		}
		b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "rows/s")
	})
}

// BenchmarkLoad measures a start with 100 000 messages: the file is opened, the state read, the
// file closed.
func BenchmarkLoad100k(b *testing.B) {
	dir := b.TempDir()
	check.NoError(b, old(b, dir, 100_000).Store().Close())
	for b.Loop() {
		s := check.Must(store.Open(ctx, store.Options{Dir: dir}))(b)
		if state := storetest.Load(b, storetest.Find(b, s, "terminal:general")); len(state.Messages) != 100 || len(state.Head.Stack) != 10 {
			b.Fatalf("%d messages, %d rows", len(state.Messages), len(state.Head.Stack))
		}
		check.NoError(b, s.Close())
	}
}

// BenchmarkRecall measures a question in one conversation of that many messages.
func BenchmarkRecall(b *testing.B) {
	for _, size := range []int{10_000, 100_000} {
		c := old(b, b.TempDir(), size)
		for _, query := range []struct{ name, words string }{
			{"rare words", "w9000 w7500 w18000"},
			{"ordinary words", "w200 w350 w900 w4000"},
			{"common words", "w1 w2 w3 w40 w500"},
			{"a typo", "w200 wonderfull w900"},
		} {
			b.Run(fmt.Sprintf("%d/%s", size, query.name), func(b *testing.B) {
				for b.Loop() {
					check.Must(memory.Of(c).Recall(ctx, memory.Question{Text: query.words, Limit: 10}))(b)
				}
			})
		}
	}
}
