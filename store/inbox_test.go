package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestDeliver(t *testing.T) {
	c := newTalk(t)
	above := find(t, c.Store(), "terminal:above")
	setGap(t, c, "m0")
	before := dump(t, c.Store())
	batch := []store.Inbound{said(1, "a"), {Text: "no id"}}
	for way, err := range map[string]error{
		"delivered":  check.ErrorOf(c.Inbox().Deliver(ctx, batch...)),
		"imported":   check.ErrorOf(c.Past().Import(ctx, batch)),
		"read back":  c.Past().Backfill(ctx, batch),
		"from a gap": check.ErrorOf(c.Past().FillGap(ctx, batch, "m3", true)),
	} {
		check.ErrorContains(t, way, err, "it has no id")
	}
	check.Equal(t, "state after messages without an id", dump(t, c.Store()), before)
	// Ids and seqs do not reach into other conversations.
	check.NoError(t, c.Past().CloseGap(ctx, "m0"))
	deliver(t, c, asking(1, "secret"))
	deliver(t, above, said(1, "mine")) // the same id is another message
	deliver(t, find(t, c.Store(), "terminal:top"), asking(1, "secret"))
	for _, seq := range []int64{0, -1, -1 << 32, -1<<32 + 1, 1, 1<<32 + 1, -1 << 63, 1<<63 - 1} {
		page := check.Must(above.Transcript().Page(ctx, seq, 10))(t)
		check.EqualAll(t, fmt.Sprint("from ", seq), texts(page), []string{"mine"}[:map[bool]int{true: 1}[seq <= 1]])
		check.Error(t, check.ErrorOf(above.Turns().Retry(ctx, seq)), store.ErrNotFound)
	}
	t.Run("hostile text is stored unchanged, if it is valid and has no NUL, and its cost is the message's", func(t *testing.T) {
		c := newTalk(t)
		hostile := []string{"'; DROP TABLE messages; --", "a\x00b", "\xff\xfe", "", strings.Repeat("a", 1<<17), "\u202e<b>&amp;", "%s ? ?1 :x", "日本語"}
		for n, text := range hostile {
			m := said(n, text)
			m.Author = text
			m.ReplyTo = "x'y"
			m.Attachments = []chat.Attachment{{Kind: "image", Name: text}}
			taken := deliver(t, c, m)
			want := strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
			check.Len(t, fmt.Sprintf("message %d", n), taken, 1)
			check.Equal(t, "text", taken[0].Text, want)
			check.Equal(t, "author", taken[0].Author, want[:min(len(want), store.MostOfName)])
			check.Equal(t, "tokens", taken[0].Tokens, chat.TokensOf(taken[0]))
		}
		page := check.Must(c.Transcript().Page(ctx, 1, 100))(t)
		check.That(t, len(page) == len(hostile) && reflect.DeepEqual(page, load(t, c).Messages), "transcript and state differ")
	})
	t.Run("many senders at once lose nothing", func(t *testing.T) {
		c := newTalk(t)
		var wg sync.WaitGroup
		for sender := range 8 {
			wg.Go(func() {
				for n := range 20 { // five of twenty twice
					check.Error(t, check.ErrorOf(c.Inbox().Deliver(ctx, said(sender*15+n, "hi"))), nil)
				}
			})
		}
		wg.Wait()
		check.Equal(t, "dequeued", len(deliver(t, c)), 7*15+20)
	})
}

