package channel_test

import (
	"fmt"
	"testing"

	"cairn/testkit/check"
)

// History is not for all to read, though its numbers can be tried.
func TestMemoryIsShownIfAListShowsIt(t *testing.T) {
	r := newRig(t, echo)
	r.runAs(ada, place, "/remember Ada has a scar on her knee")
	shown := r.runAs(bo, place, "/memories show 1")
	check.Contains(t, "an active one", shown.String(), "scar on her knee")
	check.Len(t, "its buttons", shown.Buttons, 2)
	check.EqualAll(t, "what a list opens", r.runAs(bo, place, "/memories").Lines, []string{"/memories show 1"})
	r.says(bo, place+"-elsewhere", "/memories show 1", "has no memory 1")
	for _, state := range []string{"replaced", "superseded", "forgotten"} {
		r.execute(fmt.Sprintf("UPDATE memories SET state = '%s'", state))
		r.says(bo, place, "/memories show 1", "has no memory 1")
	}
}
