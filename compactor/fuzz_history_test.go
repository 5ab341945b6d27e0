package compactor_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// FuzzHistory takes its bytes as the choices of TestInvariants: what is said, edited and
// deleted, when workers fail, when the disk refuses and the process dies. After every
// step what is promised of plan and view is held.
func FuzzHistory(f *testing.F) {
	chance := rand.NewChaCha8([32]byte{1})
	for range 3 {
		choices := make([]byte, 8000)
		_, _ = chance.Read(choices)
		f.Add(choices)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		file := newFile(t)
		rapid.MakeFuzz(func(rt *rapid.T) { makeHistory(t, rt, file, &metrics{}) })(t, choices)
	})
}
