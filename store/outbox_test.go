package store_test

import (
	"errors"
	"slices"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

func TestPost(t *testing.T) {
	c := storetest.NewConversation(t)
	notice := store.Outcome{Reply: "notice-1", To: []string{"m1"}, Pieces: []string{"wait", " a minute"}, Failure: true}
	for range 2 {
		check.NoError(t, c.Outbox().Post(ctx, notice))
		notice.Pieces = append(notice.Pieces, " please")
	}
	pieces, err := c.Outbox().Unsent(ctx)
	if err != nil || len(pieces) != 2 || pieces[1].Text != " a minute" || !pieces[0].Failure || !slices.Equal(pieces[0].To, []string{"m1"}) {
		t.Errorf("got two posts: %+v, %v", pieces, err)
	}
	check.NoError(t, storetest.Find(t, c.Store(), "terminal:other").Outbox().Post(ctx, notice))
	check.Equal(t, "id in another conversation", len(check.Must(storetest.Find(t, c.Store(), "terminal:other").Outbox().Unsent(ctx))(t)), 4)
}

func TestDrop(t *testing.T) {
	c := storetest.NewConversation(t)
	check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "notice-1", Pieces: []string{"a", "b", "c"}}))
	check.NoError(t, c.Outbox().Sending(ctx, 2))
	check.Error(t, storetest.Find(t, c.Store(), "terminal:other").Outbox().Drop(ctx, 1, "no"), store.ErrNotFound)
	for _, row := range []int64{1, 2} {
		check.NoError(t, c.Outbox().Drop(ctx, row, "the channel is gone"))
	}
	pieces := check.Must(c.Outbox().Unsent(ctx))(t)
	check.Len(t, "left", pieces, 1)
	check.Equal(t, "piece", pieces[0].Text, "c")
	check.Equal(t, "answer", len(check.Must(c.Store().Unfinished(ctx))(t)), 1)
	for name, again := range map[string]func() error{
		"sending": func() error { return c.Outbox().Sending(ctx, 1) },
		"sent":    func() error { return c.Outbox().Sent(ctx, 1, "p1") },
		"dropped": func() error { return c.Outbox().Drop(ctx, 1, "again") },
	} {
		if err := again(); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s after it was dropped: %v", name, err)
		}
	}
	check.Equal(t, "rows with the reason", storetest.Number(t, c.Store(), "SELECT count(*) FROM outbox WHERE state = 'dropped' AND error = 'the channel is gone' AND sent_at > 0"), 2)
	check.NoError(t, c.Outbox().Sent(ctx, 3, "p3"))
	check.Error(t, c.Outbox().Drop(ctx, 3, "late"), store.ErrNotFound)
	check.Equal(t, "unfinished", len(check.Must(c.Store().Unfinished(ctx))(t)), 0)
}

func TestPauses(t *testing.T) {
	p := storetest.NewConversation(t).Store().Pauses()
	for _, step := range []struct {
		do   func() error
		want []string
	}{
		{func() error { return p.Pause(ctx, "slack:1/2", "Ann") }, []string{"slack:1/2"}},
		{func() error { return p.Pause(ctx, "", "Bob") }, []string{"", "slack:1/2"}},
		{func() error { return p.Pause(ctx, "", "Ann") }, []string{"", "slack:1/2"}},
		{func() error { return p.Resume(ctx, "") }, []string{"slack:1/2"}},
		{func() error { return p.Resume(ctx, "slack:9/9") }, []string{"slack:1/2"}},
		{func() error { return p.Resume(ctx, "slack:1/2") }, nil},
	} {
		check.NoError(t, step.do())
		check.EqualAll(t, "pauses", check.Must(p.List(ctx))(t), step.want)
	}
}

func TestRefusalsAreCounted(t *testing.T) {
	c := storetest.NewConversation(t)
	check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "notice-1", Pieces: []string{"a", "b"}}))
	for want := 1; want <= 3; want++ {
		if want == 3 { // across a restart
			c = reopen(t, c)
		}
		check.Equal(t, "refusals", check.Must(c.Outbox().Refused(ctx, 2))(t), want)
	}
	check.Equal(t, "refusals of another piece", check.Must(c.Outbox().Refused(ctx, 1))(t), 1)
	check.NoError(t, c.Outbox().Drop(ctx, 2, "no"))
	check.Error(t, check.ErrorOf(c.Outbox().Refused(ctx, 2)), store.ErrNotFound)
}
