package store_test

import (
	"fmt"
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// BenchmarkTurn measures what the store does for a turn: a message arrives, is dequeued, starts a turn, is answered, and the answer is sent.
// With CAIRN_TEST_POSTGRES=1 it does so on PostgreSQL, and reports how often a turn waits for the server.
func BenchmarkTurn(b *testing.B) {
	c := storetest.NewConversation(b)
	trips := func() int64 { return check.Must(c.Store().Trips())(b) }
	for n := range 20 { // so that what is prepared once is prepared
		turn(b, c, n)
	}
	before := trips()
	n := 20
	for b.Loop() {
		turn(b, c, n)
		n++
	}
	if storetest.OnPostgres {
		b.ReportMetric(float64(trips()-before)/float64(b.N), "trips/op")
	}
}

func turn(b testing.TB, c *store.Conversation, n int) {
	b.Helper()
	m := asking(n, "what is new in Lisbon?")
	check.Must(c.Inbox().Deliver(ctx, m))(b)
	check.Must(c.Inbox().Due(ctx))(b)
	taken := check.Must(c.Inbox().Dequeue(ctx, store.All, 10_000, time.Time{}))(b)
	waits, _, err := c.Turns().Unanswered(ctx)
	check.NoError(b, err)
	check.Must(c.Turns().Retry(ctx, waits.Seq))(b)
	id := fmt.Sprintf("r%d", n)
	check.Must(c.Turns().Finish(ctx, store.Outcome{Turn: waits.Seq, Reply: id, To: waits.To, Pieces: []string{"nothing"}, Messages: []chat.Message{
		{Seq: taken[len(taken)-1].Seq + 1, Turn: waits.Seq, Role: llm.RoleAssistant, ID: id, Text: "nothing", Time: storetest.Day},
	}}))(b)
	for _, piece := range check.Must(c.Outbox().Unsent(ctx))(b) {
		check.NoError(b, c.Outbox().Sending(ctx, piece.Row))
		check.NoError(b, c.Outbox().Sent(ctx, piece.Row, "p"+id))
	}
}
