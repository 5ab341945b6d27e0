package memory

import (
	"errors"
	"slices"
	"testing"

	"cairn/internal/check"
)

func TestPost(t *testing.T) {
	c := newConversation(t)
	notice := Outcome{Reply: "notice-1", To: []string{"m1"}, Pieces: []string{"wait", " a minute"}, Failure: true}
	for range 2 {
		check.NoError(t, c.Outbox().Post(ctx, notice))
		notice.Pieces = append(notice.Pieces, " please")
	}
	pieces, err := c.Outbox().Unsent(ctx)
	if err != nil || len(pieces) != 2 || pieces[1].Text != " a minute" || !pieces[0].Failure || !slices.Equal(pieces[0].To, []string{"m1"}) {
		t.Errorf("posted twice: %+v, %v", pieces, err)
	}
	check.NoError(t, find(t, c.store, "terminal:other").Outbox().Post(ctx, notice))
	check.Equal(t, "elsewhere it is another one", len(check.Must(find(t, c.store, "terminal:other").Outbox().Unsent(ctx))(t)), 4)
}

func TestDrop(t *testing.T) {
	c := newConversation(t)
	check.NoError(t, c.Outbox().Post(ctx, Outcome{Reply: "notice-1", Pieces: []string{"a", "b", "c"}}))
	check.NoError(t, c.Outbox().Sending(ctx, 2))
	check.Error(t, find(t, c.store, "terminal:other").Outbox().Drop(ctx, 1, "no"), ErrNotFound)
	for _, row := range []int64{1, 2} {
		check.NoError(t, c.Outbox().Drop(ctx, row, "the channel is gone"))
	}
	if pieces, err := c.Outbox().Unsent(ctx); err != nil || len(pieces) != 1 || pieces[0].Text != "c" {
		t.Errorf("left are %+v, %v", pieces, err)
	}
	check.Equal(t, "the result", len(check.Must(c.store.Unfinished(ctx))(t)), 1)
	for name, again := range map[string]func() error{
		"sending": func() error { return c.Outbox().Sending(ctx, 1) },
		"sent":    func() error { return c.Outbox().Sent(ctx, 1, "p1") },
		"dropped": func() error { return c.Outbox().Drop(ctx, 1, "again") },
	} {
		if err := again(); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s after it was dropped: %v", name, err)
		}
	}
	if n := number(t, c.store, "SELECT count(*) FROM outbox WHERE state = 'dropped' AND error = 'the channel is gone' AND sent_at > 0"); n != 2 {
		t.Errorf("%d rows keep the reason", n)
	}
	check.NoError(t, c.Outbox().Sent(ctx, 3, "p3"))
	check.Error(t, c.Outbox().Drop(ctx, 3, "late"), ErrNotFound)
	check.Equal(t, "unfinished", len(check.Must(c.store.Unfinished(ctx))(t)), 0)
}

func TestPauses(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	want := func(scopes ...string) {
		t.Helper()
		if got, err := s.Pauses().List(ctx); err != nil || !slices.Equal(got, scopes) {
			t.Errorf("%q, %v, want %q", got, err, scopes)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want()
	check(s.Pauses().Pause(ctx, "slack:1/2", "Ann"))
	check(s.Pauses().Pause(ctx, "", "Bob"))
	check(s.Pauses().Pause(ctx, "", "Ann")) // again
	check(s.Close())
	s = openStore(t, dir)
	want("", "slack:1/2")
	check(s.Pauses().Resume(ctx, ""))
	check(s.Pauses().Resume(ctx, "slack:9/9"))
	want("slack:1/2")
	check(s.Pauses().Resume(ctx, "slack:1/2"))
	want()
}

func TestRefusalsAreCounted(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	c := find(t, s, "terminal:general")
	check.NoError(t, c.Outbox().Post(ctx, Outcome{Reply: "notice-1", Pieces: []string{"a", "b"}}))
	for want := 1; want <= 3; want++ {
		if want == 3 { // across a restart
			check.NoError(t, s.Close())
			s = openStore(t, dir)
			c = find(t, s, "terminal:general")
		}
		if times, err := c.Outbox().Refused(ctx, 2); err != nil || times != want {
			t.Errorf("%d refusals, %v; want %d", times, err, want)
		}
	}
	check.Equal(t, "of another piece", check.Must(c.Outbox().Refused(ctx, 1))(t), 1)
	check.NoError(t, c.Outbox().Drop(ctx, 2, "no"))
	check.Error(t, check.ErrorOf(c.Outbox().Refused(ctx, 2)), ErrNotFound)
}
