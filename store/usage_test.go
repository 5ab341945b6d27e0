package store_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

func TestUsage(t *testing.T) {
	c := newTalk(t)
	other := find(t, c.Store(), "test:b")
	const day, next = "2026-03-28", "2026-03-29"
	add := func(c *store.Conversation, more ...store.Usage) error { return c.Turns().AddUsage(ctx, more) }
	check.NoError(t, add(c, usageRow(day, store.ForTurn, "m", 1), usageRow(day, store.ForSummary, "m", 2)))
	check.NoError(t, add(c, usageRow(day, store.ForTurn, "m", 3)))
	check.NoError(t, add(c, usageRow(next, store.ForTurn, "other", 1)))
	check.NoError(t, add(c))
	theirs := usageRow(next, store.ForTurn, "m", 1)
	theirs.Conversation = other.Name()
	check.NoError(t, add(other, theirs))
	bad := add(c, usageRow(day, store.ForTurn, "m", 1), usageRow("today", store.ForTurn, "m", 1))
	check.That(t, bad != nil, "an invalid row is accepted")
	mine := []store.Usage{usageRow(day, store.ForTurn, "m", 4), usageRow(day, store.ForSummary, "m", 2), usageRow(next, store.ForTurn, "other", 1)}
	check.EqualAll(t, "what is added twice is one row, by day, kind and model", check.Must(c.Turns().Usage(ctx))(t), mine)
	for since, want := range map[string][]store.Usage{"": append(mine[:3:3], theirs), next: {mine[2], theirs}, "2026-03-30": nil} {
		check.EqualAll(t, fmt.Sprintf("of all since %q, oldest first", since), check.Must(c.Store().Usage(ctx, since))(t), want)
	}
}

// Limits and refusals expire after a week, even if the factor was written later.
func TestModels(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	learnt := llm.Facts{Window: 4096, Factor: 1.4, Scale: 150, RefusesTools: true, RefusesImages: true}
	keep := func(name string, f llm.Facts) {
		t.Helper()
		check.NoError(t, s.Models().Keep(ctx, name, f))
	}
	want := func(after string, days int, want llm.Facts) {
		t.Helper()
		storetest.Run(t, s, "UPDATE models SET updated_at = updated_at - ?", int64(days)*24*3600*1000)
		check.Equal(t, "after "+after, check.Must(s.Models().List(ctx))(t)["m@here"], want)
	}
	keep("m@here", llm.Facts{Window: 8192, Factor: 1.1, Scale: 100})
	keep("m@here", learnt)
	keep("m@there", llm.Facts{RefusesTools: true})
	check.Equal(t, "another model", check.Must(s.Models().List(ctx))(t)["m@there"], llm.Facts{Factor: 1, Scale: 100, RefusesTools: true})
	want("keeping it", 0, learnt)
	want("four days", 4, learnt)
	learnt.Factor = 1.5
	keep("m@here", learnt)
	want("keeping another factor", 0, learnt)
	want("eight days", 4, llm.Facts{Factor: 1.5, Scale: 150})
	want("learning it while the clock was a year ahead", -365, llm.Facts{Factor: 1.5, Scale: 150})
	keep("m@here", learnt)
	want("learning it again", 0, learnt)
}

// TestSaved: 10 messages of 100 tokens, summaries of 30 over them, and answers in between.
func TestSaved(t *testing.T) {
	c := imported(t, 10)
	storetest.Run(t, c.Store(), "UPDATE messages SET tokens = iif(id & 0xFFFF = 9, 90000, 100)")
	seq, want := 11, int64(0)
	for _, step := range []struct {
		claim, do string
		answers   int
		more      int64
	}{
		{"nothing without summaries", "", 3, 0},
		{"nothing before the next request", "sum 1-5", 0, 0},
		{"by each request after it was applied", "", 3, 3 * (500 - 30)},
		{"by two summaries", "sum 6-8", 2, 2*(500-30) + 2*(300-30)},
		{"by a rollup, from then on", "roll 1-8; apply", 1, 800 - 30},
		{"of a long message what a request would have shown", "sum 9-10", 1, 800 - 30 + 1000 + 100 - 30},
		{"nothing by an undone one", "undo", 0, -(1000 + 100 - 30)},
		{"nothing by an earlier session", "new", 4, 0},
	} {
		play(t, c, step.do)
		storetest.Run(t, c.Store(), "UPDATE compactions SET tokens = 30 WHERE kind <> 'placeholder'")
		for range step.answers {
			turn := deliver(t, c, asking(seq, fmt.Sprint("question ", seq)))[0].Turn
			storetest.Finish(t, c, turn, turn+1, fmt.Sprint("reply-", turn))
			seq = int(turn) + 2
		}
		want += step.more
		check.Equal(t, step.claim, check.Must(c.Turns().Saved(ctx, 1000))(t), want)
	}
}

