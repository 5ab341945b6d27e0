package platform

import (
	"context"
	"slices"
	"testing"
)

func TestKeyedQueue(t *testing.T) {
	group := new(Group)
	group.Open(t.Context())
	q := &KeyedQueue[func()]{Group: group, Do: CallEach}
	hold, begun := make(chan struct{}), make(chan struct{})
	var done []int
	q.Add("a", func() { close(begun); <-hold })
	<-begun
	for i := range maxWaiting {
		if !q.Offer("a", func() { done = append(done, i) }) {
			t.Fatalf("the queue is full with %d", i)
		}
	}
	if q.Offer("a", func() {}) {
		t.Error("a key takes any number")
	}
	if !q.Add("a", func() { done = append(done, maxWaiting) }) {
		t.Error("what has to be done is refused")
	}
	passed := make(chan struct{})
	if !q.Offer("b", func() { close(passed) }) {
		t.Error("a full key closes the others")
	}
	<-passed
	close(hold)
	group.Close()
	if len(done) != maxWaiting+1 || !slices.IsSorted(done) {
		t.Errorf("%d done, in order: %v", len(done), slices.IsSorted(done))
	}
	if len(q.waiting) != 0 {
		t.Error("keys without work are kept")
	}
	if q.Add("c", func() { t.Error("done after the end") }) || group.Start(func(context.Context) {}) {
		t.Error("a closed group starts work")
	}
}
