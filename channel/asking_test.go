package channel_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/pgtest"
)

// inFleet adds a process to those that run the bot on a database.
func inFleet(t *testing.T, address string, model script) *rig {
	t.Helper()
	r := &rig{t: t, connector: new(connector), model: &llmtest.Model{Func: model}}
	r.agent = channel.Agent{Model: r.model, MaxOutput: 500, Policy: compactor.DefaultPolicy}
	r.store = check.Must(store.Open(t.Context(), store.Options{Postgres: address, Schema: "cairn"}))(t)
	lease := check.Must(r.store.Processes().Join(t.Context(), store.Process{Name: t.Name()}, channel.LeaseLasts))(t)
	r.opts = channel.Options{
		Agent: func(string) channel.Agent { return r.agent }, Connectors: []channel.Connector{r.connector}, Log: slog.New(slog.DiscardHandler), Store: r.store, Lease: lease,
	}
	r.hub = channel.New(r.opts)
	t.Cleanup(r.stop)
	return r
}

// A command that arrives at another process than the owner's is run by the owner, which alone has the turn and the compaction in its memory.
func TestCommandOfAnotherProcess(t *testing.T) {
	server := pgtest.New(t)
	address := server.Address("postgres")
	asked := make(chan bool, 1)
	owner := inFleet(t, address, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n > 1 {
			return echo(ctx, n, req)
		}
		asked <- true
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	})
	other := inFleet(t, address, echo)

	owner.say("write something long", true)
	<-asked
	check.Equal(t, "/stop at another process", other.run("/stop"), "Stopped.")
	owner.waitForReplies()
	owner.askTurns(4, 400)

	summarized := other.runAsManager("/compact keep 0")
	check.Contains(t, "what is announced", summarized.Text, "Summarizing")
	check.Contains(t, "what is done", other.finished(summarized), "tokens")
	check.Contains(t, "the compaction at the owner", owner.run("/context"), "leaf   level 0")

	check.Error(t, check.ErrorOf(askFleet(t, other, "something that this version does not know")), store.ErrOwned)
	db := server.Connect("postgres", "cairn")
	defer db.Close()
	left := 1
	check.NoError(t, db.QueryRow("SELECT count(*) FROM requests").Scan(&left))
	check.Equal(t, "requests that are left", left, 0)

	owner.stop()
	check.Contains(t, "/context after the owner has ended", other.run("/context"), "leaf   level 0")
}

// askFleet has the owner of the place handle a request.
func askFleet(t *testing.T, r *rig, kind string) (answer []byte, err error) {
	answer, _, err = channel.FleetOf(r.hub).Ask(t.Context(), place, kind, nil)
	return answer, err
}

// A person hears what is known if the owner ends after it has taken what they ask: it may have happened or not.
func TestOwnerEndsWhileItIsAsked(t *testing.T) {
	server := pgtest.New(t)
	address := server.Address("postgres")
	owner := inFleet(t, address, echo)
	other := inFleet(t, address, echo)
	owner.ask("hello")
	taken := make(chan bool)
	channel.FleetOf(owner.hub).Answers("hang", func(ctx context.Context, _ string, _ []byte) ([]byte, func(context.Context) []byte) {
		close(taken)
		<-ctx.Done()
		return []byte("late"), nil
	})
	failed := make(chan error)
	go func() { failed <- check.ErrorOf(askFleet(t, other, "hang")) }()
	<-taken
	check.NoError(t, server.Run("postgres", fmt.Sprint("DELETE FROM cairn.processes WHERE id = ", owner.opts.Lease.ID())))
	check.Error(t, <-failed, store.ErrUnknown)
}