// A message is stored once, and is as much addressed as the strongest of its deliveries: not at all, optionally, or by a person.
func TestDeliverIsIdempotent(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		c := find(t, s, fmt.Sprintf("terminal:%d", round))
		n := rapid.IntRange(1, 12).Draw(rt, "messages")
		var taken []chat.Message
		strongest := map[string]int{}
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			if rapid.IntRange(0, 9).Draw(rt, "take up") == 0 {
				taken = append(taken, deliver(t, c)...)
				continue
			}
			m := said(rapid.IntRange(1, n).Draw(rt, "message"), rapid.SampledFrom([]string{"text", "another"}).Draw(rt, "text"))
			strength := rapid.IntRange(0, 2).Draw(rt, "strength")
			m.Addressed = strength > 0
			m.Optional = strength == 1
			was, arrived := strongest[m.ID]
			isTaken := slices.Contains(ids(taken), m.ID)
			r := check.Must(c.Inbox().Deliver(ctx, m))(rt)[0]
			if !isTaken {
				was = max(was, strength)
			}
			strongest[m.ID] = was
			right := r.Fresh != arrived && (r.Seq > 0) == isTaken && r.Addressed == (was > 0)
			check.Require(rt, right, "%s: %+v, arrived before: %v, taken up: %v, strongest %d", m.ID, r, arrived, isTaken, was)
		}
		taken = append(taken, deliver(t, c)...)
		check.Len(rt, "different messages arrived", taken, len(strongest))
		for i, m := range taken {
			was := strongest[m.ID]
			right := m.Seq == int64(i+1) && m.Addressed == (was > 0) && m.Optional == (was == 1)
			check.Require(rt, right, "message %d: %+v, strongest %d", i, m, was)
		}
	})
}

// Messages before the first addressed one are separate turns, the rest is one turn; those that waited too long are dequeued
// unaddressed. A burst stops at its budget, which messages before the turn do not use up, and one message always passes.
func TestDequeue(t *testing.T) {
	c := newTalk(t)
	taken := deliver(t, c, said(1, "a"), said(2, "b"), asking(3, "c"), said(4, "d"), asking(5, "e"))
	check.EqualAll(t, "turns", storetest.Map(taken, func(m chat.Message) int64 { return m.Turn }), []int64{1, 2, 3, 3, 3})
	got := load(t, c)
	check.That(t, got.Open == 3 && got.Next == 6 && reflect.DeepEqual(got.Messages, taken), "loaded %+v", got)
	turn, ok, err := c.Turns().Unanswered(ctx)
	want := store.Turn{Seq: 3, Starts: 1, Since: turn.Since, To: []string{"m3", "m5"}}
	check.That(t, err == nil && ok && reflect.DeepEqual(turn, want), "%+v, %v, %v", turn, ok, err)
	age := time.Since(turn.Since)
	check.That(t, age >= 0 && age < time.Minute, "got a dequeue %v ago", age)
	check.Must(c.Turns().Finish(ctx, store.Outcome{Turn: 3}))(t)
	deliverOnly(t, c, asking(6, "message"))
	taken, err = c.Inbox().Dequeue(ctx, store.All, 1<<30, time.Now().Add(time.Minute))
	check.Require(t, err == nil && len(taken) == 1 && !taken[0].Addressed, "%+v, %v", taken, err)
	_, ok, err = c.Turns().Unanswered(ctx)
	check.That(t, !ok && err == nil, "got a turn that still waits, %v", err)
	deliverOnly(t, c, asking(11, strings.Repeat("word ", 1000)), asking(12, "message"), asking(13, "message"), asking(14, "message"))
	take := func(budget, want int) chat.Message {
		t.Helper()
		taken := check.Must(c.Inbox().Dequeue(ctx, store.All, budget, time.Time{}))(t)
		check.Len(t, "dequeued", taken, want)
		return taken[0]
	}
	long := take(10, 1)
	check.That(t, long.Tokens > 10, "got %+v", long)
	second := take(2*long.Tokens, 3) // room for all
	deliverOnly(t, c, said(15, "context"), said(16, "context"), asking(17, "message"), asking(18, "message"), asking(19, "message"))
	check.Equal(t, "seq", take(2*second.Tokens, 4).Seq, 11)
	// Of a turn that no person asked for an answer is optional.
	c = newTalk(t)
	first := asking(1, "hm")
	other := asking(4, "hm")
	first.Optional = true
	other.Optional = true
	deliver(t, c, first, said(2, "well"))
	turn, _, err = c.Turns().Unanswered(ctx)
	check.That(t, err == nil && turn.Optional, "%+v, %v", turn, err)
	check.Must(c.Turns().Finish(ctx, store.Outcome{Turn: 1}))(t)
	deliver(t, c, other, asking(3, "you?"))
	turn, _, err = c.Turns().Unanswered(ctx)
	check.That(t, err == nil && !turn.Optional && slices.Equal(turn.To, []string{"m4", "m3"}), "%+v, %v", turn, err)
}

