package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"cairn/chat"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// hold delivers a message like the hub, and returns whether it was held.
func hold(s *store.Store, d store.Delivery) (kept bool, err error) {
	kept = true
	err = s.Deliveries().Hold(ctx, d, func() error {
		kept = false
		return privacy.In(s).Apply(ctx, d)
	})
	return kept, err
}

func sent(name string, messages ...store.Inbound) store.Delivery {
	return store.Delivery{Conversation: name, Messages: messages}
}

func texts(messages []chat.Message) []string {
	return storetest.Map(messages, func(m chat.Message) string { return m.Text })
}

func TestHeldDeliveries(t *testing.T) {
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	const name = "terminal:new"
	check.Equal(t, "held without a rewrite", check.Must(hold(s, sent(name, said(1, "first"), said(2, "second"))))(t), false)
	check.NoError(t, s.Rewriting(ctx))
	edited := editedLater(5, "fifth, edited", 1)
	for _, d := range []store.Delivery{
		sent(name, said(2, "second"), said(3, "third")), // the platform repeats the second
		sent(name, withPicture(4, "cat")),
		sent(name, said(5, "fifth"), said(6, "sixth")),
		{Conversation: name, Edited: &edited},
		{Conversation: name, Deleted: []string{said(6, "").ID, said(1, "").ID}},
		sent(name, said(6, "sixth")), // a deleted message is not dequeued again
	} {
		check.Equal(t, fmt.Sprintf("%+v is held", d), check.Must(hold(s, d))(t), true)
	}
	err := s.Deliveries().Hold(ctx, sent(name, store.Inbound{Text: "of nobody"}), nil)
	check.That(t, err != nil, "a message without an id is held")
	check.Equal(t, "permissions", check.Must(os.Stat(filepath.Join(dir, store.HeldName)))(t).Mode().Perm(), 0o600)
	s.Close() // as left by a killed process
	s = storetest.OpenStore(t, dir)
	check.NoError(t, s.Deliveries().Deliver(ctx))
	check.Error(t, check.ErrorOf(os.Stat(filepath.Join(dir, store.HeldName))), fs.ErrNotExist)
	check.Equal(t, "held after the rewrite", check.Must(hold(s, sent(name, said(7, "seventh"))))(t), false)
	taken := deliver(t, find(t, s, name))
	check.EqualAll(t, "dequeued", texts(taken), []string{"second", "third", "look", "fifth, edited", "seventh"})
	check.Equal(t, "stored pictures", number(t, s, "SELECT count(*) FROM files WHERE CAST(data AS TEXT) = 'cat'"), 1)
}

// The start and the upkeep may both find the file: deliveries are applied once. An unreadable one stays.
func TestHeldDeliveriesAreAppliedOnce(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	check.NoError(t, s.Rewriting(ctx))
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("message ", i))
		check.Must(hold(s, sent("terminal:new", said(i, want[i]))))(t)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { check.Error(t, s.Deliveries().Deliver(ctx), nil) })
	}
	all.Wait()
	check.EqualAll(t, "dequeued", texts(deliver(t, find(t, s, "terminal:new"))), want)
	check.NoError(t, s.Rewriting(ctx))
	check.Must(s.HeldRows().Exec("INSERT INTO held (delivery) VALUES (x'00')"))(t)
	for range 2 {
		err := s.Deliveries().Deliver(ctx)
		check.Error(t, err, store.ErrDeliveries)
		check.ErrorContains(t, "error", err, s.HeldPath())
		check.NoError(t, check.ErrorOf(os.Stat(s.HeldPath())))
	}
}

// The database may be locked by a shell, or its disk full: what follows may edit or delete what still waits.
func TestDeliveriesWaitBehindOneThatFailed(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	check.NoError(t, s.Rewriting(ctx))
	failed := errors.New("locked")
	s.Deliveries().Watch(func(context.Context, store.Delivery) error { return failed })
	check.Must(hold(s, sent("terminal:new", said(1, "one"), said(2, "two"))))(t)
	check.Error(t, s.Deliveries().Deliver(ctx), failed)
	check.Equal(t, "held behind it", check.Must(hold(s, sent("terminal:new", said(3, "three"))))(t), true)
	canceled, cancel := context.WithCancel(ctx)
	s.Deliveries().Watch(func(_ context.Context, d store.Delivery) error { cancel(); return privacy.In(s).Apply(ctx, d) })
	check.Error(t, s.Deliveries().Deliver(canceled), context.Canceled) // it was applied, and not removed
	s.Deliveries().Watch(privacy.In(s).Apply)
	check.Must(hold(s, store.Delivery{Conversation: "terminal:new", Deleted: []string{said(1, "").ID, said(3, "").ID}}))(t)
	check.Equal(t, "held afterwards", check.Must(hold(s, sent("terminal:new", said(4, "four"))))(t), false)
	check.NoError(t, s.Deliveries().Deliver(ctx))
	check.EqualAll(t, "dequeued", texts(deliver(t, find(t, s, "terminal:new"))), []string{"two", "four"})
}

// TestKillWithHeldDeliveries kills processes that rewrite their database and accept messages.
// Acknowledged messages are stored afterwards, once and in order.
func TestKillWithHeldDeliveries(t *testing.T) {
	dir, s, _ := scattered(t)
	s.Close()
	acknowledged := 0
	for i := range 3 {
		bot, out := startBot(t, "holding", dir)
		timer := time.AfterFunc(time.Minute, func() { _ = bot.Process.Kill() })
		for n, taken := 0, 1; ; taken++ {
			if _, err := fmt.Fscanln(out, &n); err != nil {
				break // it was killed
			}
			acknowledged = n
			if taken == 3 { // a busy machine may take long to get there
				timer.Reset(time.Duration(i*20) * time.Millisecond)
			}
		}
		timer.Stop()
		_ = bot.Wait()
		s := storetest.OpenStore(t, dir)
		check.NoError(t, s.Deliveries().Deliver(ctx))
		c := find(t, s, "terminal:held")
		var taken []chat.Message
		for more := deliver(t, c); len(more) > 0; more = deliver(t, c) {
			taken = append(taken, more...)
		}
		all := number(t, s, "SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation WHERE c.name = 'terminal:held'")
		// It may be on disk and not acknowledged yet.
		check.Require(t, all == acknowledged || all == acknowledged+1, "acknowledged %d messages, got %d", acknowledged, all)
		acknowledged = all
		sorted := slices.IsSortedFunc(taken, func(a, b chat.Message) int { return a.Time.Compare(b.Time) })
		check.Require(t, sorted, "got order %q", texts(taken))
		check.Must(store.Inspect(ctx, store.File(dir)))(t)
		s.Close()
	}
	check.That(t, acknowledged >= 10, "got only %d messages: the test proves nothing", acknowledged)
}

// holdAgainAndAgain rewrites its database and accepts messages until it is killed. It prints the
// number of each once it is on disk.
func holdAgainAndAgain(dir string) {
	s := must(store.Open(ctx, store.Options{Dir: dir}))
	counts := must(must(s.Conversation(ctx, "terminal:held")).Transcript().Counts(ctx))
	s.Deliveries().Watch(privacy.In(s).Apply)
	go func() {
		for {
			must(0, s.Upkeep().Vacuum(ctx))
		}
	}()
	for n := counts.Messages + 1; ; n++ {
		must(hold(s, sent("terminal:held", said(n, fmt.Sprintf("number %d", n)))))
		fmt.Println(n)
	}
}
