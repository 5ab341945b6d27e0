package channel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
)

// overtaken returns a rig whose hub, once armed, runs f after the owner has checked what it may
// have missed, and before it takes up messages.
func overtaken(t *testing.T, p *reader, f func(r *rig)) (r *rig, armed *atomic.Bool) {
	r, armed = newRig(t, echo), new(atomic.Bool)
	r.agent.Model = &looked{r.model, func() {
		if armed.CompareAndSwap(true, false) {
			f(r)
		}
	}}
	return r.reads(p), armed
}

func TestNothingIsTakenUpBeforeWhatWasSaidBeforeIt(t *testing.T) {
	t.Run("an addressed message that comes behind the look at what was said before", func(t *testing.T) {
		p := &reader{history: func(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
			if before != "4" {
				return nil, "", false, nil
			}
			return []channel.Inbound{past("1", "one", 4*time.Minute, false)}, "", false, nil
		}}
		r, armed := overtaken(t, p, func(r *rig) { r.hand(past("4", "bot, hello", 0, true)) })
		r.hand(past("2", "two", 3*time.Minute, false))
		r.idle()
		armed.Store(true)
		r.hand(past("3", "three", 2*time.Minute, false))
		r.connector.until(t, "the addressed message", func() bool { return r.connector.taken() == 3 })
		r.idle()
		equal(t, "transcript", r.transcript()[:4], []string{"user: two", "user: three", "user: one", "user: bot, hello"})
	})
	t.Run("a message that comes behind the look for a gap that was opened before it", func(t *testing.T) {
		p := &reader{history: func(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
			if after != "2" {
				return nil, "", false, nil
			}
			return []channel.Inbound{past("3", "three", time.Second, false)}, "3", false, nil
		}}
		r, armed := overtaken(t, p, func(r *rig) {
			r.away()
			r.hand(past("4", "four", 0, false))
		})
		r.hand(past("1", "one", 5*time.Minute, false))
		r.idle()
		armed.Store(true)
		r.hand(past("2", "two", 4*time.Minute, false))
		r.connector.until(t, "the last message", func() bool { return r.connector.taken() == 4 })
		r.idle()
		equal(t, "transcript", r.transcript(), []string{"user: one", "user: two", "user: three", "user: four"})
	})
}
