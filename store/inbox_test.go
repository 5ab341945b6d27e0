package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

func TestDeliver(t *testing.T) {
	t.Run("a message without an id is rejected with all beside it, on every way in", func(t *testing.T) {
		batch := []store.Inbound{storetest.Said(1, "a"), {Text: "no id"}}
		for way, in := range map[string]func(c *store.Conversation) error{
			"delivered":  func(c *store.Conversation) error { return check.ErrorOf(c.Inbox().DeliverAll(ctx, batch)) },
			"imported":   func(c *store.Conversation) error { return check.ErrorOf(c.Past().Import(ctx, batch)) },
			"read back":  func(c *store.Conversation) error { return check.ErrorOf(c.Past().Backfill(ctx, batch, nil)) },
			"from a gap": func(c *store.Conversation) error { return check.ErrorOf(c.Past().FillGap(ctx, batch, "m3", true)) },
		} {
			c := storetest.NewConversation(t)
			setGap(t, c, "m0")
			before := storetest.Dump(t, c.Store())
			check.ErrorContains(t, way, in(c), "it has no id")
			check.Equal(t, way+": state", storetest.Dump(t, c.Store()), before)
		}
	})
	t.Run("the same id in another conversation is another message", func(t *testing.T) {
		c := storetest.NewConversation(t)
		other := storetest.Find(t, c.Store(), "terminal:other")
		storetest.Deliver(t, c, storetest.Said(1, "here"))
		if taken := storetest.Deliver(t, other, storetest.Said(1, "there")); len(taken) != 1 || taken[0].Text != "there" || taken[0].Seq != 1 {
			t.Errorf("got %+v", taken)
		}
		page := check.Must(c.Transcript().Page(ctx, 0, 10))(t)
		check.Len(t, "page", page, 1)
		check.Equal(t, "first message", page[0].Text, "here")
	})
	t.Run("seqs do not reach into other conversations", func(t *testing.T) {
		c := storetest.NewConversation(t)
		m := storetest.Asking(1, "secret")
		storetest.Deliver(t, c, m)
		above := storetest.Find(t, c.Store(), "terminal:above")
		storetest.Deliver(t, above, storetest.Said(1, "mine"))
		storetest.Deliver(t, storetest.Find(t, c.Store(), "terminal:top"), m)
		for _, seq := range []int64{0, -1, -1 << 32, -1<<32 + 1, 1, 1<<32 + 1, -1 << 63, 1<<63 - 1} {
			page, err := above.Transcript().Page(ctx, seq, 10)
			if err != nil || seq <= 1 && len(page) != 1 || len(page) > 0 && page[0].Text != "mine" {
				t.Errorf("from %d: %+v, %v", seq, page, err)
			}
			if n, err := above.Turns().Retry(ctx, seq); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("retry of %d: %d, %v", seq, n, err)
			}
		}
	})
}

