package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

func away(t *testing.T, s *store.Store, connector string) []store.Gap {
	t.Helper()
	gaps := check.Must(s.Away(ctx, connector, nil))(t)
	return gaps
}

func wantGap(t *testing.T, c *store.Conversation, want string, wantOpen bool) {
	t.Helper()
	if after, open, err := c.Past().Gap(ctx); after != want || open != wantOpen || err != nil {
		t.Errorf("got a gap at %q, open %v, %v; want %q, %v", after, open, err, want, wantOpen)
	}
}

// numbered returns message n with an id as platforms give them.
func numbered(n int, text string) store.Inbound {
	m := storetest.Said(n, text)
	m.ID = fmt.Sprint(n)
	return m
}

func TestAway(t *testing.T) {
	t.Run("each conversation of the connector has a gap behind the newest message that was delivered", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		waiting, taken, empty := storetest.Find(t, s, "discord:1/2"), storetest.Find(t, s, "discord:1/3"), storetest.Find(t, s, "discord:1/4")
		storetest.Deliver(t, waiting, numbered(1, "a"))
		storetest.DeliverOnly(t, waiting, numbered(2, "b"))
		m := numbered(3, "c")
		m.Addressed = true
		storetest.Deliver(t, taken, m)
		check.NoError(t, taken.Turns().Finish(ctx, store.Outcome{Turn: 1, Reply: "reply-2", Pieces: []string{"x"}}))
		want := []store.Gap{{"discord:1/2", "2"}, {"discord:1/3", "3"}, {"discord:1/4", ""}}
		if got := away(t, s, "discord"); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v", got)
		}
		wantGap(t, waiting, "2", true)
		wantGap(t, empty, "", true)
		storetest.Deliver(t, taken, numbered(4, "d"))
		if got := away(t, s, "discord"); !reflect.DeepEqual(got, want) {
			t.Errorf("the open gap moved: %v", got)
		}
	})
	t.Run("where messages may come without those before them, the connector says where it begins", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		taken, waiting, empty := storetest.Find(t, s, "slack:1/2"), storetest.Find(t, s, "slack:1/3"), storetest.Find(t, s, "slack:1/4")
		storetest.Deliver(t, taken, numbered(1, "a"))
		storetest.Deliver(t, taken, numbered(2, "b"))
		storetest.DeliverOnly(t, taken, numbered(3, "c"))
		storetest.DeliverOnly(t, waiting, numbered(4, "d"))
		storetest.DeliverOnly(t, waiting, numbered(5, "e"))
		gaps, err := s.Away(ctx, "slack", func(newest, first string) string { return first + "<" + newest })
		want := []store.Gap{{"slack:1/2", "1<3"}, {"slack:1/3", "4<5"}, {"slack:1/4", ""}}
		check.That(t, err == nil && reflect.DeepEqual(gaps, want), "got %v, %v", gaps, err)
		wantGap(t, taken, "1<3", true)
		wantGap(t, empty, "", true)
	})
	t.Run("another connector's conversations have none, whatever the names are", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		names := []string{"discord:1/2", "discordant:1/2", "disc", "discord;x", "Discord:1/2", "slack:1/2", "*:1", "%:1"}
		for _, name := range names {
			storetest.Find(t, s, name)
		}
		for connector, want := range map[string][]string{"discord": {"discord:1/2"}, "slack": {"slack:1/2"}, "*": {"*:1"}, "%": {"%:1"}, "disc": nil, "": nil, "_iscord": nil} {
			var got []string
			for _, gap := range away(t, s, connector) {
				got = append(got, gap.Conversation)
			}
			check.EqualAll(t, fmt.Sprintf("connector %q", connector), got, want)
		}
	})
	t.Run("a message that the platform does not know is no place to read on from", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		taken, waiting := storetest.Find(t, s, "slack:1/2"), storetest.Find(t, s, "slack:1/3")
		result := numbered(7, "a result")
		result.ID = store.TaskID + "-1"
		storetest.Deliver(t, taken, storetest.Said(5, "imported"), numbered(6, "a"), result)
		storetest.DeliverOnly(t, waiting, storetest.Said(5, "imported"), numbered(6, "a"), result)
		gaps := check.Must(s.Away(ctx, "slack", func(newest, first string) string { return first + "<" + newest }))(t)
		check.EqualAll(t, "gaps", gaps, []store.Gap{{"slack:1/2", "6<6"}, {"slack:1/3", "6<6"}})
	})
	t.Run("a gap survives the process", func(t *testing.T) {
		dir := t.TempDir()
		s := storetest.OpenStore(t, dir)
		storetest.Deliver(t, storetest.Find(t, s, "slack:1/2"), numbered(1, "a"))
		away(t, s, "slack")
		s.Close()
		wantGap(t, storetest.Find(t, storetest.OpenStore(t, dir), "slack:1/2"), "1", true)
	})
}

func fillGap(t *testing.T, c *store.Conversation, last string, done bool, said ...store.Inbound) int {
	t.Helper()
	fresh := check.Must(c.Past().FillGap(ctx, said, last, done))(t)
	return fresh
}

func setGap(t *testing.T, c *store.Conversation, after string) {
	t.Helper()
	check.NoError(t, c.Past().SetGap(ctx, after))
}

