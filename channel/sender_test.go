package channel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
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

func TestAPieceThatIsRefusedAgainAndAgainIsDropped(t *testing.T) {
	refuses := func(text string) func(channel.Piece) bool {
		return func(p channel.Piece) bool { return strings.HasPrefix(p.Text, text) }
	}
	t.Run("what waits behind it goes on, and people hear of it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, echo)
			r.door.note(func() { r.door.refuses = refuses("answer 1") })
			begun := time.Now()
			r.say("hello", true)
			time.Sleep(time.Second)
			r.say("and this?", true)
			synctest.Wait()
			if s := r.hub.Stats(); s.Refused != 1 || s.Dropped != 0 {
				t.Errorf("while it is refused: %d refused, %d dropped", s.Refused, s.Dropped)
			}
			if err := r.hub.Idle(t.Context(), place); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took > time.Hour {
				t.Errorf("it took %v", took)
			}
			got := r.door.texts()
			if len(got) != 2 || got[0] != "answer 2" || !strings.HasPrefix(got[1], "I could not send an answer here") {
				t.Errorf("sent %q", got)
			}
			if s := r.hub.Stats(); len(r.door.tried) != 8 || s.Refused != 0 || s.Dropped != 1 {
				t.Errorf("%d tries, %d refused, %d dropped", len(r.door.tried), s.Refused, s.Dropped)
			}
			r.stop()
		})
	})
	t.Run("tries count over restarts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, echo)
			r.door.note(func() { r.door.refuses = refuses("answer 1") })
			r.say("hello", true)
			for range 6 { // two tries each
				time.Sleep(2 * time.Second)
				r.restart()
			}
			if err := r.hub.Idle(t.Context(), place); err != nil {
				t.Fatal(err)
			}
			if len(r.door.tried) != 8 || len(r.door.texts()) != 1 {
				t.Errorf("%d tries, sent %q", len(r.door.tried), r.door.texts())
			}
			r.stop()
		})
	})
	t.Run("nothing is said of the sentence that says so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, echo)
			r.door.note(func() { r.door.refuses = refuses("") })
			r.say("hello", true)
			if err := r.hub.Idle(t.Context(), place); err != nil {
				t.Fatal(err)
			}
			if s := r.hub.Stats(); len(r.door.tried) != 16 || s.Dropped != 2 {
				t.Errorf("%d tries, %d dropped", len(r.door.tried), s.Dropped)
			}
			r.stop()
		})
	})
	t.Run("while the door is not connected no try counts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, echo)
			r.stop()
			r.opts.Doors = []channel.Door{offline{r.door}}
			r.start()
			r.door.note(func() { r.door.fails = 100 })
			r.say("hello", true)
			if err := r.hub.Idle(t.Context(), place); err != nil {
				t.Fatal(err)
			}
			equal(t, "sent", r.door.texts(), []string{"answer 1"})
			r.stop()
		})
	})
}

// offline is a door that says it has no connection.
type offline struct{ *door }

func (offline) Connected() bool { return false }
