package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func away(t *testing.T, s *store.Store, connector string) []store.Gap {
	t.Helper()
	return check.Must(s.Away(ctx, connector, nil, nil))(t)
}

func wantGap(t *testing.T, c *store.Conversation, want string, wantOpen bool) {
	t.Helper()
	after, open, err := c.Past().Gap(ctx)
	check.That(t, after == want && open == wantOpen && err == nil, "got a gap at %q, open %v, %v; want %q, %v", after, open, err, want, wantOpen)
}

// numbered returns message n with an id as platforms give them.
func numbered(n int, text string) store.Inbound {
	m := said(n, text)
	m.ID = fmt.Sprint(n)
	return m
}

func TestAway(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	// Each conversation of the connector has a gap behind the newest message that was delivered.
	waiting := find(t, s, "discord:1/2")
	taken := find(t, s, "discord:1/3")
	find(t, s, "discord:1/4")
	deliver(t, waiting, numbered(1, "a"))
	deliverOnly(t, waiting, numbered(2, "b"))
	m := numbered(3, "c")
	m.Addressed = true
	deliver(t, taken, m)
	check.Must(taken.Turns().Finish(ctx, store.Outcome{Turn: 1, Reply: "reply-2", Pieces: []string{"x"}}))(t)
	want := []store.Gap{{"discord:1/2", "2"}, {"discord:1/3", "3"}, {"discord:1/4", ""}}
	check.EqualAll(t, "gaps", away(t, s, "discord"), want)
	wantGap(t, waiting, "2", true)
	wantGap(t, find(t, s, "discord:1/4"), "", true)
	deliver(t, taken, numbered(4, "d"))
	check.EqualAll(t, "open gaps stay", away(t, s, "discord"), want)
	// Where messages may come without those before them, the connector says where it begins; what the platform does not
	// know is no place to read on from.
	taken2 := find(t, s, "slack:1/2")
	waiting2 := find(t, s, "slack:1/3")
	find(t, s, "slack:1/4")
	result := numbered(7, "a result")
	result.ID = store.TaskID + "-1"
	deliver(t, taken2, said(8, "imported"), numbered(1, "a"), result, numbered(2, "b"))
	deliverOnly(t, taken2, numbered(3, "c"))
	deliverOnly(t, waiting2, said(8, "imported"), numbered(4, "d"), numbered(5, "e"), result)
	gaps := check.Must(s.Away(ctx, "slack", nil, func(newest, first string) string { return first + "<" + newest }))(t)
	check.EqualAll(t, "gaps", gaps, []store.Gap{{"slack:1/2", "1<3"}, {"slack:1/3", "4<5"}, {"slack:1/4", ""}})
	wantGap(t, taken2, "1<3", true)
	check.EqualAll(t, "the newest, where the last message allows it", check.Must(store.GapsToRecheck(ctx, s, "slack", nil, 1, func(newest, first string) string { return newest }))(t), []store.Gap{{"slack:1/3", "5"}})
	check.EqualAll(t, "of the others", check.Must(store.GapsToRecheck(ctx, s, "slack", nil, 9, func(newest, first string) string {
		if newest == "5" {
			return ""
		}
		return first
	}))(t), []store.Gap{{"slack:1/2", "1"}})
	wantGap(t, reopen(t, waiting), "2", true)
	t.Run("another connector's conversations have none, whatever the names are", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		for _, name := range []string{"discord:1/2", "discordant:1/2", "disc", "discord;x", "Discord:1/2", "slack:1/2", "*:1", "%:1"} {
			find(t, s, name)
		}
		for connector, want := range map[string][]store.Gap{
			"discord": {{"discord:1/2", ""}}, "slack": {{"slack:1/2", ""}}, "*": {{"*:1", ""}}, "%": {{"%:1", ""}}, "disc": nil, "": nil, "_iscord": nil,
		} {
			check.EqualAll(t, fmt.Sprintf("connector %q", connector), away(t, s, connector), want)
		}
	})
}

// A connector may have several connections, of which each serves some conversations.
func TestAwayOfSomeConversations(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	mine, other := find(t, s, "discord:1/2"), find(t, s, "discord:2/2")
	find(t, s, "slack:1/2")
	deliver(t, mine, numbered(1, "a"))
	deliver(t, other, numbered(2, "b"))
	var asked []string
	of := func(conversation string) bool {
		asked = append(asked, conversation)
		return conversation == mine.Name()
	}
	want := []store.Gap{{"discord:1/2", "1"}}
	check.EqualAll(t, "gaps", check.Must(s.Away(ctx, "discord", of, nil))(t), want)
	wantGap(t, mine, "1", true)
	wantGap(t, other, "", false)
	check.EqualAll(t, "it was asked for", asked, []string{"discord:1/2", "discord:2/2"})
	newest := func(newest, _ string) string { return newest }
	check.EqualAll(t, "to recheck", check.Must(store.GapsToRecheck(ctx, s, "discord", of, 9, newest))(t), want)
}

