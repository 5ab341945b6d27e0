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

const (
	ordinaryTalk = 2_000   // messages of a large one
	largeTalk    = 100_000 // messages of a large one
)

// pace is the time of a question.
type pace struct {
	Rows  int     `json:"rows"` // messages in the database
	Shape string  `json:"shape"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Asked int     `json:"questions"`
}

// measurePace fills a database with rows messages and measures how long the questions take: in
// conversations among many, and in a large one.
func measurePace(ctx context.Context, s *screen, all []recording, rows int) (paces []pace, err error) {
	db, err := openStore(ctx, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	f := filler{store: db.Store, random: rand.New(rand.NewPCG(1, 1))}
	for _, r := range all {
		for _, u := range r.said {
			f.vocabulary = append(f.vocabulary, strings.Fields(u.Text)...)
		}
	}
	if len(f.vocabulary) == 0 {
		return nil, errors.New("the recordings hold no words")
	}
	ordinary := min(ordinaryTalk, rows)
	type shape struct{ conversations, messages int }
	shapes := []shape{{rows / ordinary, ordinary}}
	if rows >= largeTalk {
		shapes = append(shapes, shape{1, largeTalk})
		if rows >= 2*largeTalk { // the large one is one of them
			shapes[0].conversations -= largeTalk / ordinary
		}
	}
	filled := make([][]*store.Conversation, len(shapes))
	for i, shape := range shapes {
		for n := range shape.conversations {
			s.progress("conversation %d of %d, with %s messages each", n+1, shape.conversations, thousands(shape.messages))
			c, err := f.fill(ctx, shape.messages)
			if err != nil {
				return nil, err
			}
			filled[i] = append(filled[i], c)
		}
	}
	for i, shape := range shapes {
		p, err := timed(ctx, s, all, filled[i])
		if err != nil {
			return nil, err
		}
		p.Rows, p.Shape = rows, fmt.Sprintf("in %s of %s", thousands(shape.conversations), thousands(shape.messages))
		if shape.messages == largeTalk {
			p.Shape = "in one of " + thousands(largeTalk)
		}
		paces = append(paces, p)
	}
	return paces, nil
}

// filler fills a database with random messages.
type filler struct {
	store      *store.Store
	vocabulary []string // words with the frequencies of the recordings
	random     *rand.Rand
	made       int // conversations so far
}

// fill creates a conversation of n messages, in bursts as people chat.
func (f *filler) fill(ctx context.Context, n int) (*store.Conversation, error) {
	f.made++
	c, err := f.store.Conversation(ctx, fmt.Sprintf("bench:pace/%d", f.made))
	if err != nil {
		return nil, err
	}
	all := make([]store.Inbound, n)
	when := time.Date(2024, 1, 1, 9, 0, 0, 0, time.UTC)
	for i := range all {
		if when = when.Add(time.Minute); f.random.IntN(25) == 0 {
			when = when.Add(20 * time.Hour)
		}
		author := []string{"Ada", "Ben", "Cleo", "Dora"}[f.random.IntN(4)]
		all[i] = store.Inbound{ID: fmt.Sprint(i), AuthorID: author, Author: author, Text: freshWords(f.random, 4+f.random.IntN(36), f.vocabulary), Time: when}
	}
	for batch := range slices.Chunk(all, 1000) {
		if _, err := c.Past().Import(ctx, batch); err != nil {
			return nil, err
		}
	}
	return c, nil
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
