package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cairn/memory"
	"cairn/store"
)

// ordinaryTalk is the number of messages of one conversation among many.
const ordinaryTalk = 2_000

// pace is the time of a question.
type pace struct {
	Shape string  `json:"shape"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Asked int     `json:"questions"`

	onSQLite float64 // the median there, in milliseconds, for comparison; 0: this is it
}

// measurePace fills a database with conversations of so many messages each, and measures how long
// the questions take in them. It closes the database.
func measurePace(ctx context.Context, s *screen, all []recording, conversations, messages int, by embeddingServer, db *tempStore) (p pace, err error) {
	defer func() { err = errors.Join(err, db.close()) }()
	f := filler{store: db, random: rand.New(rand.NewPCG(1, 1))}
	for _, r := range all {
		for _, u := range r.said {
			f.vocabulary = append(f.vocabulary, strings.Fields(u.Text)...)
		}
	}
	if len(f.vocabulary) == 0 {
		return p, errors.New("the recordings hold no words")
	}
	filled := make([]*store.Conversation, conversations)
	for n := range filled {
		s.progress("conversation %d of %d, with %s messages each", n+1, conversations, thousands(messages))
		filled[n], err = f.fill(ctx, n, messages)
		if err != nil {
			return p, err
		}
	}
	if err := by.invent(ctx, s, db.Store); err != nil {
		return p, err
	}
	p, err = timed(ctx, s, all, filled)
	p.Shape = fmt.Sprintf("conversations: %s, messages in each: %s", thousands(conversations), thousands(messages))
	return p, err
}

// filler fills a database with random messages.
type filler struct {
	store      *tempStore
	vocabulary []string // words with the frequencies of the recordings
	random     *rand.Rand
}

// fill creates a conversation of n messages, in bursts as people chat.
func (f *filler) fill(ctx context.Context, number, n int) (*store.Conversation, error) {
	all := make([]store.Inbound, n)
	when := time.Date(2024, 1, 1, 9, 0, 0, 0, time.UTC)
	for i := range all {
		when = when.Add(time.Minute)
		if f.random.IntN(25) == 0 {
			when = when.Add(20 * time.Hour)
		}
		author := []string{"Ada", "Ben", "Cleo", "Dora"}[f.random.IntN(4)]
		all[i] = store.Inbound{ID: fmt.Sprint(i), AuthorID: author, Author: author, Text: freshWords(f.random, 4+f.random.IntN(36), f.vocabulary), Time: when}
	}
	return f.store.conversation(ctx, fmt.Sprintf("bench:pace/%d", number), all)
}

// timed measures the questions one after the other, in the conversations in turn, every fourth with
// a typo. Each is asked three times and the fastest counts, so that other load on the machine is
// not measured.
func timed(ctx context.Context, s *screen, all []recording, in []*store.Conversation) (pace, error) {
	var took []time.Duration
	for _, r := range all {
		for i, q := range r.asked {
			s.progress("question %d", len(took))
			text := q.Text
			if i%4 == 3 {
				text = misspell(text)
			}
			var thrice []time.Duration
			for range 3 {
				start := time.Now()
				if _, err := memory.Of(in[len(took)%len(in)]).Recall(ctx, memory.Question{Text: text, Limit: 10}); err != nil {
					return pace{}, err
				}
				thrice = append(thrice, time.Since(start))
			}
			took = append(took, slices.Min(thrice))
		}
	}
	if len(took) == 0 {
		return pace{}, errors.New("the recordings hold no questions")
	}
	return pace{P50: quantile(took, 0.5), P99: quantile(took, 0.99), Asked: len(took)}, nil
}
