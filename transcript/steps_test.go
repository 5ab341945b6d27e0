package transcript_test

import (
	"errors"
	"testing"

	"cairn/internal/check"
	"cairn/transcript"
)

func TestBegin(t *testing.T) {
	t.Run("the span stays verbatim until the summary is applied", func(t *testing.T) {
		c := said(t, 4)
		c.prepare(job{from: 1, to: 2})
		c.wants("1", "2", "3", "4")
	})
	for claim, span := range map[string]transcript.Span{
		"a span beyond the newest message is refused":     {From: 3, To: 9},
		"a span that ends before it begins is refused":    {From: 3, To: 2},
		"a span with the open turn is refused":            {From: 3, To: 5},
		"a span over the end of a session is refused":     {From: 1, To: 3},
		"a span before the first message is refused":      {From: 0, To: 1},
		"the span of an earlier session and 3 is refused": {From: 2, To: 3},
	} {
		t.Run(claim, func(t *testing.T) {
			c := said(t, 2)
			c.must(c.s.NewSession(false))
			c.say(2)
			c.ask()
			check.Error(t, check.ErrorOf(c.s.Begin(transcript.Summary{Kind: transcript.Leaf, Span: span})), transcript.ErrSpan)
		})
	}
}

func TestAppend(t *testing.T) {
	for _, a := range []struct {
		claim string
		m     transcript.Message
		err   error
		turn  int64
	}{
		{"a message gets the next place, and is a turn of its own", transcript.Message{}, nil, 3},
		{"a message may belong to the turn before", transcript.Message{Turn: 2}, nil, 2},
		{"a place may leave a hole", transcript.Message{Seq: 9}, nil, 9},
		{"a place that is taken is refused", transcript.Message{Seq: 2}, transcript.ErrOrder, 0},
		{"a turn that has ended is refused", transcript.Message{Turn: 1}, transcript.ErrOrder, 0},
		{"a turn of a later message is refused", transcript.Message{Turn: 4}, transcript.ErrOrder, 0},
	} {
		t.Run(a.claim, func(t *testing.T) {
			c := said(t, 2)
			change, err := c.s.Append(a.m)
			if !errors.Is(err, a.err) || change.Empty() != (a.err != nil) {
				t.Fatalf("%v, empty %v", err, change.Empty())
			}
			c.apply(change)
			if m, _ := c.s.Messages.Last(); err == nil && m.Turn != a.turn {
				t.Errorf("the newest message is %+v", m)
			}
		})
	}
}

func TestPrepare(t *testing.T) {
	t.Run("a result of a message that was edited meanwhile is stale", func(t *testing.T) {
		c := said(t, 4)
		sum := c.begin(job{from: 1, to: 2})
		c.edit(2)
		check.Error(t, check.ErrorOf(c.s.Prepare(sum)), transcript.ErrStale)
		c.status(sum.ID, transcript.Stale)
	})
	t.Run("what was begun cannot be changed by its result", func(t *testing.T) {
		c := said(t, 4)
		sum := c.begin(job{from: 1, to: 2})
		sum.To, sum.Text = 4, "all"
		c.must(c.s.Prepare(sum))
		got := c.s.Prepared[0]
		check.Equal(t, "prepared", got.To, 2)
		check.Equal(t, "text of the prepared summary", got.Text, "all")
	})
}

func TestFail(t *testing.T) {
	c := said(t, 4)
	sum := c.begin(job{from: 1, to: 2})
	c.apply(c.s.Fail(sum.ID, "the model is down"))
	c.status(sum.ID, transcript.Failed)
	c.wants("1", "2", "3", "4")
	check.That(t, c.s.Fail(sum.ID, "again").Empty(), "a row fails twice")
}