func TestGap(t *testing.T) {
	t.Run("a gap is filled page by page, and resumes after a crash", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		c := storetest.Find(t, s, "slack:1/2")
		storetest.Deliver(t, c, storetest.Said(1, "a"))
		away(t, s, "slack")
		storetest.DeliverOnly(t, c, storetest.Said(6, "live"))
		check.Equal(t, "answer", fillGap(t, c, "m3", false, storetest.Said(1, "a"), storetest.Said(2, "b"), storetest.Said(3, "c")), 2)
		c = reopen(t, c)
		wantGap(t, c, "m3", true)
		storetest.DeliverOnly(t, c, storetest.Said(7, "live"))
		check.Equal(t, "answer", fillGap(t, c, "m6", true, storetest.Said(4, "d"), storetest.Said(5, "e"), storetest.Said(6, "live")), 2)
		wantGap(t, c, "", false)
		var ids []string
		for _, m := range storetest.Deliver(t, c) {
			ids = append(ids, m.ID)
		}
		check.EqualAll(t, "dequeued as", ids, []string{"m2", "m3", "m4", "m5", "m6", "m7"})
	})
	t.Run("a deleted message does not come back", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(1, "a"))
		storetest.DeliverOnly(t, c, storetest.Said(2, "b"))
		storetest.Remove(t, c, 1, 2)
		setGap(t, c, "")
		check.Equal(t, "answer", fillGap(t, c, "m3", true, storetest.Said(1, "a"), storetest.Said(2, "b"), storetest.Said(3, "c")), 1)
		taken := storetest.Deliver(t, c)
		check.Len(t, "dequeued", taken, 1)
		check.Equal(t, "id", taken[0].ID, "m3")
	})
}

// TestOverlappingGaps: a step is "away", "set AFTER", "close AFTER", "page LAST" or "last LAST" of the pages.
func TestOverlappingGaps(t *testing.T) {
	for _, test := range []struct {
		claim string
		steps []string
		after string // "": it is closed
	}{
		{"a gap is opened once", []string{"set m1", "set m2"}, "m1"},
		{"and closed", []string{"set m1", "close m1"}, ""},
		{"a gap during the fill is read too", []string{"set m1", "away", "last m2"}, "m2"},
		{"and then closed", []string{"set m1", "away", "last m2", "last m3"}, ""},
		{"a message missed during the fill is read too", []string{"set m1", "set m2", "last m2"}, "m2"}, // which the last page, read before, lacks
		{"the earlier of two gaps wins: the disk failed to store a message", []string{"say 10", "away", "set 5"}, "5"},
		{"a gap opened while an unknown one is closed stays open", []string{"away", "set 5", "close"}, "5"},
		{"a gap closed meanwhile is not reopened", []string{"page m2"}, ""},
	} {
		t.Run(test.claim, func(t *testing.T) {
			c := storetest.NewConversation(t)
			for n, step := range test.steps {
				do, id, _ := strings.Cut(step, " ")
				switch do {
				case "say":
					storetest.Deliver(t, c, numbered(10, "ten"))
				case "away":
					away(t, c.Store(), "terminal")
				case "set":
					setGap(t, c, id)
				case "close":
					check.NoError(t, c.Past().CloseGap(ctx, id))
				default:
					fillGap(t, c, id, do == "last", storetest.Said(n+1, "missed"))
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
		c, other := storetest.Find(t, s, fmt.Sprintf("a:%d", round)), storetest.Find(t, s, fmt.Sprintf("b:%d", round))
		n := rapid.IntRange(2, 30).Draw(rt, "messages")
		missed := rapid.IntRange(1, n-1).Draw(rt, "missed")
		all := make([]store.Inbound, n)
		for i := range all {
			all[i] = storetest.Said(i+1, "x")
			if i > 0 && rapid.Bool().Draw(rt, "at once") {
				all[i].Time = all[i-1].Time
			}
		}
		check.NoError(rt, c.Past().SetGap(ctx, ""))
		live := slices.Clone(all[missed:])
		var others []string
		for from := 0; from < missed; {
			for len(live) > 0 && rapid.Bool().Draw(rt, "live") {
				storetest.DeliverOnly(t, c, live[0])
				live = live[1:]
				others = append(others, fmt.Sprint("o", len(others)))
				storetest.DeliverOnly(t, other, store.Inbound{ID: others[len(others)-1], Text: "x", Time: storetest.Day})
			}
			to := min(missed, from+rapid.IntRange(1, 7).Draw(rt, "page"))
			check.NoError(rt, check.ErrorOf(c.Past().FillGap(ctx, all[from:to], all[to-1].ID, to == missed)))
			from = to
		}
		for _, m := range live {
			storetest.DeliverOnly(t, c, m)
		}
		for i, m := range storetest.Deliver(t, c) {
			if m.ID != all[i].ID {
				rt.Fatalf("place %d: got %s", i+1, m.ID)
			}
		}
		for i, m := range storetest.Deliver(t, other) {
			if m.ID != others[i] {
				rt.Fatalf("place %d of the other conversation: got %s", i+1, m.ID)
			}
		}
	})
}
