package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cairn/chat"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func texts(messages []chat.Message) []string {
	return storetest.Map(messages, func(m chat.Message) string { return m.Text })
}

// TestKillWhileDeliveriesWait kills processes that rewrite their database and accept messages. Acknowledged messages are stored
// afterwards, once and in order.
func TestKillWhileDeliveriesWait(t *testing.T) {
	storetest.SQLiteOnly(t, "a file for two processes")
	dir, s, _ := scattered(t)
	s.Close()
	acknowledged := 0
	for i := range 3 {
		bot, out := startBot(t, "storing", dir)
		timer := time.AfterFunc(time.Minute, func() { _ = bot.Process.Kill() })
		for n, stored := 0, 1; ; stored++ {
			if _, err := fmt.Fscanln(out, &n); err != nil {
				break // it was killed
			}
			acknowledged = n
			if stored == 3 { // a busy machine may take long to get there
				timer.Reset(time.Duration(i*20) * time.Millisecond)
			}
		}
		timer.Stop()
		_ = bot.Wait()
		s := storetest.OpenStore(t, dir)
		deliver(t, find(t, s, "terminal:waiting"))
		const written = "FROM messages m JOIN conversations c ON c.id = m.conversation WHERE c.name = 'terminal:waiting'"
		stored := number(t, s, "SELECT count(*) "+written)
		// It may be on disk and not acknowledged yet.
		check.Require(t, stored == acknowledged || stored == acknowledged+1, "acknowledged %d messages, got %d", acknowledged, stored)
		acknowledged = stored
		check.Equal(t, "messages out of order", number(t, s, "SELECT count(*) "+written+" AND text <> 'number ' || seq"), 0)
		check.Must(store.Inspect(ctx, store.File(dir)))(t)
		s.Close()
	}
	check.That(t, acknowledged >= 10, "got only %d messages: the test proves nothing", acknowledged)
}

// storeAgainAndAgain rewrites its database and accepts messages until it is killed. It prints the number of each once it is on disk.
func storeAgainAndAgain(dir string) {
	s := must(store.Open(ctx, store.Options{Dir: dir}))
	c := must(s.Conversation(ctx, "terminal:waiting"))
	counts := must(c.Transcript().Counts(ctx))
	go func() {
		for {
			must(0, s.Upkeep().Vacuum(ctx))
		}
	}()
	for n := counts.Messages + 1; ; n++ {
		must(c.Inbox().Deliver(ctx, said(n, fmt.Sprintf("number %d", n))))
		fmt.Println(n)
	}
}

// Writers get the database in the order in which they came. One whose context ends leaves the queue.
func TestWritersWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		defer s.Close()
		c := find(t, s, "terminal:general")
		var all sync.WaitGroup
		rewritten := make(chan struct{})
		all.Go(func() { check.NoError(t, s.Update(ctx, func(*store.Tx) { <-rewritten })) })
		synctest.Wait()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		want := make([]string, 20)
		for i := range want {
			want[i] = fmt.Sprint("message ", i)
			all.Go(func() { check.Must(c.Inbox().Deliver(ctx, said(i, want[i])))(t) })
			synctest.Wait()
			all.Go(func() {
				check.Error(t, check.ErrorOf(c.Inbox().Deliver(short, said(100+i, "too late"))), context.DeadlineExceeded)
			})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		close(rewritten)
		all.Wait()
		check.EqualAll(t, "dequeued", texts(deliver(t, c)), want)
	})
}
