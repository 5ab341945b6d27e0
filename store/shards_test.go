package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
	"cairn/testkit/storetest"
)

// owned returns how many shards of a platform a process owns.
func (p *process) owned(connector string) (n int) {
	p.t.Helper()
	for _, s := range check.Must(p.Store.Processes().ListShards(ctx))(p.t) {
		if s.Connector == connector && s.Owner == p.ID() && !s.Free {
			n++
		}
	}
	return n
}

// Another process joins and claims all shards while one waits for the rows: it sees that they have an owner.
func TestShardHasOneOwner(t *testing.T) {
	all, database := fleet(t, 1)
	p := all[0]
	check.Must(p.Lease.Shards().Divide(ctx, "discord", 2))(t)
	db := pgtest.Shared(t).Connect(database, "cairn")
	defer db.Close()
	other := check.Must(db.Begin())(t)
	check.Must(other.Exec("UPDATE shards SET count = count WHERE number = 0"))(t)
	claimed := make(chan error, 1)
	go func() { claimed <- p.Lease.Shards().Claim(ctx, "discord", 2) }()
	waits := func() (n int) {
		check.NoError(t, db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()").Scan(&n))
		return n
	}
	check.Require(t, check.Soon(func() bool { return waits() == 1 }), "the process does not wait")
	check.Must(other.Exec(`INSERT INTO processes (id, name, connectors, version, settings, started_at, lease_until) VALUES (99, 'host:2', '[]', '', '', 0, 1e15)`))(t)
	check.Must(other.Exec("UPDATE shards SET owner = 99"))(t)
	check.NoError(t, other.Commit())
	check.NoError(t, <-claimed)
	check.Equal(t, "shards that it took from their owner", p.owned("discord"), 0)
}

func TestShardsAreFreeWhenTheirOwnerHasEnded(t *testing.T) {
	all, _ := fleet(t, 2)
	check.Must(all[0].Lease.Shards().Divide(ctx, "discord", 4))(t)
	check.NoError(t, all[0].Lease.Shards().Claim(ctx, "discord", 3))
	check.NoError(t, all[1].Lease.Shards().Claim(ctx, "discord", 4))
	check.Equal(t, "shards of the first", all[0].owned("discord"), 3)
	check.Equal(t, "shards of the second", all[1].owned("discord"), 1)
	check.NoError(t, all[0].Lease.Shards().Save(ctx, "discord", map[int]string{2: "two", 3: "not its own"}))
	all[0].dies()
	check.NoError(t, all[1].Lease.Shards().Claim(ctx, "discord", 4))
	check.Equal(t, "shards of the second, before anybody has ended the first", all[1].owned("discord"), 1)
	all[1].endsOthers(1)
	check.NoError(t, all[1].Lease.Shards().Claim(ctx, "discord", 2))
	check.Equal(t, "shards of the second", all[1].owned("discord"), 3)
	check.NoError(t, all[0].Lease.Shards().Claim(ctx, "discord", 1)) // it has ended
	check.Equal(t, "shards of the first", all[0].owned("discord"), 0)
	check.NoError(t, all[1].Lease.Shards().Claim(ctx, "discord", 2))
	check.NoError(t, all[0].Lease.Shards().Save(ctx, "discord", map[int]string{2: "late"}))
	check.NoError(t, all[1].Lease.Shards().Release(ctx, "discord", map[int]string{1: "one"}))
	var sessions []string
	for _, s := range check.Must(all[1].Store.Processes().ListShards(ctx))(t) {
		check.That(t, s.Free && s.Owner == 0, "a released shard is %+v", s)
		sessions = append(sessions, s.Session)
	}
	check.EqualAll(t, "where the next owner continues", sessions, []string{"", "one", "two", ""})
}

func TestNumberOfShardsChangesWhenNobodyOwnsOne(t *testing.T) {
	all, _ := fleet(t, 2)
	divide := func(p *process, count, want int) {
		t.Helper()
		check.Equal(t, "shards", check.Must(p.Lease.Shards().Divide(ctx, "discord", count))(t), want)
		check.Equal(t, "rows", number(t, p.Store, "SELECT count(*) FROM cairn.shards WHERE count = "+fmt.Sprint(want)), want)
	}
	divide(all[0], 4, 4)
	check.NoError(t, all[0].Lease.Shards().Claim(ctx, "discord", 1))
	divide(all[1], 2, 4)
	check.NoError(t, all[0].Lease.Shards().Release(ctx, "discord", map[int]string{0: "of four"}))
	divide(all[1], 2, 2)
	check.Equal(t, "sessions of another number of shards", number(t, all[1].Store, "SELECT count(*) FROM cairn.shards WHERE session <> ''"), 0)
	divide(all[0], 8, 8)
	check.NoError(t, all[0].Lease.Shards().Claim(ctx, "discord", 1))
	all[0].dies()
	all[1].endsOthers(1)
	divide(all[1], 2, 2)
}

// What a process says of its platforms is one column, which its connectors write side by side.
func TestReadinessOfEachPlatformIsKept(t *testing.T) {
	all, _ := fleet(t, 1)
	p := all[0]
	storetest.Run(t, p.Store, `UPDATE processes SET connectors = '[{"name":"discord","shards":-1},{"name":"slack","shards":-1},{"name":"other"}]'`)
	var wait sync.WaitGroup
	wait.Go(func() { check.Must(p.Lease.Shards().Divide(ctx, "discord", 4))(t) })
	wait.Go(func() { check.Must(p.Lease.Shards().Divide(ctx, "slack", 1))(t) })
	wait.Wait()
	check.NoError(t, p.Lease.Shards().Claim(ctx, "slack", 1))
	check.NoError(t, p.Withdraw(ctx, "slack"))
	check.Equal(t, "shards of a platform that it has left", p.owned("slack"), 0)
	check.Must(p.Renew(ctx))(t)
	check.EqualAll(t, "platforms", p.Self().Connectors, []store.Account{{Connector: "discord", Shards: 4}, {Connector: "other"}})
}

func TestSessionsOfABucketStartOneAfterAnother(t *testing.T) {
	all, _ := fleet(t, 2)
	check.Must(all[0].Lease.Shards().Divide(ctx, "discord", 2))(t)
	take := func(p *process, bucket int) time.Duration {
		t.Helper()
		return check.Must(p.Lease.Shards().TakeStart(ctx, "discord", bucket, time.Hour))(t)
	}
	check.Equal(t, "the wait of the first", take(all[0], 0), 0)
	check.Equal(t, "the wait in another bucket", take(all[1], 1), 0)
	wait := take(all[1], 0)
	check.That(t, wait > 59*time.Minute && wait <= time.Hour, "the second waits %v while the first starts", wait)
	check.NoError(t, all[0].Lease.Shards().EndStart(ctx, "discord", 0, time.Minute))
	wait = take(all[1], 0)
	check.That(t, wait > 59*time.Second && wait <= time.Minute, "the second waits %v after the first", wait)
	check.NoError(t, all[0].Lease.Shards().EndStart(ctx, "discord", 0, 0))
	check.Equal(t, "the wait of the second", take(all[1], 0), 0)
}
