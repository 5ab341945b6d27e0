package channel_test

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/pgtest"
)

// process is a hub beside others on one database. Its model is billed ten tokens for each answer.
type process struct {
	*connector
	t     *testing.T
	name  string // of the connector
	hub   *channel.Hub
	store *store.Store
}

func (p *process) Name() string { return p.name }

// startProcess starts a process with one connector on a schema of a database.
func startProcess(t *testing.T, c *pgtest.Cluster, schema, name string, rules access.Rules) *process {
	t.Helper()
	return startProcessAt(t, c.Address("postgres"), schema, name, rules)
}

func startProcessAt(t *testing.T, address, schema, name string, rules access.Rules) *process {
	t.Helper()
	p := &process{connector: new(connector), t: t, name: name}
	p.store = check.Must(store.Open(t.Context(), store.Options{Postgres: address, Schema: schema}))(t)
	self := store.Process{Name: fmt.Sprint("host:", name), Connectors: []store.Account{{Connector: name, Shards: store.NotReady}}}
	lease := check.Must(p.store.Processes().Join(t.Context(), self, channel.LeaseLasts))(t)
	agent := channel.Agent{Model: &llmtest.Model{Func: billed(10)}, MaxOutput: 500, Policy: compactor.DefaultPolicy}
	p.hub = channel.New(channel.Options{
		Store: p.store, Lease: lease, Connectors: []channel.Connector{p}, Rules: rules, Log: slog.New(slog.DiscardHandler),
		Agent: func(string) channel.Agent { return agent },
	})
	t.Cleanup(func() {
		check.NoError(t, p.hub.Close())
		check.NoError(t, p.store.Close())
	})
	check.NoError(t, channel.FleetOf(p.hub).Enter(t.Context(), name))
	return p
}

func (p *process) place() string { return p.name + ":server/general" }

// deliver delivers a question of a person.
func (p *process) deliver(who string) {
	p.t.Helper()
	p.say(time.Now(), who, "hello")
}

func (p *process) say(at time.Time, who, text string) {
	p.t.Helper()
	m := channel.Inbound{ID: rand.Text(), AuthorID: who, Author: who, Text: text, Addressed: true, Time: at}
	check.Must(p.hub.Deliver(p.t.Context(), p.place(), m))(p.t)
}

// ask asks for a person, and checks how the answer begins.
func (p *process) ask(who, want string) {
	p.t.Helper()
	p.deliver(who)
	check.NoError(p.t, p.hub.Idle(p.t.Context(), p.place()))
	texts := p.texts()
	check.That(p.t, len(texts) > 0 && strings.HasPrefix(texts[len(texts)-1], want), "on %s, %s got %q, not %q", p.name, who, texts, want)
}

// knowsOthers waits until a process knows how many there are.
func (p *process) knowsOthers(processes int) {
	p.t.Helper()
	check.Require(p.t, check.Soon(func() bool {
		all, _ := channel.FleetOf(p.hub).Processes()
		return len(all) == processes
	}), "the process does not know the other one")
}

func TestLimitsOfSeveralProcesses(t *testing.T) {
	c := pgtest.New(t)
	start := func(t *testing.T, schema string, rules access.Rules, names ...string) (first, second *process) {
		t.Helper()
		first = startProcess(t, c, schema, names[0], rules)
		second = startProcess(t, c, schema, names[1], rules)
		first.knowsOthers(2)
		return first, second
	}
	t.Run("turns of a person count in both", func(t *testing.T) {
		east, west := start(t, "turns", access.Rules{TurnsPerMinute: 2}, "east", "west")
		east.ask("ann", "yes")
		west.ask("ann", "yes")
		east.ask("ann", "One moment, please")
		west.ask("ann", "One moment, please")
		west.ask("bob", "yes")
	})
	t.Run("both spend one budget", func(t *testing.T) {
		east, west := start(t, "budget", access.Rules{Money: access.Money{Prices: priced, PerDay: 35}, Access: map[string]access.Access{"east": {}, "west": {}}}, "east", "west")
		east.ask("ann", "yes")
		east.ask("ann", "yes")
		west.ask("bob", "yes")
		for _, p := range []*process{east, west} {
			spent := 0.0
			check.That(t, check.Soon(func() bool {
				spent = p.hub.Operator().Access().Budgets()[0].Spent
				return spent == 30
			}), "on %s, %v was spent", p.name, spent)
		}
		west.ask("bob", "yes")
		west.ask("bob", "The budget for today is used up")
		check.That(t, check.Soon(func() bool { return east.hub.Operator().Access().Budgets()[0].Spent == 40 }), "the last answer is not counted")
		east.ask("ann", "The budget for today is used up")
	})
	t.Run("a person spends one budget in both", func(t *testing.T) {
		east, west := start(t, "person", allowing(15), "east", "west")
		east.ask("ann", "yes")
		west.ask("ann", "(ann: your budget for today is used up: $20.00 of $15.00.")
		east.ask("ann", "Your budget for today is used up")
		west.ask("ann", "Your budget for today is used up")
		west.ask("bob", "yes")
	})
	t.Run("calls count after the owner's end", func(t *testing.T) {
		owner, next := start(t, "calls", access.Rules{CallsPerHour: 4}, "test", "test")
		for range 3 {
			owner.ask("ann", "yes")
		}
		db := c.Connect("postgres", "calls")
		defer db.Close()
		saved := 0
		check.Require(t, check.Soon(func() bool {
			return db.QueryRow("SELECT coalesce(sum(n), 0) FROM made_calls").Scan(&saved) == nil && saved == 3
		}), "%d calls are saved", saved)
		check.Must(db.Exec("DELETE FROM processes WHERE id = (SELECT min(id) FROM processes)"))(t)
		check.NoError(t, channel.FleetOf(next.hub).StandBy(t.Context(), "test"))
		next.ask("ann", "yes")
		next.ask("ann", "This conversation has reached its hourly limit")
	})
}
