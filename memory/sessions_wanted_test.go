package memory

import (
	"slices"
	"testing"
	"time"

	"cairn/internal/check"
)

func TestWantedSessions(t *testing.T) {
	want := func(t *testing.T, c *Conversation, wanted, later bool) {
		t.Helper()
		if w, l, err := c.Compactions().WantSession(ctx); err != nil || w != wanted || l != later {
			t.Errorf("wanted %v, later %v, %v", w, l, err)
		}
	}
	due := func(t *testing.T, c *Conversation, want bool) {
		t.Helper()
		check.Equal(t, "the result", check.Must(c.Compactions().SessionDue(ctx))(t), want)
	}
	takeUp := func(t *testing.T, c *Conversation) (ids []string) {
		t.Helper()
		taken := check.Must(c.Inbox().TakeUp(ctx, All, 1<<30, time.Time{}))(t)
		for _, m := range taken {
			ids = append(ids, m.ID)
		}
		return ids
	}
	t.Run("what waited belongs to the session before, what comes later to the next", func(t *testing.T) {
		c := newConversation(t)
		want(t, c, false, false) // there are no messages
		deliverOnly(t, c, said(1, "before"))
		want(t, c, true, true)
		want(t, c, false, true) // there are no new messages
		deliverOnly(t, c, said(2, "between"))
		want(t, c, true, true)
		deliverOnly(t, c, said(3, "after"))
		for i, id := range []string{"m1", "m2"} {
			due(t, c, false)
			if got := takeUp(t, c); !slices.Equal(got, []string{id}) {
				t.Fatalf("taken up are %v", got)
			}
			if got := takeUp(t, c); len(got) > 0 {
				t.Fatalf("taken up before the session has ended: %v", got)
			}
			due(t, c, true)
			if head, started := startSession(t, c); !started || head.Start != int64(i+2) {
				t.Fatalf("the session begins at %d", head.Start)
			}
		}
		due(t, c, false)
		check.EqualAll(t, "taken up", takeUp(t, c), []string{"m3"})
		wantSessions(t, c, "1-1 [placeholder emergency 1-1] unsettled; 2-2 [placeholder emergency 2-2] unsettled")
	})
	t.Run("a request outlives the process, and the conversation is unfinished until then", func(t *testing.T) {
		dir := t.TempDir()
		s := openStore(t, dir)
		c := find(t, s, "terminal:general")
		deliver(t, c, said(1, "before"))
		want(t, c, true, false)
		s.Close()
		s = openStore(t, dir)
		c = find(t, s, "terminal:general")
		if names, err := s.Unfinished(ctx); err != nil || !slices.Equal(names, []string{c.name}) {
			t.Errorf("unfinished are %v, %v", names, err)
		}
		due(t, c, true)
		startSession(t, c)
		due(t, c, false)
	})
	t.Run("what was missed and said before it belongs before it", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, "known"))
		check.NoError(t, c.Past().SetGap(ctx, "m1"))
		deliverOnly(t, c, said(4, "before"))
		want(t, c, true, true)
		late := said(5, "after")
		late.Time = time.Now().Add(time.Hour)
		deliverOnly(t, c, late)
		check.Must(c.Past().FillGap(ctx, []Inbound{said(2, "missed"), said(3, "missed too")}, "m3", true))(t)
		check.EqualAll(t, "taken up", takeUp(t, c), []string{"m2", "m3", "m4"})
		due(t, c, true)
	})
}
