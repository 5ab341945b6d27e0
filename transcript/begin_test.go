package transcript_test

import (
	"errors"
	"testing"

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
			if _, err := c.s.Begin(transcript.Summary{Kind: transcript.Leaf, Span: span}); !errors.Is(err, transcript.ErrSpan) {
				t.Error(err)
			}
		})
	}
}

func TestPrepare(t *testing.T) {
	t.Run("a result of a message that was edited meanwhile is stale", func(t *testing.T) {
		c := said(t, 4)
		sum := c.begin(job{from: 1, to: 2})
		c.apply(c.s.Edit(c.messages[2]))
		if _, err := c.s.Prepare(sum); !errors.Is(err, transcript.ErrStale) {
			t.Error(err)
		}
		c.status(sum.ID, transcript.Stale)
	})
	t.Run("so is one whose worker read a message for reference that was deleted", func(t *testing.T) {
		c := said(t, 9)
		sum := c.begin(job{from: 3, to: 5, reads: transcript.Span{From: 1, To: 9}})
		c.apply(c.s.Delete([]int64{8}, nil))
		if _, err := c.s.Prepare(sum); !errors.Is(err, transcript.ErrStale) {
			t.Error(err)
		}
	})
	t.Run("once prepared, only its own span counts", func(t *testing.T) {
		c := said(t, 9)
		id := c.prepare(job{from: 3, to: 5, reads: transcript.Span{From: 1, To: 9}})
		c.apply(c.s.Delete([]int64{8}, nil))
		c.status(id, transcript.Prepared)
	})
	t.Run("what was begun cannot be changed by its result", func(t *testing.T) {
		c := said(t, 4)
		sum := c.begin(job{from: 1, to: 2})
		sum.To, sum.Text = 4, "all"
		c.must(c.s.Prepare(sum))
		if got := c.s.Prepared[0]; got.To != 2 || got.Text != "all" {
			t.Errorf("prepared is %+v", got)
		}
	})
}

func TestFail(t *testing.T) {
	c := said(t, 4)
	sum := c.begin(job{from: 1, to: 2})
	c.apply(c.s.Fail(sum.ID, "the model is down"))
	c.status(sum.ID, transcript.Failed)
	c.wants("1", "2", "3", "4")
	if !c.s.Fail(sum.ID, "again").Empty() {
		t.Error("it fails twice")
	}
}

func TestDiscard(t *testing.T) {
	c := said(t, 4)
	id, other := c.prepare(job{from: 1, to: 2}), c.prepare(job{from: 3, to: 4})
	c.apply(c.s.Discard([]int64{id}))
	c.status(id, transcript.Stale)
	c.status(other, transcript.Prepared)
}
