package compactor

import (
	"fmt"
	"reflect"
	"slices"

	"cairn/llm"
)

// Speak is somebody who speaks to the bot.
func (c *Compactor) Speak() {
	c.h.spoken = true
}

// Spoken tells whether somebody spoke to the bot since a summary landed.
func (c *Compactor) Spoken() bool { return c.h.spoken }

// Sight is the view as it stands. Unlike Request it begins nothing that may change it.
func (c *Compactor) Sight() []llm.Message {
	return new(rendering).next(c.o.System, c.h.view)
}

// Prospect says how the view with everything staged applied, as plans are made on it, differs
// from one that is made anew; "": it does not.
func (c *Compactor) Prospect() string {
	s := c.h.view
	kept, anew := c.ahead(), s.with(c.staged)
	seqs := func(s view) (seqs []int64) {
		for _, l := range s.lines {
			seqs = append(seqs, l.Seq)
		}
		return seqs
	}
	switch {
	case !slices.Equal(seqs(kept), seqs(anew)):
		return fmt.Sprintf("messages %v, not %v", seqs(kept), seqs(anew))
	case kept.lineCost != anew.lineCost || kept.stackCost() != anew.stackCost() || kept.contextCost != anew.contextCost:
		return fmt.Sprintf("%d, %d and %d tokens, not %d, %d and %d", kept.lineCost, kept.stackCost(), kept.contextCost, anew.lineCost, anew.stackCost(), anew.contextCost)
	case !reflect.DeepEqual(kept.head, anew.head):
		return fmt.Sprintf("head %+v, not %+v", kept.head, anew.head)
	}
	sum := 0
	for _, l := range kept.lines {
		if sum += l.tokens; covered(c.staged, l.Seq) {
			return fmt.Sprintf("message %d although it is covered", l.Seq)
		}
	}
	if sum != kept.lineCost {
		return fmt.Sprintf("%d tokens, and its messages have %d", kept.lineCost, sum)
	}
	return ""
}

// Filling reports whether a placeholder is being filled.
func (c *Compactor) Filling() bool { return c.filling != nil }

// HeadLength, Spare and Budget are of the last request.
func (c *Compactor) HeadLength() int { return c.rendering.headLen }
func (c *Compactor) Spare() int      { return max(c.asked.spare, 1) }
func (c *Compactor) Budget() int     { return c.budget() }
