package compactor_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
)

// A conversation outgrows its window of 4 000 tokens. There is no model: the extractive summarizer
// makes the summaries.
func Example() {
	ctx := context.Background()
	records := compactor.NewInMemory(nil)
	day := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	var work []func() (finish func()) // slow work that waits for the owner
	c, err := compactor.Open(ctx, compactor.Options{
		Records: records,
		Policy:  compactor.DefaultPolicy,
		Window:  func() int { return 4000 },
		Start:   func(slow func() (finish func())) { work = append(work, slow) },
		Now:     func() time.Time { return day },
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	for seq := int64(1); seq <= 200; seq++ {
		m := chat.Message{Seq: seq, Turn: seq, Role: llm.RoleUser, Author: "Ada", Time: day}
		m.Text = fmt.Sprintf("Stone %d of the wall is %d cm wide, and stands %d m from the gate.", seq, 20+seq%7, seq)
		m.Tokens = chat.TokensOf(m)
		if err := records.Append(m); err != nil {
			panic(err)
		}
		c.History().Append(m)
		c.History().Stored()
		c.Check(ctx)
		for ; len(work) > 0; work = work[1:] {
			finish := work[0]()
			finish()
		}
	}
	head, _, _ := records.Head(ctx)
	fmt.Println("summaries applied:", len(records.Applied()), "shown:", len(head.Stack))
	for _, s := range head.Stack {
		fmt.Printf("#%d to #%d: %d messages\n", s.From, s.To, s.Messages)
	}
	prompt, err := c.Request(ctx)
	fmt.Println("messages in the prompt:", len(prompt.Messages), err)
	// Output:
	// summaries applied: 15 shown: 3
	// #1 to #75: 75 messages
	// #76 to #141: 66 messages
	// #142 to #157: 16 messages
	// messages in the prompt: 44 <nil>
}