func TestVitals(t *testing.T) {
	c := newTalk(t)
	v := check.Must(c.Store().Upkeep().Vitals(ctx))(t)
	empty := v.Inbox+v.Outbox+v.Memories["active"] == 0 && v.InboxOldest.IsZero() && v.OutboxOldest.IsZero() && len(v.Memories) == 4
	check.That(t, empty, "of an empty store: %+v", v)
	before := time.Now().Add(-time.Millisecond)
	deliverOnly(t, c, said(1, "a"), said(2, "b"))
	check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "notice-1", Pieces: []string{"a", "b", "c"}}))
	check.NoError(t, c.Outbox().Sending(ctx, 1))
	check.NoError(t, c.Outbox().Sent(ctx, 1, "p1"))
	for _, content := range []string{"one", "two", "three", "four"} {
		storetest.Keep(t, c, "Ann", content)
	}
	check.NoError(t, memory.Of(c).Forget(ctx, 4))
	v = check.Must(c.Store().Upkeep().Vitals(ctx))(t)
	counts := fmt.Sprint(v.Inbox, v.Outbox, v.Memories)
	check.Equal(t, "waiting, and memories", counts, "2 2 map[active:3 forgotten:1 replaced:0 superseded:0]")
	for _, oldest := range []time.Time{v.InboxOldest, v.OutboxOldest} {
		check.That(t, !oldest.Before(before) && !oldest.After(time.Now()), "got oldest %v", oldest)
	}
	size := check.Must(os.Stat(c.Store().Path()))(t).Size()
	check.That(t, v.Bytes == size && v.LogBytes > 0 && v.Free > 0, "the file has %d bytes; got %+v", size, v)
	check.NoError(t, c.Store().Close())
	check.That(t, check.ErrorOf(c.Store().Upkeep().Vitals(ctx)) != nil, "vitals of a closed store")
}

// TestOverrides: a step sets a key, or removes it, in the channel or in its thread; ^ follows what a thread has from its channel.
func TestOverrides(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	of := map[string]*store.Conversation{
		"channel": find(t, s, "discord:1/2"), "thread": find(t, s, "discord:1/2/3"),
		"another": find(t, s, "discord:1/3"), "its thread": find(t, s, "discord:1/2x/3"),
	}
	for _, step := range []struct{ where, set, seen, channel, thread string }{
		{"channel", "focus=", "map[focus:]", "focus=", "focus=^"},
		{"channel", "enabled=true", "map[enabled:true focus:]", "enabled=true focus=", "enabled=true^ focus=^"},
		{"channel", "enabled=false", "map[enabled:false focus:]", "enabled=false focus=", "enabled=false^ focus=^"},
		{"channel", "notify", "map[enabled:false focus:]", "enabled=false focus=", "enabled=false^ focus=^"}, // it was not set
		{"channel", "refused=99", "map[enabled:false focus: refused:99]", "enabled=false focus=", "enabled=false^ focus=^"},
		{"thread", "enabled=true", "map[enabled:true focus:]", "enabled=false focus=", "enabled=true focus=^"},
		{"thread", "enabled", "map[enabled:false focus:]", "enabled=false focus=", "enabled=false^ focus=^"},
		{"channel", "focus", "map[enabled:false]", "enabled=false", "enabled=false^"},
	} {
		key, value, isSet := strings.Cut(step.set, "=")
		refused := map[string]error{"refused": errBroken}[key]
		values := map[string]*string{key: map[bool]*string{true: &value}[isSet]}
		err := of[step.where].Settings().OverrideAll(ctx, values, "Ann", func(seen map[string]string) error {
			check.Equal(t, step.set+": what is checked", fmt.Sprint(seen), step.seen)
			return refused
		})
		check.Error(t, err, refused)
		for name, want := range map[string]string{"channel": step.channel, "thread": step.thread, "another": "", "its thread": ""} {
			var has []string
			for _, o := range check.Must(of[name].Settings().Set(ctx))(t) {
				has = append(has, o.Key+"="+o.Value+map[bool]string{true: "^"}[o.Above])
				check.Equal(t, "set by", o.By, "Ann")
			}
			check.Equal(t, name+" after "+step.set, strings.Join(has, " "), want)
		}
	}
}
