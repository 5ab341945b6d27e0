package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/pgtest"
)

// pair are two processes that run one bot on one database.
type pair struct {
	*platforms
	t             *testing.T
	first, second *live
	asked         atomic.Int32 // of the model
}

// startPair starts the second process once the first is connected. The model answers "Answer: QUESTION", and holds back what contains "slow"
// until release is called.
func startPair(t *testing.T) (p *pair, release func()) {
	t.Helper()
	c := pgtest.New(t)
	released := make(chan bool)
	release = sync.OnceFunc(func() { close(released) })
	p = &pair{platforms: newPlatforms(t), t: t}
	model := llmtest.Serve(t, func(x *llmtest.Exchange) {
		asked := x.Request.Last().Text()
		for _, question := range []string{"slow", "one", "two", "three", "after", "last", "other", "next"} {
			if !strings.Contains(asked, question) {
				continue
			}
			p.asked.Add(1)
			if question == "slow" {
				<-released
			}
			x.Say("Answer: " + question)
			return
		}
		x.Say("ok") // to a check of the model
	})
	t.Cleanup(release)
	start := func() *live {
		return p.folder(fmt.Sprintf("store = %q\n", c.Address("postgres")), modelAt(model)...).start("run", "--health", "127.0.0.1:0")
	}
	p.first = start()
	p.open(p.first)
	p.second = start()
	p.second.logs("standing_by", "discord")
	p.second.logs("standing_by", "slack")
	return p, release
}

// answeredOnce waits until a question is answered on both platforms, and checks that it is once.
func (p *pair) answeredOnce(r *live, question string) {
	p.t.Helper()
	p.answered(r, "Answer: "+question, 1)
}

func TestSecondProcessTakesOver(t *testing.T) {
	p, _ := startPair(t)
	p.sayOnBoth("one")
	p.answeredOnce(p.first, "one")
	check.NoError(t, p.first.cmd.Process.Kill())
	p.sayOnBoth("two")
	p.second.logs("process_ended")
	p.second.logs("taking_over", "discord")
	p.answeredOnce(p.second, "two")
	p.open(p.second)
	p.sayOnBoth("three")
	p.answeredOnce(p.second, "three")
	p.second.stop()
	for _, question := range []string{"one", "two", "three"} {
		check.Equal(t, question, p.answers("Answer: "+question), [2]int{1, 1})
	}
}

// A process that is stopped for longer than its lease, in the middle of a turn, must not answer when it goes on.
func TestFrozenProcess(t *testing.T) {
	p, release := startPair(t)
	p.sayOnBoth("slow")
	p.until(p.first, "the model is asked", func() bool { return p.asked.Load() >= 2 })
	check.NoError(t, p.first.cmd.Process.Signal(syscall.SIGSTOP))
	p.second.logs("taking_over", "discord")
	release()
	p.answeredOnce(p.second, "slow")
	check.NoError(t, p.first.cmd.Process.Signal(syscall.SIGCONT))
	p.first.logs("process_ended_by_others")
	p.first.logs("standing_by", "discord")
	p.sayOnBoth("after")
	p.answeredOnce(p.second, "after")
	check.Equal(t, "the answers", p.answers("Answer: slow"), [2]int{1, 1})
	check.NoError(t, p.second.cmd.Process.Kill())
	p.first.logs("taking_over", "discord")
	p.sayOnBoth("last")
	p.answeredOnce(p.first, "last")
	p.first.stop()
}

// A process that is asked to stop finishes its turns; the other one answers everything else at once.
func TestHandover(t *testing.T) {
	p, release := startPair(t)
	p.sayOnSlack("one")
	p.wait(p.first, p.onSlack, "Answer: one")
	p.sayOnDiscord("slow")
	p.until(p.first, "the model is asked", func() bool { return p.asked.Load() == 2 })
	check.NoError(t, p.first.cmd.Process.Signal(syscall.SIGTERM))
	began := time.Now()
	p.second.logs("taking_over", "slack")
	p.sayOnSlack("other")
	p.wait(p.second, p.onSlack, "Answer: other")
	t.Logf("answered %v after SIGTERM", time.Since(began).Round(time.Millisecond))
	p.sayOnDiscord("next")
	release()
	p.wait(p.second, p.onDiscord, "Answer: next")
	check.EqualAll(t, "the order", p.onDiscord(), []string{"Answer: slow", "Answer: next"})
	p.first.exits(exitSignal + int(syscall.SIGTERM))
	p.second.stop()
}
