package memory

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"cairn/internal/check"
)

func away(t *testing.T, s *Store, connector string) []Gap {
	t.Helper()
	gaps := check.Must(s.Away(ctx, connector, nil))(t)
	return gaps
}

func wantGap(t *testing.T, c *Conversation, want string, wantOpen bool) {
	t.Helper()
	if after, open, err := c.Past().Gap(ctx); after != want || open != wantOpen || err != nil {
		t.Errorf("the gap begins at %q, open %v, %v; want %q, %v", after, open, err, want, wantOpen)
	}
}

func TestAway(t *testing.T) {
	t.Run("each conversation of the connector has a gap behind the newest message that was delivered", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		waiting, taken, empty := find(t, s, "discord:1/2"), find(t, s, "discord:1/3"), find(t, s, "discord:1/4")
		deliver(t, waiting, said(1, "a"))
		deliverOnly(t, waiting, said(2, "b"))
		m := said(3, "c")
		m.Addressed = true
		deliver(t, taken, m)
		check.NoError(t, taken.Turns().Finish(ctx, Outcome{Turn: 1, Reply: "reply-2", Pieces: []string{"x"}}))
		want := []Gap{{"discord:1/2", "m2", "m2"}, {"discord:1/3", "m3", "m3"}, {"discord:1/4", "", ""}}
		if got := away(t, s, "discord"); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v", got)
		}
		wantGap(t, waiting, "m2", true)
		wantGap(t, empty, "", true)
		deliver(t, taken, said(4, "d"))
		for i := range want {
			want[i].Newest = ""
		}
		if got := away(t, s, "discord"); !reflect.DeepEqual(got, want) {
			t.Errorf("an open gap has moved: %v", got)
		}
	})
	t.Run("where messages may come without those before them, the connector says where it begins", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		taken, waiting, empty := find(t, s, "slack:1/2"), find(t, s, "slack:1/3"), find(t, s, "slack:1/4")
		deliver(t, taken, said(1, "a"))
		deliver(t, taken, said(2, "b"))
		deliverOnly(t, taken, said(3, "c"))
		deliverOnly(t, waiting, said(4, "d"))
		deliverOnly(t, waiting, said(5, "e"))
		gaps, err := s.Away(ctx, "slack", func(newest, first string) string { return first + "<" + newest })
		want := []Gap{{"slack:1/2", "m1<m3", "m3"}, {"slack:1/3", "m4<m5", "m5"}, {"slack:1/4", "", ""}}
		if err != nil || !reflect.DeepEqual(gaps, want) {
			t.Errorf("got %v, %v", gaps, err)
		}
		wantGap(t, taken, "m1<m3", true)
		wantGap(t, empty, "", true)
	})
	t.Run("another connector's conversations have none, whatever the names are", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		names := []string{"discord:1/2", "discordant:1/2", "disc", "discord;x", "Discord:1/2", "slack:1/2", "*:1", "%:1"}
		for _, name := range names {
			find(t, s, name)
		}
		for connector, want := range map[string][]string{"discord": {"discord:1/2"}, "slack": {"slack:1/2"}, "*": {"*:1"}, "%": {"%:1"}, "disc": nil, "": nil, "_iscord": nil} {
			var got []string
			for _, gap := range away(t, s, connector) {
				got = append(got, gap.Conversation)
			}
			if !slices.Equal(got, want) {
				t.Errorf("connector %q: %v", connector, got)
			}
		}
	})
	t.Run("it survives the end of the process", func(t *testing.T) {
		dir := t.TempDir()
		s := openStore(t, dir)
		deliver(t, find(t, s, "slack:1/2"), said(1, "a"))
		away(t, s, "slack")
		s.Close()
		wantGap(t, find(t, openStore(t, dir), "slack:1/2"), "m1", true)
	})
}

func fillGap(t *testing.T, c *Conversation, last string, done bool, said ...Inbound) int {
	t.Helper()
	fresh := check.Must(c.Past().FillGap(ctx, said, last, done))(t)
	return fresh
}

func setGap(t *testing.T, c *Conversation, after string) {
	t.Helper()
	check.NoError(t, c.Past().SetGap(ctx, after))
}