func TestDeliverHostileTextAndManySenders(t *testing.T) {
	t.Run("hostile text is stored unchanged, if it is valid", func(t *testing.T) {
		c := storetest.NewConversation(t)
		for n, text := range []string{"'; DROP TABLE messages; --", "a\x00b", "\xff\xfe", "", strings.Repeat("a", 1<<17), "\u202e<b>&amp;", "%s ? ?1 :x"} {
			m := storetest.Said(n, text)
			m.Author, m.ReplyTo = text, "x'y"
			m.Attachments = []chat.Attachment{{Kind: "image", Name: text}}
			taken := storetest.Deliver(t, c, m)
			want := strings.ToValidUTF8(text, "\uFFFD")
			check.Len(t, fmt.Sprintf("message %d", n), taken, 1)
			check.Equal(t, fmt.Sprintf("message %d taken[0].Text", n), taken[0].Text, want)
			check.Equal(t, fmt.Sprintf("message %d taken[0].Author", n), taken[0].Author, want[:min(len(want), store.MostOfName)])
		}
		page, err := c.Transcript().Page(ctx, 1, 100)
		check.Require(t, err == nil && len(page) == 7, "%d messages, %v", len(page), err)
		check.That(t, reflect.DeepEqual(page, storetest.Load(t, c).Messages), "transcript and state differ")
	})
	t.Run("many senders at once lose nothing", func(t *testing.T) {
		c := storetest.NewConversation(t)
		var wg sync.WaitGroup
		for sender := range 8 {
			wg.Go(func() {
				for n := range 20 {
					if _, err := c.Inbox().Deliver(ctx, storetest.Said(sender*15+n, "hi")); err != nil { // five of twenty twice
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		check.Equal(t, "dequeued", len(storetest.Deliver(t, c)), 7*15+20)
	})
}

// A message is stored once, and is as much addressed as the strongest of its deliveries: not at all,
// optionally, or by a person.
func TestDeliverIsIdempotent(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		c := storetest.Find(t, s, fmt.Sprintf("terminal:%d", round))
		n := rapid.IntRange(1, 12).Draw(rt, "messages")
		var taken []chat.Message
		strongest := map[string]int{}
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			if rapid.IntRange(0, 9).Draw(rt, "take up") == 0 {
				taken = append(taken, storetest.Deliver(t, c)...)
				continue
			}
			m := storetest.Said(rapid.IntRange(1, n).Draw(rt, "message"), rapid.SampledFrom([]string{"text", "another"}).Draw(rt, "text"))
			strength := rapid.IntRange(0, 2).Draw(rt, "strength")
			m.Addressed, m.Optional = strength > 0, strength == 1
			was, arrived := strongest[m.ID]
			isTaken := slices.ContainsFunc(taken, func(old chat.Message) bool { return old.ID == m.ID })
			r, err := c.Inbox().Deliver(ctx, m)
			check.NoError(rt, err)
			if !isTaken {
				was = max(was, strength)
			}
			strongest[m.ID] = was
			if r.Fresh == arrived || (r.Seq > 0) != isTaken || r.Addressed != (was > 0) {
				rt.Fatalf("%s: %+v, arrived before: %v, taken up: %v, strongest %d", m.ID, r, arrived, isTaken, was)
			}
		}
		taken = append(taken, storetest.Deliver(t, c)...)
		check.Len(rt, "different messages arrived", taken, len(strongest))
		for i, m := range taken {
			if was := strongest[m.ID]; m.Seq != int64(i+1) || m.Addressed != (was > 0) || m.Optional != (was == 1) {
				rt.Fatalf("message %d: %+v, strongest %d", i, m, was)
			}
		}
	})
}

func TestDequeue(t *testing.T) {
	addressed := func(n int) store.Inbound {
		return storetest.Asking(n, "message")
	}
	t.Run("messages before the first addressed one are separate turns, the rest is one turn", func(t *testing.T) {
		c := storetest.NewConversation(t)
		taken := storetest.Deliver(t, c, storetest.Said(1, "a"), storetest.Said(2, "b"), addressed(3), storetest.Said(4, "c"), addressed(5))
		var turns []int64
		for _, m := range taken {
			turns = append(turns, m.Turn)
		}
		check.EqualAll(t, "turns", turns, []int64{1, 2, 3, 3, 3})
		if got := storetest.Load(t, c); got.Open != 3 || got.Next != 6 || !reflect.DeepEqual(got.Messages, taken) {
			t.Errorf("loaded %+v", got)
		}
		turn, ok, err := c.Turns().Unanswered(ctx)
		want := store.Turn{Seq: 3, Attempts: 1, Since: turn.Since, To: []string{"m3", "m5"}}
		if age := time.Since(turn.Since); age < 0 || age > time.Minute {
			t.Errorf("got a dequeue %v ago", age)
		}
		check.That(t, err == nil && ok && reflect.DeepEqual(turn, want), "%+v, %v, %v", turn, ok, err)
	})
	t.Run("messages that waited too long are dequeued unaddressed", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.DeliverOnly(t, c, addressed(1))
		taken, err := c.Inbox().Dequeue(ctx, store.All, 1<<30, time.Now().Add(time.Minute))
		check.Require(t, err == nil && len(taken) == 1 && !taken[0].Addressed, "%+v, %v", taken, err)
		if _, ok, err := c.Turns().Unanswered(ctx); ok || err != nil {
			t.Errorf("got a turn that still waits, %v", err)
		}
	})
	t.Run("a burst stops at its budget, and one message always passes", func(t *testing.T) {
		c := storetest.NewConversation(t)
		long := addressed(1)
		long.Text = strings.Repeat("word ", 1000)
		storetest.DeliverOnly(t, c, long, addressed(2), addressed(3), addressed(4))
		first, err := c.Inbox().Dequeue(ctx, store.All, 10, time.Time{})
		check.Require(t, err == nil && len(first) == 1 && first[0].Tokens > 10, "%+v, %v", first, err)
		second, err := c.Inbox().Dequeue(ctx, store.All, 2*chat.TokensOf(first[0]), time.Time{}) // room for all
		check.Require(t, err == nil && len(second) == 3, "%d taken, %v", len(second), err)
		storetest.DeliverOnly(t, c, addressed(5), addressed(6), addressed(7))
		third, err := c.Inbox().Dequeue(ctx, store.All, 2*second[0].Tokens, time.Time{})
		check.Require(t, err == nil && len(third) == 2 && third[0].Seq == 5, "%+v, %v", third, err)
	})
	t.Run("the stored cost equals the message's cost", func(t *testing.T) {
		for _, m := range storetest.Deliver(t, storetest.NewConversation(t), addressed(1), storetest.Said(2, "日本語")) {
			check.Equal(t, "tokens", m.Tokens, chat.TokensOf(m))
		}
	})
}

func TestImport(t *testing.T) {
	past := []store.Inbound{storetest.Said(1, "a"), storetest.Said(2, "b"), storetest.Said(1, "a"), storetest.Said(3, "c")}
	t.Run("a second import adds only new messages", func(t *testing.T) {
		c := storetest.NewConversation(t)
		added, err := c.Past().Import(ctx, past)
		if err != nil || !slices.Equal(storetest.Seqs(added), []int64{1, 2, 3}) || added[2].Turn != 3 {
			t.Fatalf("%+v, %v", added, err)
		}
		if added, err = c.Past().Import(ctx, append(past, storetest.Said(4, "d"))); err != nil || !slices.Equal(storetest.Seqs(added), []int64{4}) {
			t.Errorf("%+v, %v", added, err)
		}
		if got := storetest.Load(t, c); got.Open != 0 || len(got.Messages) != 4 || !got.Messages[0].Time.Equal(storetest.Day.Add(time.Minute)) {
			t.Errorf("loaded %+v", got)
		}
	})
	t.Run("an import into a conversation in use is rejected, and an imported one can be used", func(t *testing.T) {
		c := storetest.NewConversation(t)
		check.Must(c.Past().Import(ctx, past))(t)
		storetest.DeliverOnly(t, c, storetest.Said(9, "hello"))
		before := storetest.Dump(t, c.Store())
		check.Error(t, check.ErrorOf(c.Past().Import(ctx, past)), store.ErrLive)
		check.Equal(t, "state after a refused import", storetest.Dump(t, c.Store()), before)
		taken := storetest.Deliver(t, c)
		check.Len(t, "dequeued", taken, 1)
		check.Equal(t, "seq", taken[0].Seq, 4)
		check.Error(t, check.ErrorOf(c.Past().Import(ctx, past)), store.ErrLive)
	})
}

// Due work of a conversation is reported for it alone, and only until it is done.
func TestDue(t *testing.T) {
	c := storetest.NewConversation(t)
	other := storetest.Find(t, c.Store(), "terminal:other")
	want := func(what string, is store.Due) {
		t.Helper()
		check.Equal(t, what, check.Must(c.Inbox().Due(ctx))(t), is)
	}
	want("at the start", store.Due{})
	for n, in := range []*store.Conversation{other, c, c, other} {
		m := storetest.Said(n+1, "hello")
		m.Incomplete = n == 2 || n == 3
		check.Must(in.Inbox().Deliver(ctx, m))(t)
	}
	want("with two messages, one of them incomplete", store.Due{Waiting: 2, Last: 3, Incomplete: true})
	check.NoError(t, c.Past().SetGap(ctx, "m1"))
	if _, _, err := c.Compactions().WantSession(ctx); err != nil {
		t.Fatal(err)
	}
	want("with a gap and a wanted session too", store.Due{Waiting: 2, Last: 3, Incomplete: true, Gap: true, Session: true})
	check.NoError(t, c.Past().CloseGap(ctx, "m1"))
	storetest.Deliver(t, c)
	want("with the first taken up", store.Due{Waiting: 1, Last: 3, Incomplete: true, Session: true})
}
