package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/pgtest"
)

// squad are processes that divide the shards of Discord among themselves.
type squad struct {
	*platforms
	cluster         *pgtest.Cluster
	address         string // of the database, for the processes that are started from now on
	model           *llmtest.Server
	squares         []string // a channel on each shard
	discordSettings string   // of the processes that are started from now on
	last            folder   // of the latest process
}

func newSquad(t *testing.T, o discordtest.Options) *squad {
	t.Helper()
	o.RefusePings = true
	p := platformsOf(t, o)
	c := pgtest.New(t)
	s := &squad{platforms: p, cluster: c, address: c.Address("postgres"), squares: make([]string, o.Shards)}
	for left := o.Shards; left > 0; {
		time.Sleep(time.Millisecond) // ids of one millisecond are on one shard
		g := p.discord.Guild("town", p.ann)
		if id := discordtest.ShardOf(g.ID, o.Shards); s.squares[id] == "" {
			s.squares[id] = p.discord.Channel(g.ID, "square").ID
			left--
		}
	}
	s.model = llmtest.Serve(t, summarizing(func(x *llmtest.Exchange) {
		_, asked, _ := strings.Cut(x.Request.Last().Text(), "question")
		number, _, _ := strings.Cut(asked, " ")
		x.Say("Answer" + number)
	}))
	return s
}

func (s *squad) start() *live {
	s.t.Helper()
	env := append(modelAt(s.model), "SLACK_BOT_TOKEN=", "SLACK_APP_TOKEN=")
	s.last = s.folder(fmt.Sprintf("store = %q\n", s.address), env...)
	path := filepath.Join(s.last.dir, "config.toml")
	text := string(check.Must(os.ReadFile(path))(s.t))
	s.last.write("config.toml", strings.Replace(text, "[discord]\n", "[discord]\n"+s.discordSettings, 1))
	return s.last.start("run", "--health", "127.0.0.1:0")
}

// ask asks a question on each shard.
func (s *squad) ask(number int) {
	for _, square := range s.squares {
		s.discord.Say(square, s.ann.ID, fmt.Sprintf("<@%s> question%d ?", s.discord.Bot.ID, number))
	}
}

// answered waits until a question is answered on each shard.
func (s *squad) answered(r *live, number int) {
	s.t.Helper()
	s.until(r, fmt.Sprint("the answers to question ", number), func() bool { return s.answersTo(number) == len(s.squares) })
}

func (s *squad) answersTo(number int) (n int) {
	for _, square := range s.squares {
		for _, m := range s.discord.Sent(square) {
			if !m.Deleted && m.Content == fmt.Sprint("Answer", number) {
				n++
			}
		}
	}
	return n
}

// connections returns how many sessions were started, and how often one was resumed.
func (s *squad) connections() (identified, resumed int) {
	for _, c := range s.discord.Connections() {
		switch {
		case c.Identify:
			identified++
		case c.Resume:
			resumed++
		}
	}
	return identified, resumed
}

// wantConnections waits until sessions were resumed so often, and checks how many were started.
func (s *squad) wantConnections(r *live, identified, resumed int) {
	s.t.Helper()
	s.until(r, fmt.Sprint(resumed, " resumed sessions"), func() bool { _, n := s.connections(); return n >= resumed })
	starts, continues := s.connections()
	check.That(s.t, starts == identified && continues == resumed, "%d sessions were started and %d resumed, not %d and %d", starts, continues, identified, resumed)
}

func TestShardsAreDividedAndTakenOver(t *testing.T) {
	s := newSquad(t, discordtest.Options{Shards: 4, MaxConcurrency: 4})
	first := s.start()
	s.until(first, "all shards", func() bool { n, _ := s.connections(); return n == 4 })
	s.ask(1)
	s.answered(first, 1)
	second, third := s.start(), s.start()
	second.logs("standing_by", "discord")
	third.logs("standing_by", "discord")

	check.NoError(t, first.cmd.Process.Signal(syscall.SIGTERM))
	began := time.Now()
	s.ask(2)
	s.wantConnections(second, 4, 4)
	t.Logf("all shards were resumed %v after SIGTERM", time.Since(began).Round(time.Millisecond))
	s.answered(second, 2)
	first.exits(exitSignal + int(syscall.SIGTERM))
	for _, r := range []*live{second, third} {
		_, ready := get(t, "http://"+s.telling(r)+"/readyz")
		check.Contains(t, "a process with a part of the shards", ready, "2 of 2 shards connected", " of 4 are this process's")
		_, metrics := get(t, "http://"+s.telling(r)+"/metrics")
		check.Equal(t, "shards in its metrics", strings.Count(metrics, "\ncairn_discord_shard_connected{"), 2)
	}

	check.NoError(t, second.cmd.Process.Kill())
	began = time.Now()
	s.ask(3)
	third.logs("taking_over", "discord")
	s.wantConnections(third, 4, 6)
	t.Logf("all shards were resumed %v after SIGKILL", time.Since(began).Round(time.Millisecond))
	s.answered(third, 3)
	s.ask(4)
	s.answered(third, 4)
	for number := 1; number <= 4; number++ {
		check.Equal(t, fmt.Sprint("answers to question ", number), s.answersTo(number), 4)
	}
	third.stop()
	check.Lacks(t, "the log", third.errs.String(), "connection_failed", "panic")
}