func TestGap(t *testing.T) {
	t.Run("it is opened once, and closed", func(t *testing.T) {
		c := newConversation(t)
		wantGap(t, c, "", false)
		setGap(t, c, "m1")
		setGap(t, c, "m2")
		wantGap(t, c, "m1", true)
		check.NoError(t, c.Past().CloseGap(ctx, "m1"))
		wantGap(t, c, "", false)
	})
	t.Run("it is filled page by page, and a crash in between goes on where it stopped", func(t *testing.T) {
		dir := t.TempDir()
		s := openStore(t, dir)
		c := find(t, s, "slack:1/2")
		deliver(t, c, said(1, "a"))
		away(t, s, "slack")
		deliverOnly(t, c, said(6, "live"))
		check.Equal(t, "the result", fillGap(t, c, "m3", false, said(1, "a"), said(2, "b"), said(3, "c")), 2)
		s.Close()
		s = openStore(t, dir)
		c = find(t, s, "slack:1/2")
		wantGap(t, c, "m3", true)
		deliverOnly(t, c, said(7, "live"))
		check.Equal(t, "the result", fillGap(t, c, "m6", true, said(4, "d"), said(5, "e"), said(6, "live")), 2)
		wantGap(t, c, "", false)
		var ids []string
		for _, m := range deliver(t, c) {
			ids = append(ids, m.ID)
		}
		check.EqualAll(t, "taken up as", ids, []string{"m2", "m3", "m4", "m5", "m6", "m7"})
	})
	t.Run("whoever asked while the bot was away waits for an answer", func(t *testing.T) {
		c := newConversation(t)
		setGap(t, c, "m1")
		m := said(2, "there?")
		m.Addressed = true
		fillGap(t, c, "m2", true, m)
		deliver(t, c)
		if turn, ok, err := c.Turns().Unanswered(ctx); !ok || err != nil || !slices.Equal(turn.To, []string{"m2"}) {
			t.Errorf("%+v, %v, %v", turn, ok, err)
		}
	})
	t.Run("one that was deleted does not come back", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, "a"))
		deliverOnly(t, c, said(2, "b"))
		remove(t, c, 1, 2)
		setGap(t, c, "")
		check.Equal(t, "the result", fillGap(t, c, "m3", true, said(1, "a"), said(2, "b"), said(3, "c")), 1)
		if taken := deliver(t, c); len(taken) != 1 || taken[0].ID != "m3" {
			t.Errorf("took up %+v", taken)
		}
	})
}

func TestGapsThatOverlapOrFail(t *testing.T) {
	t.Run("an absence while it is filled is read too", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		c := find(t, s, "slack:1/2")
		setGap(t, c, "m1")
		// The last page was read, and before it is stored the bot is away once more.
		if got := away(t, s, "slack"); !reflect.DeepEqual(got, []Gap{{"slack:1/2", "m1", ""}}) {
			t.Errorf("got %v", got)
		}
		fillGap(t, c, "m2", true, said(2, "b"))
		wantGap(t, c, "m2", true)
		fillGap(t, c, "m3", true, said(3, "c"))
		wantGap(t, c, "", false)
	})
	t.Run("what was closed meanwhile is not opened again", func(t *testing.T) {
		c := newConversation(t)
		fillGap(t, c, "m2", false, said(2, "b"))
		wantGap(t, c, "", false)
	})
	t.Run("a page that cannot be stored leaves everything as it was", func(t *testing.T) {
		c := newConversation(t)
		setGap(t, c, "m1")
		before := dump(t, c.store)
		if _, err := c.Past().FillGap(ctx, []Inbound{said(2, "b"), {Text: "no id"}}, "m3", true); err == nil {
			t.Error("no error")
		}
		check.Equal(t, "something has changed", dump(t, c.store), before)
	})
}

// However live messages and pages of the past mix, the inbox ends up in the order in
// which was spoken, and beside another conversation's, which stays as it is.
func TestAFilledGapIsInOrder(t *testing.T) {
	s := openStore(t, t.TempDir())
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		c, other := find(t, s, fmt.Sprintf("a:%d", round)), find(t, s, fmt.Sprintf("b:%d", round))
		n := rapid.IntRange(2, 30).Draw(rt, "messages")
		missed := rapid.IntRange(1, n-1).Draw(rt, "missed")
		all := make([]Inbound, n)
		for i := range all {
			all[i] = said(i+1, "x")
			if i > 0 && rapid.Bool().Draw(rt, "at once") {
				all[i].Time = all[i-1].Time
			}
		}
		if err := c.Past().SetGap(ctx, ""); err != nil {
			rt.Fatal(err)
		}
		live := slices.Clone(all[missed:])
		var others []string
		for from := 0; from < missed; {
			for len(live) > 0 && rapid.Bool().Draw(rt, "live") {
				deliverOnly(t, c, live[0])
				live = live[1:]
				others = append(others, fmt.Sprint("o", len(others)))
				deliverOnly(t, other, Inbound{ID: others[len(others)-1], Text: "x", Time: day})
			}
			to := min(missed, from+rapid.IntRange(1, 7).Draw(rt, "page"))
			if _, err := c.Past().FillGap(ctx, all[from:to], all[to-1].ID, to == missed); err != nil {
				rt.Fatal(err)
			}
			from = to
		}
		for _, m := range live {
			deliverOnly(t, c, m)
		}
		for i, m := range deliver(t, c) {
			if m.ID != all[i].ID {
				rt.Fatalf("place %d has %s", i+1, m.ID)
			}
		}
		for i, m := range deliver(t, other) {
			if m.ID != others[i] {
				rt.Fatalf("the other's place %d has %s", i+1, m.ID)
			}
		}
	})
}

func BenchmarkFillGap(b *testing.B) {
	c := find(b, openStore(b, b.TempDir()), "slack:1/2")
	page := make([]Inbound, 100)
	for i := 0; b.Loop(); i++ {
		for j := range page {
			page[j] = said(i*100+j, "x")
			page[j].Time = day.Add(page[j].Time.Sub(day) + 1000*rand.N(page[j].Time.Sub(day)+1))
		}
		check.Must(c.Past().FillGap(ctx, page, "x", false))(b)
		if i%20 == 19 {
			deliver(b, c)
		}
	}
}