func TestImport(t *testing.T) {
	past := []store.Inbound{said(1, "a"), said(2, "b"), said(1, "a"), said(3, "c")}
	c := newTalk(t)
	added := check.Must(c.Past().Import(ctx, past))(t)
	check.EqualAll(t, "imported", storetest.Seqs(added), []int64{1, 2, 3})
	check.Equal(t, "turn", added[2].Turn, 3)
	again := check.Must(c.Past().Import(ctx, append(past, said(4, "d"))))(t)
	check.EqualAll(t, "new in a second import", storetest.Seqs(again), []int64{4})
	got := load(t, c)
	check.That(t, got.Open == 0 && len(got.Messages) == 4 && got.Messages[0].Time.Equal(storetest.Day.Add(time.Minute)), "loaded %+v", got)
	// An imported conversation can be used, and then nothing is imported into it.
	deliverOnly(t, c, said(9, "hello"))
	before := dump(t, c.Store())
	check.Error(t, check.ErrorOf(c.Past().Import(ctx, past)), store.ErrLive)
	check.Equal(t, "state after a refused import", dump(t, c.Store()), before)
	check.EqualAll(t, "dequeued", storetest.Seqs(deliver(t, c)), []int64{5})
	check.Error(t, check.ErrorOf(c.Past().Import(ctx, past)), store.ErrLive)
}

// Due work of a conversation is reported for it alone, and only until it is done.
func TestDue(t *testing.T) {
	c := newTalk(t)
	other := find(t, c.Store(), "terminal:other")
	want := func(what string, is store.Due) {
		t.Helper()
		check.Equal(t, what, check.Must(c.Inbox().Due(ctx))(t), is)
	}
	want("at the start", store.Due{})
	deliverOnly(t, other, said(1, "hello"), incomplete(4, "hello"))
	deliverOnly(t, c, said(2, "hello"), incomplete(3, "hello"))
	want("with two messages, one of them incomplete", store.Due{Waiting: 2, Last: 4, Incomplete: true})
	setGap(t, c, "m1")
	wantWanted(t, c, true, true)
	want("with a gap and a wanted session too", store.Due{Waiting: 2, Last: 4, Incomplete: true, Gap: true, Session: true})
	check.NoError(t, c.Past().CloseGap(ctx, "m1"))
	deliver(t, c)
	want("with the first taken up", store.Due{Waiting: 1, Last: 4, Incomplete: true, Session: true})
	question := said(5, "are you there?")
	question.Addressed = true
	deliverOnly(t, c, question)
	want("with a question", store.Due{Waiting: 2, Last: 5, Addressed: true, Incomplete: true, Session: true})
}

