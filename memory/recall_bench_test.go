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
