package compactor

import (
	"fmt"
	"reflect"
	"slices"

	"cairn/llm"
	"cairn/transcript"
)

// Speak addresses a message to the bot.
func (c *Compactor) Speak() { c.h.addressed = true }

// Sight returns the current view. Unlike Request it starts no work.
func (c *Compactor) Sight() []llm.Message { return new(rendering).next(c.o.System, c.h.view) }

// Prospect describes how the planned view, with everything prepared applied, differs from a fresh one; "" if it does not.
func (c *Compactor) Prospect() string {
	s := c.h.view
	kept, rebuilt := c.ahead(), s.with(c.prepared)
	seqs := func(s view) (seqs []int64) {
		for _, l := range s.lines {
			seqs = append(seqs, l.Seq)
		}
		return seqs
	}
	switch {
	case !slices.Equal(seqs(kept), seqs(rebuilt)):
		return fmt.Sprintf("messages %v, not %v", seqs(kept), seqs(rebuilt))
	case kept.lineCost != rebuilt.lineCost || kept.stackCost() != rebuilt.stackCost() || kept.contextCost != rebuilt.contextCost:
		return fmt.Sprintf("%d, %d and %d tokens, not %d, %d and %d", kept.lineCost, kept.stackCost(), kept.contextCost, rebuilt.lineCost, rebuilt.stackCost(), rebuilt.contextCost)
	case !reflect.DeepEqual(kept.head, rebuilt.head):
		return fmt.Sprintf("head %+v, not %+v", kept.head, rebuilt.head)
	}
	sum := 0
	for _, l := range kept.lines {
		if sum += l.tokens; covered(c.prepared, l.Seq) {
			return fmt.Sprintf("message %d although it is covered", l.Seq)
		}
	}
	if sum != kept.lineCost {
		return fmt.Sprintf("%d tokens, and its messages have %d", kept.lineCost, sum)
	}
	return ""
}

// Transcript is the state for decisions; nil if it must be reread first.
func (c *Compactor) Transcript() *transcript.State {
	if c.h.outdated {
		return nil
	}
	return c.transcript()
}

// Refused returns what a strict provider rejects in a request, whose adjacent messages of users its
// protocol joins; "" if nothing.
func Refused(messages []llm.Message) string { return refusedByAStrictProvider(joined(messages)) }

func StackCost(rows []Compaction) int { return stackCost(rows) }

func (c *Compactor) Filling() bool { return c.filling != nil }

// HeadLength and Spare belong to the last request.
func (c *Compactor) HeadLength() int { return c.lastRequest.rendering.headLen }
func (c *Compactor) Spare() int      { return max(c.lastRequest.spare, 1) }
