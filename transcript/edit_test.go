package transcript_test

import (
	"testing"

	"cairn/transcript"
)

func TestEdit(t *testing.T) {
	t.Run("a verbatim message is shown as it is now", func(t *testing.T) {
		c := said(t, 3)
		m := message("changed")
		m.Seq, m.Turn = 2, 2
		c.apply(c.s.Edit(m))
		if got, _ := c.s.Messages.Find(2); got.Content.Text != "changed" {
			t.Errorf("message 2 is %+v", got)
		}
	})
	t.Run("a worker's summary stays and is to be repaired", func(t *testing.T) {
		c := said(t, 3)
		id := c.summarize(job{from: 1, to: 2})
		c.apply(c.s.Edit(c.messages[2]))
		c.wants("leaf 1-2", "3")
		if row := c.summaries[id]; !row.NeedsRepair() || row.Text == "" {
			t.Errorf("%+v", row)
		}
	})
	t.Run("an extractive one becomes a placeholder", func(t *testing.T) {
		c := said(t, 3)
		c.summarize(job{from: 1, to: 2, by: transcript.Extractive})
		c.apply(c.s.Edit(c.messages[2]))
		c.wants("placeholder 1-2", "3")
	})
	t.Run("what is prepared of it is stale, and nothing else", func(t *testing.T) {
		c := said(t, 6)
		over, other := c.prepare(job{from: 1, to: 2}), c.prepare(job{from: 3, to: 4})
		c.apply(c.s.Edit(c.messages[2]))
		c.status(over, transcript.Stale)
		c.status(other, transcript.Prepared)
	})
}

func TestDelete(t *testing.T) {
	t.Run("a verbatim message goes", func(t *testing.T) {
		c := said(t, 3)
		c.apply(c.s.Delete([]int64{2}, nil))
		c.wants("1", "3")
	})
	t.Run("a summary of it becomes a placeholder without its text", func(t *testing.T) {
		c := said(t, 4)
		id := c.summarize(job{from: 1, to: 3})
		c.apply(c.s.Delete([]int64{2}, nil))
		c.wants("placeholder 1-3", "4")
		if row := c.summaries[id]; row.Text != "" || row.Messages != 2 || !row.AwaitsModel {
			t.Errorf("%+v", row)
		}
	})
	t.Run("a rollup keeps its children, which lose their texts too", func(t *testing.T) {
		c := said(t, 6)
		a, b := c.summarize(job{from: 1, to: 2}), c.summarize(job{from: 3, to: 4})
		c.summarize(job{from: 1, to: 4, children: []int64{a, b}})
		c.apply(c.s.Delete([]int64{2}, nil))
		c.wants("placeholder 1-4", "5", "6")
		if c.summaries[a].Text != "" || c.summaries[b].Text == "" {
			t.Errorf("the children are %+v and %+v", c.summaries[a], c.summaries[b])
		}
		c.summarize(job{from: 1, to: 4, trigger: transcript.OnRepair, children: []int64{a, b}})
		c.wants("rollup 1-4", "5", "6")
	})
	t.Run("a summary of nothing ends", func(t *testing.T) {
		c := said(t, 3)
		id := c.summarize(job{from: 1, to: 2})
		c.apply(c.s.Delete([]int64{1, 2}, nil))
		c.wants("3")
		c.status(id, transcript.Replaced)
	})
	t.Run("a summary elsewhere that repeats it loses its text", func(t *testing.T) {
		c := said(t, 6)
		id, late := c.summarize(job{from: 1, to: 2}), c.prepare(job{from: 3, to: 4})
		c.apply(c.s.Delete([]int64{6}, []int64{id, late}))
		c.wants("placeholder 1-2", "3", "4", "5")
		c.status(late, transcript.Stale)
	})
	t.Run("its pin goes", func(t *testing.T) {
		c := said(t, 2)
		c.apply(c.s.Pin(transcript.Pin{Message: c.messages[1]}))
		c.apply(c.s.Delete([]int64{1}, nil))
		if len(c.s.Pins) > 0 {
			t.Errorf("the pins are %+v", c.s.Pins)
		}
	})
	t.Run("the open turn ends with its last question", func(t *testing.T) {
		c := said(t, 1)
		turn := c.ask()
		c.apply(c.s.Delete([]int64{1}, nil))
		if c.s.Open != turn {
			t.Error("another message was deleted, and the turn has ended")
		}
		c.apply(c.s.Delete([]int64{turn}, nil))
		if c.s.Open != 0 {
			t.Errorf("turn %d is open", c.s.Open)
		}
	})
	t.Run("in an earlier session it changes its summary alone", func(t *testing.T) {
		c := said(t, 2)
		c.must(c.s.NewSession(true))
		c.say(1)
		c.apply(c.s.Delete([]int64{1}, nil))
		c.wants("placeholder 1-2", "3")
	})
}

func TestPin(t *testing.T) {
	c := said(t, 2)
	pin := transcript.Pin{Message: c.messages[1], By: "Ada"}
	c.apply(c.s.Pin(pin))
	if !c.s.Pin(pin).Empty() {
		t.Error("a message is pinned twice")
	}
	m := message("changed")
	m.Seq, m.Turn = 1, 1
	c.apply(c.s.Edit(m))
	if c.s.Pins[0].Content.Text != "changed" {
		t.Error("an edit does not reach the pin")
	}
	c.apply(c.s.Unpin(1))
	if len(c.s.Pins) > 0 || !c.s.Unpin(1).Empty() {
		t.Errorf("the pins are %+v", c.s.Pins)
	}
}

// TestWith: what the loop does with a change of another version is an error of the program.
func TestWith(t *testing.T) {
	c := said(t, 2)
	old := c.s.Edit(c.messages[1])
	c.say(1)
	defer func() {
		if recover() == nil {
			t.Error("a change is applied to a state that it was not made from")
		}
	}()
	c.s.With(old)
}
