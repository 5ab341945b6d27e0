// Lanes.

package slack

import (
	"slices"
	"testing"
)

func TestLanes(t *testing.T) {
	t.Parallel()
	l := newLanes(doAll)
	hold, begun := make(chan struct{}), make(chan struct{})
	var done []int
	l.add("a", func() { close(begun); <-hold })
	<-begun
	for i := range maxWaiting {
		if !l.add("a", func() { done = append(done, i) }) {
			t.Fatalf("the lane is full with %d", i)
		}
	}
	if l.add("a", func() {}) {
		t.Error("a lane takes any number")
	}
	passed := make(chan struct{})
	if !l.add("b", func() { close(passed) }) {
		t.Error("a full lane closes the others")
	}
	<-passed
	close(hold)
	l.wait()
	if len(done) != maxWaiting || !slices.IsSorted(done) {
		t.Errorf("%d done, in order: %v", len(done), slices.IsSorted(done))
	}
	if len(l.waiting) != 0 {
		t.Error("empty lanes are kept")
	}
}