// Two processes that have lost their sessions at the same moment start new ones as far apart as Discord demands, and read what they missed.
func TestProcessesStartSessionsApart(t *testing.T) {
	s := newSquad(t, discordtest.Options{Shards: 2, IdentifyEvery: 5 * time.Second})
	first := s.start()
	s.until(first, "all shards", func() bool { n, _ := s.connections(); return n == 2 })
	all := []*live{s.start(), s.start()}
	for _, r := range all {
		r.logs("standing_by", "discord")
	}
	s.ask(1)
	s.answered(first, 1)
	first.stop()
	s.wantConnections(all[0], 2, 2)
	for _, r := range all {
		r.logs(`"shards_starting","connector":"discord","shards":1,"of":2`) // each has one
	}

	s.discord.Forget()
	s.ask(3)
	s.discord.Cut()
	s.until(all[0], "new sessions", func() bool { n, _ := s.connections(); return n == 4 })
	s.answered(all[0], 3)
	check.Equal(t, "answers", s.answersTo(3), 2)
	var starts []time.Time
	for _, c := range s.discord.Connections() {
		if c.Identify {
			starts = append(starts, c.Identified)
		}
	}
	slices.SortFunc(starts, time.Time.Compare)
	for i := range starts[1:] {
		between := starts[i+1].Sub(starts[i])
		check.That(t, between >= 5*time.Second, "a session was started %v after another", between)
	}
	for _, r := range all {
		r.stop()
	}
}

// A process of an older version receives everything as long as it runs, and others have another opinion on the number of shards.
func TestOtherProcessesDecide(t *testing.T) {
	s := newSquad(t, discordtest.Options{Shards: 2, MaxConcurrency: 2})
	first := s.start()
	s.until(first, "all shards", func() bool { n, _ := s.connections(); return n == 2 })
	s.discordSettings = "shards = 4\n"
	second := s.start()
	second.logs("shards_differ", `"shards":4,"used":2`)
	second.logs("standing_by", "discord")
	_, said := get(t, "http://"+s.telling(second)+"/readyz")
	check.That(t, strings.Contains(said, "stands by: another process is connected") && !strings.Contains(said, "discord shards"), "what stands by says: %s", said)
	process := func(r *live) string { return fmt.Sprintf("%s:%d", hostName(), r.cmd.Process.Pid) }
	s.last.doctorSays(0, "discord is divided into 2 shards: process "+process(first)+" has 0, 1",
		"warning: process "+process(second)+" would divide discord into 4 shards")
	insert := `INSERT INTO cairn.processes (name, connectors, version, settings, started_at, lease_until) VALUES ('old:1', '[{"name":"discord"}]', '', '', 0, 1e15)`
	check.NoError(t, s.cluster.Run("postgres", insert))
	first.stop()
	time.Sleep(3 * time.Second) // longer than it would take
	check.Lacks(t, "the log beside a process that receives everything", second.errs.String(), "taking_over")
	check.NoError(t, s.cluster.Run("postgres", "UPDATE cairn.processes SET draining = 1 WHERE name = 'old:1'"))
	second.logs("taking_over", "discord")
	s.wantConnections(second, 2, 2)
	s.ask(1)
	s.answered(second, 1)
	second.stop()
}

// A process that is cut off from the database must not resume the session that another one has resumed in the meantime.
func TestCutOffProcessLeavesItsSession(t *testing.T) {
	s := newSquad(t, discordtest.Options{Shards: 1})
	network := pgtest.NewProxy(t, s.cluster)
	direct := s.address
	s.address = network.Address("postgres")
	first := s.start()
	s.until(first, "a session", func() bool { n, _ := s.connections(); return n == 1 })
	s.address = direct
	second := s.start()
	second.logs("standing_by", "discord")
	network.Disconnect()
	s.wantConnections(second, 1, 1)
	time.Sleep(3 * time.Second) // in which the first one tries to connect again
	s.wantConnections(second, 1, 1)
	s.ask(1)
	s.answered(second, 1)
	network.Connect()
	first.logs("process_ended_by_others")
	first.logs("standing_by", "discord")
	s.wantConnections(second, 1, 1)
	first.stop()
	second.stop()
}

// What a process has received and not stored when it is killed is sent again to the next one.
func TestMessageThatWasNotStoredIsReplayed(t *testing.T) {
	s := newSquad(t, discordtest.Options{Shards: 1})
	first := s.start()
	s.until(first, "a session", func() bool { n, _ := s.connections(); return n == 1 })
	second := s.start()
	second.logs("standing_by", "discord")
	s.discord.Fail(discordtest.Fault{Of: "GET /channels/*", Delay: time.Minute, Times: -1})
	s.discord.Drop(1) // so that the process has to ask where the message belongs
	thread := s.discord.Thread(s.squares[0], s.ann.ID, "unknown").ID
	s.discord.Say(thread, s.ann.ID, "<@"+s.discord.Bot.ID+"> question9 ?")
	for number := range 4 {
		s.ask(number)
		s.answered(first, number)
		time.Sleep(saveEvery)
	}
	check.NoError(t, first.cmd.Process.Kill())
	s.discord.Clear()
	second.logs("taking_over", "discord")
	s.until(second, "the answer in the thread", func() bool {
		return slices.ContainsFunc(s.discord.Sent(thread), func(m discordtest.Message) bool { return m.Content == "Answer9" })
	})
	s.wantConnections(second, 1, 1)
	second.stop()
}

const saveEvery = time.Second // in which a process notes how far it has come
