package channel_test

import (
	"fmt"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
	"cairn/testkit/storetest"
)

// shared is a connector to a platform to which two processes may be connected.
type shared struct{ channeltest.Silent }

func (shared) Receivers() int { return 2 }

func TestWhichProcessesAreConnected(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	both := []store.Account{{Connector: "one"}, {Connector: "two"}}
	var leases []*store.Lease
	join := func(on []store.Account) *store.Lease {
		l := check.Must(s.Processes().Join(t.Context(), store.Process{Name: fmt.Sprint("host:", len(leases)), Connectors: on}, time.Hour))(t)
		leases = append(leases, l)
		return l
	}
	join(both[1:]) // it is on the other platform alone
	for range 2 {
		join(both)
	}
	standing := func(on []store.Account) [2]string {
		hub := channel.New(channel.Options{Store: s, Lease: join(on)})
		defer hub.Close()
		fleet := channel.FleetOf(hub)
		alone := channeltest.Silent("one")
		beside := shared{"two"}
		check.EqualAll(t, "connects", []bool{fleet.Connects(alone), fleet.Connects(beside)}, []bool{fleet.Standing(alone) == "", fleet.Standing(beside) == receivesOnly || fleet.Standing(beside) == ""})
		return [2]string{fleet.Standing(alone), fleet.Standing(beside)}
	}
	check.Equal(t, "beside three processes", standing(both), [2]string{standsBy, "stands by: 2 other processes are connected, as many as may be"})
	check.NoError(t, leases[0].Leave(t.Context())) // it is stopping
	check.NoError(t, leases[1].End(t.Context()))
	check.Equal(t, "beside one that is not stopping", standing(both), [2]string{standsBy, receivesOnly})
	check.NoError(t, leases[2].End(t.Context()))
	check.Equal(t, "beside one that is stopping", standing(both), [2]string{})
}

// A command whose claim is written, and whose answer is lost, is run.
func TestFirstToWhenTheAnswerIsLost(t *testing.T) {
	c := pgtest.Shared(t)
	database := storetest.NewDatabase(t)
	network := pgtest.NewProxy(t, c)
	p := startProcessAt(t, network.Address(database), "cairn", "test", access.Rules{})
	first := func(id string) bool { return check.Must(channel.FirstTo(t.Context(), p.hub, p.place(), id))(t) }
	check.EqualAll(t, "twice", []bool{first("one"), first("one")}, []bool{true, false})
	check.NoError(t, c.Run(database, `CREATE FUNCTION cairn.rest() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER rests AFTER INSERT ON cairn.gone DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cairn.rest()`))
	db := c.Connect(database, "cairn")
	defer db.Close()
	go func() {
		check.Soon(func() bool {
			rests := false
			check.NoError(t, db.QueryRow("SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep')").Scan(&rests))
			return rests
		})
		network.Mute()
	}()
	check.That(t, first("two"), "the command is not run")
	network.Connect()
}

const (
	standsBy     = "stands by: another process is connected"
	receivesOnly = "receives messages: another process answers"
)
