package compactor_test

import (
	"fmt"
	"testing"

	"cairn/internal/check"
	"cairn/llm/llmtest"
)

func TestCountSurvivesRestart(t *testing.T) {
	finished := func() *rig {
		r := newRig(t, 20_000, &llmtest.Model{Func: goodSummary})
		r.size = 1.4
		for i := range 8 {
			r.talk(fmt.Sprintf("question %d %s", i, filler(50)))
		}
		return r
	}
	t.Run("the status is unchanged", func(t *testing.T) {
		r := finished()
		r.deliverNotes("one more")
		before := r.c.Status().Used
		check.Require(t, r.c.Count().Prompt != 0, "got no count")
		r.restart()
		check.Equal(t, "tokens used after the restart", r.c.Status().Used, before)
	})
	t.Run("not after a change of the head", func(t *testing.T) {
		r := finished()
		r.compactAndWait()
		r.restart()
		check.Equal(t, "counted prompt", r.c.Count().Prompt, 0)
	})
	t.Run("not after an edit", func(t *testing.T) {
		r := finished()
		r.edit(1, "edited")
		r.restart()
		check.Equal(t, "counted prompt", r.c.Count().Prompt, 0)
	})
	t.Run("not for another model", func(t *testing.T) {
		r := finished()
		r.close()
		r.model = "another"
		r.open()
		check.Equal(t, "counted prompt", r.c.Count().Prompt, 0)
	})
}
