package main

import (
	"testing"

	"cairn/internal/check"
)

func TestTools(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	r := ranAs[toolResult](t, "tools", "--steps", "14")
	check.Require(t, len(r.Runs) == 4, "%+v", r)
	for _, run := range r.Runs {
		if run.State != "done" || run.Steps != 14 || run.Requests != 15 || run.Largest > 32_000 || run.Hidden+run.Cleared == 0 {
			t.Errorf("%+v", run)
		}
	}
	check.That(t, r.Runs[0].Cleared != 0 && r.Runs[1].Cleared == 0, "cleared: %+v", r.Runs)
}
