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

// allow has Before decide about j, once.
func (c *Compactor) allow(j *job) (err error) {
	if j.allowed || c.o.Before == nil {
		return nil
	}
	j.allowed = true
	defer c.contain("before") // one that breaks has forbidden nothing
	return c.o.Before(j.event(EventStarted))
}

// may tells whether j may begin. A veto is told, and holds for a while.
func (c *Compactor) may(j *job) bool {
	err := c.allow(j)
	if err == nil {
		return true
	}
	if j.row.Trigger != OnManual { // people may ask again
		rest := max(time.Duration(j.policy.Cooldown), minVeto)
		c.mu.Lock()
		c.vetoes[j.row.Trigger] = veto{reason: err.Error(), until: c.o.Now().Add(rest)}
		c.mu.Unlock()
	}
	e := j.event(EventNoop)
	e.Error = err.Error()
	c.notify(e)
	c.over(j, e)
	return false
}

// restsLocked tells whether jobs of a trigger wait because of a veto.
func (c *Compactor) restsLocked(t Trigger, now time.Time) bool {
	return now.Before(c.vetoes[t].until)
}

// vetoedLocked says what waits because of a veto; "" if nothing does.
func (c *Compactor) vetoedLocked(now time.Time) string {
	for _, t := range slices.Sorted(maps.Keys(c.vetoes)) {
		if c.restsLocked(t, now) {
			return fmt.Sprintf("%s was forbidden: %s", t, c.vetoes[t].reason)
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
