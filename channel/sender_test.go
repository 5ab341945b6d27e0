package channel_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Many replies wait behind one that takes long, some of them in memory and some only on
// disk; whatever happens to the first, each goes out once, and in order.
func TestRepliesBehindASlowOneGoOutOnceAndInOrder(t *testing.T) {
	for name, fails := range map[string]int{"it arrives": 0, "it fails": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const turns = 50
			r := newRig(t, echo)
			r.door.note(func() { r.door.slow, r.door.fails = 2*time.Second, fails })
			var want []string
			for n := range turns {
				want = append(want, fmt.Sprint("answer ", n+1))
				r.say("hello", true)
				r.door.until(t, "the message to be taken up", func() bool { return r.door.taken() == n+1 })
			}
			r.door.note(func() { r.door.slow = 0 })
			r.idle()
			if got := r.door.texts(); !slices.Equal(got, want) {
				t.Errorf("got %d: %q", len(got), got)
			}
			if _, waiting, err := r.store.Waiting(t.Context()); err != nil || waiting != 0 {
				t.Errorf("%d wait in the outbox, %v", waiting, err)
			}
		})
	}
}
