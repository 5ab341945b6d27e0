package main

import (
	"testing"
	"time"

	"cairn/channel"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

// The primary server crashes in the middle of turns, for longer than leases last, and its synchronous standby takes its place: the
// processes find it by themselves, and people see every answer once.
func TestFailover(t *testing.T) {
	primary := pgtest.New(t)
	standby := pgtest.NewStandby(t, primary, true)
	p, release := startPairAt(t, standby.Both("postgres"), standby.Both("postgres"))
	p.folder.doctorSays(0, "the standbys follow synchronously")
	p.sayOnBoth("one")
	p.answeredOnce(p.first, "one")
	p.sayOnBoth("slow")
	p.until(p.first, "the model is asked", func() bool { return p.asked.Load() >= 2 })
	primary.Crash()
	p.sayOnBoth("two")
	time.Sleep(channel.LeaseLasts + 2*time.Second)
	standby.Promote(t)
	release()
	p.answeredOnce(p.first, "slow")
	p.answeredOnce(p.first, "two")
	check.NoError(t, p.first.cmd.Process.Kill())
	p.sayOnBoth("last")
	p.answeredOnce(p.second, "last")
	p.second.stop()
	for _, question := range []string{"one", "slow", "two", "last"} {
		check.Equal(t, question, p.answers("Answer: "+question), [2]int{1, 1})
	}
}

// While its synchronous standby receives nothing, the primary confirms nothing: the bot acknowledges and answers nothing, and goes on
// afterwards.
func TestStandbyReceivesNothing(t *testing.T) {
	primary := pgtest.New(t)
	standby := pgtest.NewStandby(t, primary, true)
	p, _ := startPairAt(t, standby.Both("postgres"), standby.Both("postgres"))
	p.sayOnBoth("one")
	p.answeredOnce(p.first, "one")
	unfreeze := standby.Freeze(t)
	p.sayOnBoth("two")
	time.Sleep(channel.LeaseLasts + 2*time.Second)
	check.Equal(t, "answers that are not stored", p.answers("Answer: two"), [2]int{0, 0})
	for _, d := range p.slack.Deliveries() {
		if !d.Acked.IsZero() {
			check.Lacks(t, "an acknowledged message that is not stored", string(d.Payload), "two")
		}
	}
	ready, said := get(t, "http://"+p.telling(p.first)+"/readyz")
	check.That(t, ready == 503, "ready while nothing can be stored: %s", said)
	unfreeze()
	p.answeredOnce(p.first, "two")
	p.sayOnBoth("three")
	p.answeredOnce(p.first, "three")
	check.Equal(t, "answers", p.answers("Answer: two"), [2]int{1, 1})
}