func TestReplies(t *testing.T) {
	reply := func(n int, to string) store.Inbound { return storetest.Quoting(n, "yes", to, `Ann: "shall we…"`) }
	t.Run("a reply knows the seq of its message, also within a burst", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, "shall we go?"))
		taken := deliver(t, c, reply(2, "m1"), reply(3, "m2"))
		right := taken[0].ReplySeq == 1 && taken[1].ReplySeq == 2 && taken[0].Quote == "" && taken[0].ReplyTo == "m1"
		check.That(t, right && reflect.DeepEqual(check.Must(c.Transcript().Page(ctx, 2, 9))(t), taken), "got dequeued %+v", taken)
	})
	t.Run("a deleted message is not quoted, though its platform still does; nor in a thread, nor later", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		channel := find(t, s, "discord:1/2")
		thread := find(t, s, "discord:1/2/m1")
		deliver(t, channel, said(1, "shall we go?"))
		late := reply(7, "m1")
		late.Incomplete = true
		deliverOnly(t, channel, said(2, "or stay?"), late)
		was := incompletes(t, channel, "yes")[0]
		remove(t, channel, 1, 2)
		full := was
		full.Author = "Ann Smith"
		check.NoError(t, channel.Inbox().Complete(ctx, was, full))
		check.Equal(t, "quote of the completed reply", deliver(t, channel)[0].Quote, "")
		for _, c := range []*store.Conversation{channel, thread} {
			for i, m := range deliver(t, c, reply(3, "m1"), reply(4, "m2"), reply(5, "m9")) {
				check.Equal(t, fmt.Sprintf("quote of reply %d in %s", i+1, c.Name()), m.Quote != "", i == 2)
			}
		}
	})
	t.Run("each piece of the bot's answer leads to its last message, and a notice keeps its quote", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, asking(1, "what time is it?"))
		storetest.Finish(t, c, 1, "reply-2", "half past", " nine")
		check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "notice-1", Pieces: []string{"sorry"}}))
		for row, id := range []string{"p1", "p2", "notice"} {
			check.NoError(t, c.Outbox().Sent(ctx, int64(row+1), id))
		}
		taken := deliver(t, c, reply(2, "p1"), reply(3, "p2"), reply(4, "p3"), reply(5, ""), reply(6, "notice"))
		check.EqualAll(t, "they reply to", storetest.Map(taken, func(m chat.Message) int64 { return m.ReplySeq }), []int64{2, 2, 0, 0, 0})
		check.That(t, taken[4].Quote != "", "got dequeued %+v", taken[4])
	})
}

// jumps are clock changes in both directions.
var jumps = map[string]time.Duration{"a year ahead": 365 * 24 * time.Hour, "to 1970": -time.Since(time.Unix(0, 0))}

func TestClockChangeWhileMessagesWait(t *testing.T) {
	for name, jump := range jumps {
		t.Run(name, func(t *testing.T) {
			c := newTalk(t)
			take := func(n int, since time.Time, want bool) {
				t.Helper()
				deliverOnly(t, c, asking(n, "are you there?"))
				storetest.Run(t, c.Store(), "UPDATE inbox SET received_at = CASE WHEN received_at > ?1 THEN received_at - ?1 ELSE 0 END", jump.Milliseconds())
				taken, err := c.Inbox().Dequeue(ctx, store.All, 1000, since)
				check.That(t, err == nil && len(taken) == 1 && taken[0].Addressed == want, "want answered %v: %+v, %v", want, taken, err)
			}
			take(1, time.Now().Add(-time.Hour), true)   // it just arrived
			take(2, time.Now().Add(time.Second), false) // as if more time had passed
			deliverOnly(t, c, said(3, "never mind"))
			remove(t, c, 3)
			check.Equal(t, "arrivals in memory", c.Store().Arrivals(), 0)
		})
	}
}

func TestSeqsFollowArrivalOrder(t *testing.T) {
	c := newTalk(t)
	times := []time.Duration{0, 24 * time.Hour, -time.Hour, 365 * 24 * time.Hour, -365 * 24 * time.Hour, -time.Since(time.Unix(0, 0)), time.Minute}
	for i, jump := range times {
		m := said(i+1, fmt.Sprintf("message %d about tea", i+1))
		m.Time = time.Now().Add(jump)
		check.EqualAll(t, "dequeued", storetest.Seqs(deliver(t, c, m)), []int64{int64(i + 1)})
		if i == 3 {
			c = reopen(t, c)
		}
	}
	check.EqualAll(t, "view", storetest.Seqs(load(t, c).Messages), []int64{1, 2, 3, 4, 5, 6, 7})
	found := check.Must(memory.Of(c).Recall(ctx, memory.Question{Text: "tea", Limit: 10}))(t)
	check.Len(t, "found", found, len(times))
	for _, f := range found {
		check.That(t, f.Score >= 0 && f.Score <= 1e6, "message %d: got score %v", f.Seq, f.Score)
	}
	wantSound(t, c.Store())
}
