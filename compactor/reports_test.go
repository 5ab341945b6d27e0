package compactor

import (
	"testing"

	"cairn/internal/check"
)

func TestFailureIsReportedUntilApplied(t *testing.T) {
	var r reports
	failed := Event{ID: 1, State: EventFailed}
	r.note(failed, 5)
	r.note(Event{ID: 2, State: EventStarted}, 6)
	check.Equal(t, "after a start: last", r.last.ID, 1)
	check.Equal(t, "failed", r.failed.ID, 1)
	r.note(Event{ID: 3, State: EventApplied, Kind: Placeholder}, 7)
	r.note(Event{ID: 4, State: EventNoop}, 8)
	check.Equal(t, "after an emergency: last", r.last.ID, 4)
	check.Equal(t, "failed", r.failed.ID, 1)
	check.Equal(t, "applied", r.appliedAt, 0)
	r.note(Event{ID: 5, State: EventApplied, Kind: Leaf, Trigger: OnRepair}, 9)
	check.Equal(t, "after a repair: failed", r.failed.ID, 0)
	check.Equal(t, "applied", r.appliedAt, 0)
	if r.note(Event{ID: 6, State: EventApplied, Kind: Leaf}, 10); r.appliedAt != 10 {
		t.Errorf("after a summary: applied at %d", r.appliedAt)
	}
}
