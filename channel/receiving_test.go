package channel_test

import (
	"fmt"
	"testing"
	"time"

	"cairn/channel"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
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

const (
	standsBy     = "stands by: another process is connected"
	receivesOnly = "receives messages: another process answers"
)
