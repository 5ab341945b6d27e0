package compactor

import "testing"

func TestAFailureIsReportedUntilASummaryIsApplied(t *testing.T) {
	var r reports
	failed := Event{ID: 1, State: EventFailed}
	r.note(failed, 5)
	r.note(Event{ID: 2, State: EventStarted}, 6)
	if r.last.ID != 1 || r.failed.ID != 1 {
		t.Errorf("after a start: last %d, failed %d", r.last.ID, r.failed.ID)
	}
	r.note(Event{ID: 3, State: EventApplied, Kind: Placeholder}, 7)
	r.note(Event{ID: 4, State: EventNoop}, 8)
	if r.last.ID != 4 || r.failed.ID != 1 || r.appliedAt != 0 {
		t.Errorf("after an emergency: last %d, failed %d, applied at %d", r.last.ID, r.failed.ID, r.appliedAt)
	}
	r.note(Event{ID: 5, State: EventApplied, Kind: Leaf, Trigger: OnRepair}, 9)
	if r.failed.ID != 0 || r.appliedAt != 0 {
		t.Errorf("after a repair: failed %d, applied at %d", r.failed.ID, r.appliedAt)
	}
	if r.note(Event{ID: 6, State: EventApplied, Kind: Leaf}, 10); r.appliedAt != 10 {
		t.Errorf("after a summary: applied at %d", r.appliedAt)
	}
}
