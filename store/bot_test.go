package store_test

import (
	"fmt"
	"os"
	"time"

	"cairn/chat"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/store"
)

// busyBot dequeues and answers messages until it is killed, and prints the number of each that it
// may acknowledge.
func busyBot(dir string) {
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	s, err := store.Open(ctx, store.Options{Dir: dir})
	check(err)
	c, err := s.Conversation(ctx, "terminal:general")
	check(err)
	for n := 1; ; n++ {
		receipt, err := c.Inbox().Deliver(ctx, storetest.Asking(n, fmt.Sprintf("message number %d", n)))
		check(err)
		fmt.Println(n)
		if receipt.Seq > 0 {
			continue // from an earlier process
		}
		taken, err := c.Inbox().Dequeue(ctx, store.All, 100, time.Time{})
		check(err)
		if turn, ok, err := c.Turns().Unanswered(ctx); err != nil || ok && len(taken) > 0 {
			check(err)
			check(c.Turns().Finish(ctx, store.Outcome{
				Turn: turn.Seq, Reply: fmt.Sprintf("r%d", turn.Seq), To: turn.To, Pieces: []string{"yes"},
				Messages: []chat.Message{{Seq: taken[len(taken)-1].Seq + 1, Turn: turn.Seq, Role: llm.RoleAssistant, Text: "yes", Time: storetest.Day}},
			}))
		}
	}
}
