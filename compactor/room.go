package compactor

import (
	"fmt"

	"cairn/chat"
	"cairn/transcript"
)

// whyNoRoom returns why there is no room for another head, with the same pins and inheritance, and
// freed messages; "" if there is.
func (pl *planner) whyNoRoom(head Head, freed []chat.Message) string {
	s := pl.now
	p := pl.policy
	window := pl.meter.o.Window()
	head.Pins, head.Inherited = s.Head.Pins, s.Head.Inherited
	restored := s
	restored.View = restored.WithHead(head).Restore(freed)
	if cost, budget := restored.StackCost(), p.stackBudget(pl.meter.budget()); cost > budget && cost > s.StackCost() {
		return fmt.Sprintf("the summaries would need %d tokens, but stack_budget allows %d", cost, budget)
	}
	if used := pl.meter.used(restored); float64(used) >= p.AggressiveThreshold*float64(window) {
		return fmt.Sprintf("that would use %d of %d tokens, and from %d on the oldest messages are summarized again",
			used, window, int(p.AggressiveThreshold*float64(window)))
	}
	return ""
}

// fitsLines returns a NoRoomError if another head makes the prompt too large, or has too much text of people.
func (pl *planner) fitsLines(head Head) error {
	limit := pl.policy.stackBudget(pl.meter.budget()) / peopleShare
	theirs := 0
	for _, row := range head.Rows() {
		theirs += peopleCost(row)
	}
	if theirs > limit {
		return &NoRoomError{fmt.Sprintf("lines that people wrote would need %d tokens, but at most %d are allowed", theirs, limit)}
	}
	if transcript.StackCost(head.Stack) <= transcript.StackCost(pl.now.Head.Stack) {
		return nil
	}
	if why := pl.whyNoRoom(head, nil); why != "" {
		return &NoRoomError{why}
	}
	return nil
}