func fillGap(t *testing.T, c *store.Conversation, last string, done bool, said ...store.Inbound) int {
	t.Helper()
	return check.Must(c.Past().FillGap(ctx, said, last, done))(t)
}

func setGap(t *testing.T, c *store.Conversation, after string) {
	t.Helper()
	check.NoError(t, c.Past().SetGap(ctx, after))
}

func TestGap(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c := find(t, s, "slack:1/2")
	deliver(t, c, said(1, "a"), said(8, "b"))
	deliverOnly(t, c, said(9, "c"))
	remove(t, c, 8, 9) // which do not come back
	away(t, s, "slack")
	deliverOnly(t, c, said(6, "live"))
	check.Equal(t, "fresh", fillGap(t, c, "m3", false, said(1, "a"), said(2, "b"), said(3, "c")), 2)
	c = reopen(t, c)
	wantGap(t, c, "m3", true)
	deliverOnly(t, c, said(7, "live"))
	check.Equal(t, "fresh", fillGap(t, c, "m6", true, said(4, "d"), said(5, "e"), said(6, "live"), said(8, "b"), said(9, "c")), 2)
	wantGap(t, c, "", false)
	check.EqualAll(t, "dequeued", ids(deliver(t, c)), []string{"m2", "m3", "m4", "m5", "m6", "m7"})
	for _, n := range []int{13, 11, 12} { // live, out of order
		deliverOnly(t, c, said(n, "x"))
	}
	setGap(t, c, "m7")
	fillGap(t, c, "m12", true, said(11, "x"), said(12, "x"))
	check.EqualAll(t, "dequeued", ids(deliver(t, c)), []string{"m11", "m12", "m13"})
}

// TestOverlappingGaps: a step is "away", "set AFTER", "close AFTER", "page LAST" or "last LAST" of the pages.
func TestOverlappingGaps(t *testing.T) {
	for _, test := range []struct{ claim, steps, after string }{ // "": it is closed
		{"a gap is opened once", "set m1, set m2", "m1"},
		{"and closed", "set m1, close m1", ""},
		{"a gap during the fill is read too", "set m1, away, last m2", "m2"},
		{"and then closed", "set m1, away, last m2, last m3", ""},
		{"a message missed during the fill is read too", "set m1, set m2, last m2", "m2"}, // which the last page, read before, lacks
		{"the earlier of two gaps wins: the disk failed to store a message", "say 10, away, set 5", "5"},
		{"a gap opened while an unknown one is closed stays open", "away, set 5, close", "5"},
		{"a gap closed meanwhile is not reopened", "page m2", ""},
	} {
		t.Run(test.claim, func(t *testing.T) {
			c := newTalk(t)
			for n, step := range strings.Split(test.steps, ", ") {
				do, id, _ := strings.Cut(step, " ")
				switch do {
				case "say":
					deliver(t, c, numbered(10, "ten"))
				case "away":
					away(t, c.Store(), "terminal")
				case "set":
					setGap(t, c, id)
				case "close":
					check.NoError(t, c.Past().CloseGap(ctx, id))
				default:
					fillGap(t, c, id, do == "last", said(n+1, "missed"))
				}
			}
			wantGap(t, c, test.after, test.after != "")
		})
	}
}

// However live messages and history pages mix, the inbox ends up in the order of the messages, and
// another conversation's stays as it is.
func TestFilledGapIsInOrder(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		c := find(t, s, fmt.Sprintf("a:%d", round))
		other := find(t, s, fmt.Sprintf("b:%d", round))
		n := rapid.IntRange(2, 30).Draw(rt, "messages")
		missed := rapid.IntRange(1, n-1).Draw(rt, "missed")
		all := make([]store.Inbound, n)
		want := make([]string, n)
		for i := range all {
			all[i] = said(i+1, "x")
			want[i] = all[i].ID
			if i > 0 && rapid.Bool().Draw(rt, "at once") {
				all[i].Time = all[i-1].Time
			}
		}
		check.NoError(rt, c.Past().SetGap(ctx, ""))
		live := slices.Clone(all[missed:])
		var others []string
		for from := 0; from < missed; {
			for len(live) > 0 && rapid.Bool().Draw(rt, "live") {
				deliverOnly(t, c, live[0])
				live = live[1:]
				others = append(others, fmt.Sprint("o", len(others)))
				deliverOnly(t, other, store.Inbound{ID: others[len(others)-1], Text: "x", Time: storetest.Day})
			}
			to := min(missed, from+rapid.IntRange(1, 7).Draw(rt, "page"))
			check.NoError(rt, check.ErrorOf(c.Past().FillGap(ctx, all[from:to], all[to-1].ID, to == missed)))
			from = to
		}
		check.EqualAll(rt, "dequeued", ids(deliver(t, c, live...)), want)
		check.EqualAll(rt, "of the other conversation", ids(deliver(t, other)), others)
	})
}

