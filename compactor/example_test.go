package compactor_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/compactor/worker"
	"cairn/llm"
)

// A conversation outgrows its window of 4 000 tokens. There is no model: the extractive summarizer
// makes the summaries.
func Example() {
	c, records := wall(200, nil)
	defer c.Close()
	head, _, _ := records.Head(context.Background())
	folded := 0
	for id := range head.Stack[len(head.Stack)-1].ID {
		if row, _ := records.Row(id); row.State == compactor.RolledUp {
			folded++
		}
	}
	fmt.Println("summaries applied:", folded+len(head.Stack), "shown:", len(head.Stack))
	for _, s := range head.Stack {
		fmt.Printf("#%d to #%d: %d messages\n", s.From, s.To, s.Messages)
	}
	prompt, err := c.Request(context.Background())
	fmt.Println("messages in the prompt:", len(prompt.Messages), err)
	// Output:
	// summaries applied: 15 shown: 3
	// #1 to #74: 74 messages
	// #75 to #138: 64 messages
	// #139 to #154: 16 messages
	// messages in the prompt: 47 <nil>
}

// wall runs a conversation of n messages about the stones of a wall.
func wall(n int64, strategy func(string) worker.Strategy) (*compactor.Compactor, *compactor.InMemory) {
	ctx := context.Background()
	day := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	records := compactor.NewInMemory()
	c, err := compactor.Open(ctx, compactor.Options{
		Records:  records,
		Policy:   compactor.DefaultPolicy,
		Strategy: strategy,
		Window:   func() int { return 4000 },
		Now:      func() time.Time { return day },
		Log:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	for seq := int64(1); seq <= n; seq++ {
		m := chat.Message{Seq: seq, Turn: seq, Role: llm.RoleUser, Author: "Ada", Time: day}
		m.Text = fmt.Sprintf("Stone %d of the wall is %d cm wide, and stands %d m from the gate.", seq, 20+seq%7, seq)
		m.Tokens = chat.TokensOf(m)
		if err := records.Append(m); err != nil {
			panic(err)
		}
		c.Received(m)
		c.Check(ctx)
		for c.Busy() {
			for _, work := range c.Work() {
				c.Done(work.Run())
			}
		}
	}
	return c, records
}

// speakers is a strategy whose summaries only name the speakers.
type speakers struct{}

func (speakers) AsksModel() bool { return false }

func (speakers) Summarize(ctx context.Context, m worker.Material) (summarize.Summary, error) {
	messages, err := m.Messages(ctx)
	var names []string
	for _, one := range messages {
		if !slices.Contains(names, one.Author) {
			names = append(names, one.Author)
		}
	}
	return summarize.Summary{Text: fmt.Sprintf("%d messages of %s.", m.Row.Messages, strings.Join(names, " and "))}, err
}

// A program can use its own strategy.
func Example_strategy() {
	c, records := wall(80, func(string) worker.Strategy { return speakers{} })
	defer c.Close()
	head, _, _ := records.Head(context.Background())
	for _, s := range head.Stack {
		fmt.Println(s.Text)
	}
	// Output:
	// 20 messages of Ada.
}
