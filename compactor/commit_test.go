package compactor_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"cairn/internal/check"
)

// A connector stores edits and deletions while the loop works: a decision made before the loop has
// noticed them is made again, at once or after the loop has noticed a deletion.
func TestUnnoticedChangesCauseNewDecision(t *testing.T) {
	check.SkipUnderRace(t)
	steps := map[string]func(r *rig) error{
		"an emergency": func(r *rig) error {
			r.resize(1100)
			r.c.Overflow(t.Context()) // only takes its steps
			check.That(r.t, len(r.c.Status().Stack) != 0, "got no hidden messages")
			return nil
		},
		"a compaction": func(r *rig) error { r.compactAndWait(); return nil },
		"a new session": func(r *rig) error {
			started, err := r.c.StartSession(t.Context())
			if started {
				r.ends = append(r.ends, int64(len(r.said)))
			}
			return err
		},
		"an undo": func(r *rig) error { r.compactAndWait(); return check.ErrorOf(r.c.Undo(t.Context())) },
	}
	changes := map[string]func(r *rig){
		"a deletion": func(r *rig) { check.NoError(r.t, check.ErrorOf(r.removeWithoutNotice(2, 3))) },
		"a pin":      func(r *rig) { check.NoError(r.t, check.ErrorOf(r.conv.Transcript().Pin(t.Context(), 4, "Ada"))) },
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
				err := do(r)
				r.apply(slices.Collect(maps.Keys(r.gone))...)
				r.c.Reread()
				if r.c.Check(t.Context()); err != nil {
					check.NoError(t, do(r))
				}
				r.waitIdle()
				check.NoError(t, r.checkShown())
				check.NoError(t, r.checkPublishedState())
				r.verify()
			})
		}
	}
}