// wantReadBack checks whether the past is read back, and before which message.
func wantReadBack(t *testing.T, c *store.Conversation, want string) {
	t.Helper()
	done, first, err := c.Past().ReadBack(ctx)
	check.Equal(t, c.Name()+" is read back", fmt.Sprint(done, " ", first, " ", err), want+" <nil>")
}

func TestBackfill(t *testing.T) {
	t.Run("it is due from the first addressed message on, and again in a thread that the bot follows", func(t *testing.T) {
		c := newTalk(t)
		thread := find(t, c.Store(), "terminal:thread")
		wantReadBack(t, c, "false ")
		deliverOnly(t, c, said(5, "overheard"))
		wantReadBack(t, c, "false ")
		deliverOnly(t, c, asking(6, "well?"), asking(7, "well?"))
		wantReadBack(t, c, "false m6")
		check.NoError(t, c.Past().Backfill(ctx, nil))
		wantReadBack(t, c, "true m6")
		deliver(t, thread, inThread(6, true))
		deliverOnly(t, thread, inThread(7, false)) // the first attempt has failed
		wantReadBack(t, thread, "false m7")
	})
	t.Run("earlier messages are placed before the question, once, and deleted ones not at all", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(2, "overheard long ago"), said(8, "a"))
		deliverOnly(t, c, said(4, "overheard"), asking(5, "what do you think?"), said(9, "b"))
		remove(t, c, 8, 9)
		m := said(3, "what do you think?")
		m.ReplyTo = "m2"
		m.Quote = `Ann: "overheard…"`
		past := []store.Inbound{said(1, "the very first"), said(2, "known"), m, said(4, "waits"), said(8, "a"), said(9, "b")}
		check.NoError(t, c.Past().Backfill(ctx, past))
		check.NoError(t, c.Past().Backfill(ctx, []store.Inbound{said(7, "not read again")}))
		taken := deliver(t, c)
		check.EqualAll(t, "dequeued", ids(taken), []string{"m1", "m3", "m4", "m5"})
		check.That(t, taken[0].Turn == 3 && taken[1].Turn == 4 && taken[1].ReplySeq == 1 && taken[1].Quote == "", "got %+v", taken)
		state := load(t, c)
		check.That(t, state.Open == 6 && state.Next == 7 && reflect.DeepEqual(state.Messages[1:], taken), "loaded %+v, want %+v", state, taken)
		check.EqualAll(t, "found", storetest.Recalled(t, c, "very first"), []int64{3})
	})
}

func inThread(n int, addressed bool) store.Inbound {
	m := said(n, "hello")
	m.Thread = true
	m.Addressed = addressed
	return m
}

// TestThreads: a step is a delivery ("say" or "ask" in the thread, "hm" where the bot considers every message, "outside" a
// question and "heard" a remark outside of threads), "stop", or "take" what waits; "!" follows if the message, or the last one
// taken up, is addressed.
func TestThreads(t *testing.T) {
	for claim, test := range map[string]struct {
		steps     string
		following bool
	}{
		"after a mention in a thread, all its messages are addressed":    {"say 1, ask 2!, say 3!, hm 4!, take!", true},
		"optional messages, or ones outside threads, start no following": {"hm 1!, outside 2!, say 3", false},
		"after /stop only a new mention starts following again":          {"ask 1!, stop, ask 1!, take!, ask 1!, say 2", false},
		"a new mention after /stop starts following again":               {"ask 1!, stop, ask 2!, say 3!", true},
		"what waits since before /stop is answered only if it addresses": {"ask 1!, say 2!, say 2!, stop, take", false},
		"a mention delivered after the plain message starts following":   {"say 1, ask 1!", true},
		"outside of threads nothing is addressed by itself":              {"ask 1!, heard 2, say 3!", true},
	} {
		t.Run(claim, func(t *testing.T) {
			c := newTalk(t)
			for step := range strings.SplitSeq(test.steps, ", ") {
				step, want := strings.CutSuffix(step, "!")
				do, n, _ := strings.Cut(step, " ")
				number, _ := strconv.Atoi(n)
				m := inThread(number, do != "say" && do != "heard")
				m.Optional = do == "hm"
				m.Thread = do != "outside" && do != "heard"
				addressed := false
				switch do {
				case "stop":
					check.NoError(t, c.Settings().Follow(ctx, false))
				case "take":
					taken := deliver(t, c)
					addressed = taken[len(taken)-1].Addressed && !taken[len(taken)-1].Optional
				default:
					addressed = check.Must(c.Inbox().Deliver(ctx, m))(t)[0].Addressed
				}
				check.Equal(t, step+": addressed", addressed, want)
			}
			check.Equal(t, "following", check.Must(c.Settings().Following(ctx))(t), test.following)
			check.Equal(t, "following elsewhere", check.Must(find(t, c.Store(), "terminal:other").Settings().Following(ctx))(t), false)
		})
	}
}
