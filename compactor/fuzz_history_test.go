package compactor_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// FuzzHistory uses its bytes as the choices of TestInvariants: messages, edits, deletions, failures
// of workers and of the disk, and crashes. It checks the invariants of plan and view after every
// step.
func FuzzHistory(f *testing.F) {
	chance := rand.NewChaCha8([32]byte{1})
	for range 3 {
		choices := make([]byte, 8000)
		_, _ = chance.Read(choices)
		f.Add(choices)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		file := newFile(t)
		rapid.MakeFuzz(func(rt *rapid.T) { makeHistory(t, rt, file, &tally{counts: map[string]int{}}) })(t, choices)
	})
}
