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
	"cairn/testkit/slacktest"
	"cairn/testkit/storetest"
)

// pair are two processes that run one bot on one database.
type pair struct {
	*platforms
	t             *testing.T
	first, second *live
	folder        folder // of the second
	firstFolder   folder
	asked         atomic.Int32 // how often the model was asked something slow
}

// startPair starts two processes on a new cluster. The first one reaches it through what through returns, if that is given.
func startPair(t *testing.T, through ...func(c *pgtest.Cluster) string) (p *pair, release func()) {
	t.Helper()
	c := pgtest.New(t)
	address := c.Address("postgres")
	for _, f := range through {
		address = f(c)
	}
	return startPairAt(t, address, c.Address("postgres"))
}

// startPairAt starts the second process once the first is connected. The model answers "Answer: QUESTION", and holds back what contains
// "slow" until release is called.
func startPairAt(t *testing.T, first, second string) (p *pair, release func()) {
	t.Helper()
	released := make(chan bool)
	release = sync.OnceFunc(func() { close(released) })
	p = &pair{platforms: newPlatforms(t), t: t}
	model := llmtest.Serve(t, summarizing(func(x *llmtest.Exchange) {
		asked := x.Request.Last().Text()
		for _, question := range []string{"slow", "one", "two", "three", "after", "last", "other", "next"} {
			if !strings.Contains(asked, question) {
				continue
			}
			if question == "slow" {
				p.asked.Add(1)
				<-released
			}
			x.Say("Answer: " + question)
			return
		}
		x.Say("ok") // to a check of the model
	}))
	t.Cleanup(release)
	start := func(address string) *live {
		p.folder = p.platforms.folder(fmt.Sprintf("store = %q\n", address), modelAt(model)...)
		return p.folder.start("run", "--health", "127.0.0.1:0", "--web", "localhost:0")
	}
	p.first = start(first)
	p.firstFolder = p.folder
	p.open(p.first)
	p.second = start(second)
	p.second.logs("standing_by", "discord")
	p.second.logs("standing_by", "slack")
	return p, release
}

