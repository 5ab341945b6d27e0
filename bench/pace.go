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
)

const (
	ordinaryTalk = 2_000   // messages of a conversation among many
	largeTalk    = 100_000 // messages of a large one
	invented     = 0.05    // share of words nobody used before, as names and numbers are
)

// pace is how long a question takes.
type pace struct {
	Rows  int     `json:"rows"` // messages in the database
	Shape string  `json:"shape"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Asked int     `json:"questions"`
}

// measurePace fills a database with so many messages, asks the questions in it, and
// returns how long they took: in conversations among many, and in a large one.
func measurePace(ctx context.Context, s *screen, all []recording, rows int) (paces []pace, err error) {
	store, end, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	f := filler{store: store, screen: s, rows: rows, vocabulary: vocabularyOf(all), random: rand.New(rand.NewPCG(1, 1))}
	if len(f.vocabulary) == 0 {
		return nil, errors.New("the recordings hold no words")
	}
	var many, large []*memory.Conversation
	for f.done+ordinaryTalk <= rows-largeTalk || f.done+ordinaryTalk <= rows && rows < 2*largeTalk || f.done == 0 {
		c, err := f.fill(ctx, min(ordinaryTalk, rows))
		if err != nil {
			return nil, err
		}
		many = append(many, c)
	}
	if rows >= largeTalk {
		f.rows = f.done + largeTalk
		c, err := f.fill(ctx, largeTalk)
		if err != nil {
			return nil, err
		}
		large = append(large, c)
	}
	for _, part := range []struct {
		shape string
		in    []*memory.Conversation
	}{{fmt.Sprintf("in %s of %s", thousands(len(many)), thousands(min(ordinaryTalk, rows))), many}, {"in one of " + thousands(largeTalk), large}} {
		if len(part.in) == 0 {
			continue
		}
		p, err := timed(ctx, s, all, part.in)
		if err != nil {
			return nil, err
		}
		p.Rows, p.Shape = rows, part.shape
		paces = append(paces, p)
	}
	return paces, nil
}

// filler fills a database with invented talk.
type filler struct {
	store      *memory.Store
	screen     *screen
	rows, done int
	vocabulary []string // each word as often as it was said
	random     *rand.Rand
	made       int // conversations
}

// vocabularyOf is all words of the recordings in their order.
func vocabularyOf(all []recording) (vocabulary []string) {
	for _, r := range all {
		for _, u := range r.said {
			vocabulary = append(vocabulary, strings.Fields(u.Text)...)
		}
	}
	return vocabulary
}

// fill makes a conversation of n messages, in stretches of talk as people have them.
func (f *filler) fill(ctx context.Context, n int) (*memory.Conversation, error) {
	f.made++
	c, err := f.store.Conversation(ctx, fmt.Sprintf("bench:pace/%d", f.made))
	if err != nil {
		return nil, err
	}
	when := time.Date(2024, 1, 1, 9, 0, 0, 0, time.UTC)
	for begun := 0; begun < n; {
		batch := make([]memory.Inbound, min(1000, n-begun))
		for i := range batch {
			if when = when.Add(time.Minute); f.random.IntN(25) == 0 {
				when = when.Add(20 * time.Hour)
			}
			author := []string{"Ada", "Ben", "Cleo", "Dora"}[f.random.IntN(4)]
			batch[i] = memory.Inbound{ID: fmt.Sprint(begun + i), AuthorID: author, Author: author, Text: f.text(), Time: when}
		}
		if _, err := c.Import(ctx, batch); err != nil {
			return nil, err
		}
		begun += len(batch)
		f.done += len(batch)
		f.screen.progress("%s of %s messages are written", thousands(f.done), thousands(f.rows))
	}
	return c, nil
}

// text is a message of as many words as people use.
func (f *filler) text() string {
	var b strings.Builder
	for range 4 + f.random.IntN(36) {
		if f.random.Float64() < invented {
			fmt.Fprintf(&b, "%c%x ", 'g'+rune(f.random.IntN(20)), f.random.IntN(1<<20))
		} else {
			b.WriteString(f.vocabulary[f.random.IntN(len(f.vocabulary))] + " ")
		}
	}
	return b.String()
}

// timed asks the questions one after the other, in the conversations by turns, every
// fourth with a typo, each three times: the fastest counts, so that other work of the
// machine is not measured.
func timed(ctx context.Context, s *screen, all []recording, in []*memory.Conversation) (pace, error) {
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
				if _, err := in[len(took)%len(in)].Recall(ctx, memory.Question{Text: text, Limit: 10}); err != nil {
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
