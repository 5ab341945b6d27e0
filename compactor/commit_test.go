package compactor_test

import (
	"fmt"
	"testing"

	"cairn/internal/check"
)

// A connector stores edits and deletions while the loop works: a decision made before the loop has
// noticed them is made again.
func TestUnnoticedChangesCauseNewDecision(t *testing.T) {
	check.SkipUnderRace(t)
	steps := map[string]func(r *rig){
		"an emergency": func(r *rig) {
			r.resize(1100)
			r.c.Overflow(t.Context()) // only takes its steps
			if len(r.c.Status().Stack) == 0 {
				r.t.Error("got no hidden messages")
			}
		},
		"a compaction":  func(r *rig) { r.compactAndWait() },
		"a new session": func(r *rig) { r.startSession() },
		"an undo":       func(r *rig) { r.compactAndWait(); check.NoError(r.t, check.ErrorOf(r.c.Undo(t.Context()))) },
	}
	changes := map[string]func(r *rig){
		"a deletion": func(r *rig) { check.NoError(r.t, check.ErrorOf(r.removeWithoutNotice(2, 3))) },
		"a pin":      func(r *rig) { check.NoError(r.t, check.ErrorOf(r.conv.Transcript().Pin(t.Context(), 4, "Ada"))) },
		"both": func(r *rig) {
			check.NoError(r.t, check.ErrorOf(r.conv.Transcript().Pin(t.Context(), 4, "Ada")))
			check.NoError(r.t, check.ErrorOf(r.removeWithoutNotice(5)))
		},
		"a deletion of which the head alone was read": func(r *rig) {
			check.NoError(r.t, check.ErrorOf(r.removeWithoutNotice(2, 3)))
			r.c.Reread()
		},
	}
	for step, do := range steps {
		for what, change := range changes {
			t.Run(fmt.Sprintf("%s after %s", step, what), func(t *testing.T) {
				r := newRig(t, 8000, nil)
				r.deliverMany(12, 50)
				r.talk("question 12?", "a result "+filler(60), "another result "+filler(60))
				change(r)
				do(r)
				var gone []int64
				for seq := range r.gone {
					gone = append(gone, seq)
				}
				r.apply(gone...)
				r.c.Reread()
				r.c.Check(t.Context())
				r.waitIdle()
				check.NoError(t, r.checkShown())
				check.NoError(t, r.checkPublishedState())
				r.verify()
			})
		}
	}
}
