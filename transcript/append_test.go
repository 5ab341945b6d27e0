package transcript_test

import (
	"errors"
	"testing"

	"cairn/transcript"
)

func TestAppend(t *testing.T) {
	t.Run("messages get the next places, each a turn of its own", func(t *testing.T) {
		c := said(t, 2)
		c.say(1)
		c.wants("1", "2", "3")
		if m, _ := c.s.Messages.Last(); m.Turn != 3 || c.s.NextSeq != 4 || c.s.InSession != 3 {
			t.Errorf("the newest message is %+v, the marks are %+v", m, c.s.Marks)
		}
	})
	t.Run("a question opens its turn, and the answer ends it", func(t *testing.T) {
		c := said(t, 1)
		if turn := c.ask(); turn != 2 {
			t.Errorf("turn %d is open", turn)
		}
		c.answer(2)
		if m, _ := c.s.Messages.Last(); c.s.Open != 0 || m.Turn != 2 || m.Seq != 7 {
			t.Errorf("turn %d is open, the newest message is %+v", c.s.Open, m)
		}
	})
	t.Run("messages that arrive together are one turn, open if one of them asks", func(t *testing.T) {
		c := said(t, 1)
		c.must(c.s.Append(transcript.Message{Role: transcript.User}, transcript.Message{Role: transcript.User, Turn: 2, Addressed: true}))
		if c.s.Open != 2 {
			t.Errorf("turn %d is open", c.s.Open)
		}
	})
	t.Run("a turn without an answer shows no contexts of before", func(t *testing.T) {
		c := said(t, 1)
		c.ask()
		c.must(c.s.Answer())
		if c.s.Open != 0 || c.s.ContextFrom != 3 {
			t.Errorf("the marks are %+v", c.s.Marks)
		}
	})
	for _, bad := range []struct {
		claim string
		m     transcript.Message
		want  error
	}{
		{"a place that is taken is refused", transcript.Message{Seq: 2}, transcript.ErrOrder},
		{"a place that leaves a hole is refused", transcript.Message{Seq: 4}, transcript.ErrOrder},
		{"an old turn is refused", transcript.Message{Turn: 1}, transcript.ErrOrder},
	} {
		t.Run(bad.claim, func(t *testing.T) {
			if change, err := said(t, 2).s.Append(bad.m); !errors.Is(err, bad.want) || !change.Empty() {
				t.Errorf("%v, empty %v", err, change.Empty())
			}
		})
	}
	t.Run("nothing stands between a question and its answer", func(t *testing.T) {
		c := said(t, 1)
		c.ask()
		if _, err := c.s.Append(message("meanwhile")); !errors.Is(err, transcript.ErrOpen) {
			t.Error(err)
		}
	})
}
