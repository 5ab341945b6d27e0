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