// answeredOnce waits until a question is answered on both platforms, and checks that it is once.
func (p *platforms) answeredOnce(r *live, question string) {
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

// SIGTERM that meets a process whose place others have taken ends it as always.
func TestStopOfAFrozenProcess(t *testing.T) {
	p, _ := startPair(t)
	check.NoError(t, p.first.cmd.Process.Signal(syscall.SIGSTOP))
	p.second.logs("taking_over", "discord")
	check.NoError(t, p.first.cmd.Process.Signal(syscall.SIGCONT))
	p.first.logs("process_ended_by_others")
	p.first.stop()
	p.second.stop()
}

// A process that is asked to stop finishes its turns; the other one answers everything else immediately.
func TestHandover(t *testing.T) {
	p, release := startPair(t)
	p.sayOnSlack("one")
	p.wait(p.first, p.onSlack, "Answer: one")
	p.sayOnDiscord("slow")
	p.until(p.first, "the model is asked", func() bool { return p.asked.Load() == 1 })
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

// A process that cannot reach the database for longer than its lease has lost its conversations, and must not send what it still has.
func TestCutOffProcess(t *testing.T) {
	var network *pgtest.Proxy
	p, release := startPair(t, func(c *pgtest.Cluster) string {
		network = pgtest.NewProxy(t, c)
		return network.Address("postgres")
	})
	p.sayOnBoth("slow")
	p.until(p.first, "the model is asked", func() bool { return p.asked.Load() >= 2 })
	network.Disconnect()
	p.second.logs("taking_over", "discord")
	release()
	p.answeredOnce(p.second, "slow")
	p.until(p.second, "Slack sends to one process", func() bool { return len(p.slack.Sockets()) == 1 })
	p.sayOnSlack("other")
	p.wait(p.second, p.onSlack, "Answer: other")
	network.Connect()
	p.first.logs("process_ended_by_others", "standing_by")
	p.sayOnBoth("after")
	p.answeredOnce(p.second, "after")
	check.Equal(t, "the answers", p.answers("Answer: slow"), [2]int{1, 1})
	p.second.stop()
	p.first.stop()
}

// The network loses what the server answers, at any moment: what was written must be found out, and nothing happens twice.
func TestLostAnswersOfTheServer(t *testing.T) {
	network := pgtest.NewProxy(t, pgtest.Shared(t))
	p := newPlatforms(t)
	model := llmtest.Serve(t, func(x *llmtest.Exchange) {
		asked := x.Request.Last().Text()
		if at := strings.LastIndex(asked, "question"); at >= 0 {
			x.Say("Answer: " + strings.Fields(asked[at:])[0])
			return
		}
		x.Say("ok")
	})
	database := storetest.NewDatabase(t)
	r := p.folder(fmt.Sprintf("store = %q\n", network.Address(database)), modelAt(model)...).start("run")
	p.open(r)
	const rounds = 6
	for n := range rounds {
		p.sayOnBoth(fmt.Sprintf("question%d", n))
		time.Sleep(time.Duration(n*9) * time.Millisecond)
		network.Mute()
		time.Sleep(50 * time.Millisecond)
		network.Connect()
		p.answeredOnce(r, fmt.Sprintf("question%d", n))
	}
	r.stop()
	for n := range rounds {
		check.Equal(t, fmt.Sprint("answers to question ", n), p.answers(fmt.Sprintf("Answer: question%d", n)), [2]int{1, 1})
	}
	check.Lacks(t, "the log", r.errs.String(), "panic")
}

func TestDrain(t *testing.T) {
	p, _ := startPair(t)
	process := fmt.Sprintf("%s:%d", hostName(), p.first.cmd.Process.Pid)
	p.folder.fails(exitNotFound, "no process of the bot has the name nowhere", "run", "--drain=nowhere")
	p.folder.doctorSays(0, "process "+process, "for discord and slack", fmt.Sprintf("process %s:%d", hostName(), p.second.cmd.Process.Pid))
	ready, said := get(t, "http://"+p.telling(p.second)+"/readyz")
	check.That(t, ready == 200 && strings.Contains(said, "stands by: another process is connected"), "a process that stands by is not ready: %d, %s", ready, said)
	p.sayOnBoth("two")
	p.answeredOnce(p.first, "two")
	_, metrics := get(t, "http://"+p.telling(p.second)+"/metrics")
	check.Contains(t, "metrics", metrics, "cairn_processes 2", "cairn_processes_differing 0")
	check.Contains(t, "standard output", p.folder.must("", "run", "--drain="+process), process+" stopped: 1")
	p.first.exits(0)
	p.second.logs("taking_over")
	p.open(p.second)
	p.sayOnBoth("one")
	p.answeredOnce(p.second, "one")
	p.folder.must("", "run", "--drain")
	p.second.exits(0)
}

// A process that cannot connect leaves the platform to one that can, and is not ready.
func TestProcessThatCannotConnect(t *testing.T) {
	c := pgtest.New(t)
	p := newPlatforms(t)
	model := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("Here I am.") })
	settings := fmt.Sprintf("store = %q\n", c.Address("postgres"))
	first := p.folder(settings, append(modelAt(model), "SLACK_BOT_TOKEN=xoxb-wrong")...).start("run", "--health", "127.0.0.1:0")
	first.logs(`"msg":"connector_closed","connector":"slack"`, `"msg":"connected","connector":"discord"`)
	second := p.folder(settings, modelAt(model)...).start("run")
	second.logs(`"msg":"connected","connector":"slack"`, `"msg":"standing_by","connector":"discord"`)
	p.sayOnBoth("Where are you?")
	p.answered(second, "Here I am.", 1)
	p.showsEnded(first, "slack", "Slack rejects the bot token (invalid_auth): ")
	second.stop()
	first.stop()
}

// An event that this process cannot handle stays for another one, and is looked at each second, not all the time.
func TestEventForAnotherProcess(t *testing.T) {
	c := pgtest.New(t)
	p := newPlatforms(t)
	settings := fmt.Sprintf("store = %q\n", c.Address("postgres"))
	model := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("ok") })
	r := p.folder(settings, modelAt(model)...).start("run")
	p.open(r)
	check.NoError(t, c.Run("postgres", `INSERT INTO cairn.conversations (name, created_at) VALUES ('terminal:general', 1);
		INSERT INTO cairn.events (conversation, changed) SELECT id, 0 FROM cairn.conversations`))
	db := c.Connect("postgres", "cairn")
	defer db.Close()
	commits := func() (n int) {
		t.Helper()
		time.Sleep(2 * time.Second) // the server counts each second
		check.NoError(t, db.QueryRow("SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'").Scan(&n))
		return n
	}
	before := commits()
	check.That(t, commits()-before < 100, "%d transactions in two seconds without anything to do", commits()-before)
	r.stop()
}

// A process whose last connector has ended ends, too, although a reply can no longer be sent.
func TestLastConnectorEndsAProcess(t *testing.T) {
	c := pgtest.New(t)
	p := newPlatforms(t)
	model := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if strings.Contains(x.Request.Last().Text(), "last question") {
			p.slack.Fail(slacktest.Fault{Error: "token_revoked", Times: -1})
		}
		x.Say("Here I am.")
	})
	settings := fmt.Sprintf("store = %q\n", c.Address("postgres"))
	r := p.folder(settings, append(modelAt(model), "DISCORD_TOKEN=")...).start("run")
	r.logs(`"msg":"connected","connector":"slack"`)
	p.sayOnSlack("first question")
	p.wait(r, p.onSlack, "Here I am.")
	p.sayOnSlack("last question")
	r.exits(exitFailed)
	check.Contains(t, "the log", r.errs.String(), "token_revoked")
}
