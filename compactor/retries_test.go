package compactor

import (
	"fmt"
	"testing"
	"time"

	"cairn/internal/check"
)

func TestRetriesBackOffAndPause(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var r retries
	for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
		r.failed(now)
		check.Equal(t, fmt.Sprintf("pause after %d failures", i+1), r.retryAt.Sub(now), want)
	}
	r.worked()
	check.That(t, r.failures == 0 && r.retryAt.IsZero(), "a success does not clear the failures")
	r.freed(4, 100, false, now, time.Minute)
	check.Equal(t, "paused after one useless compaction", r.why(now), "")
	r.freed(5, 100, false, now, time.Minute)
	r.freed(4, 100, false, now, time.Minute)
	check.Equal(t, "paused after separate useless compactions", r.why(now), "")
	r.freed(90, 100, true, now, time.Minute)
	if r.why(now) == "" || r.why(now.Add(time.Minute)) != "" {
		t.Error("two useless applied compactions in a row do not pause for the cooldown")
	}
}

func TestRepairsBackOffSeparately(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var r retries
	r.repairFailed(1, now, nil)
	r.repairFailed(2, now, []Compaction{{ID: 1}, {ID: 2}})
	r.repairFailed(2, now, []Compaction{{ID: 1}, {ID: 2}})
	for id, want := range map[int64]time.Time{1: now.Add(time.Minute), 2: now.Add(2 * time.Minute), 3: {}} {
		if got := r.repairAt(id); !got.Equal(want) {
			t.Errorf("row %d is repaired from %v on, want %v", id, got, want)
		}
	}
	r.repairFailed(2, now, []Compaction{{ID: 2}})
	check.That(t, len(r.repairs) == 1 && r.retryAt.IsZero(), "known are %v, and a model waits until %v", r.repairs, r.retryAt)
}

func TestDecliningModelIsLeftAlone(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var r retries
	r.declined(now, 3)
	r.declined(now, 3)
	r.worked()
	r.declined(now, 3)
	r.declined(now, 3)
	check.Equal(t, "pause after a few declined spans", r.why(now), "")
	r.declined(now, 3)
	check.Equal(t, "pause after three in a row", r.failures, 3)
	check.Equal(t, "failures", r.why(now), reasonBackoff)
}

func TestVetoExpires(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var r retries
	check.That(t, !r.forbids(OnRepair, now), "a veto applies to another span")
	r.forbid(OnRepair, "not at night", now.Add(time.Hour))
	if !r.forbids(OnRepair, now) || r.forbids(OnRollup, now) || r.why(now) != "repair was forbidden: not at night" {
		t.Errorf("it says %q", r.why(now))
	}
	if later := now.Add(time.Hour); r.forbids(OnRepair, later) || r.why(later) != "" {
		t.Errorf("an hour later: got %q", r.why(later))
	}
}
