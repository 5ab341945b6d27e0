package compactor

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"
)

// Hooks: who may forbid a piece of work before it begins, and who is told afterwards.

// veto is what Before said about the jobs of one trigger.
type veto struct {
	reason string
	until  time.Time
}

// minVeto is how long a veto holds at least: a hook is not asked at each message.
const minVeto = time.Minute

// mayBegin has Before decide about what is going to begin.
func (c *Compactor) mayBegin(e Event) error {
	defer c.contain("before") // one that panics has forbidden nothing
	return c.o.Before(e)
}

// forbidden tells of a veto, which holds for a while.
func (c *Compactor) forbidden(j *job, reason error) {
	if j.row.Trigger != OnManual { // people may ask again
		rest := max(time.Duration(j.policy.Cooldown), minVeto)
		c.vetoes[j.row.Trigger] = veto{reason: reason.Error(), until: c.o.Now().Add(rest)}
	}
	e := j.event(EventNoop)
	e.Error = reason.Error()
	c.notify(e)
	if j.began != nil {
		j.began(e)
	} else {
		c.overJob(j, e)
	}
}

// rests reports whether jobs of a trigger wait because of a veto.
func (c *Compactor) rests(t Trigger, now time.Time) bool {
	return now.Before(c.vetoes[t].until)
}

// vetoed says what waits because of a veto; "" if nothing does.
func vetoed(vetoes map[Trigger]veto, now time.Time) string {
	for _, t := range slices.Sorted(maps.Keys(vetoes)) {
		if now.Before(vetoes[t].until) {
			return fmt.Sprintf("%s was forbidden: %s", t, vetoes[t].reason)
		}
	}
	return ""
}

// contain keeps a panic of a callback from anything but itself.
func (c *Compactor) contain(hook string) {
	if p := recover(); p != nil {
		c.o.Log.Error("callback_panicked", "callback", hook, "panic", p, "stack", string(debug.Stack()))
	}
}
