package channel_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// distant is a connector to a platform that may be out of reach.
type distant struct {
	channeltest.Silent
	unreachable *atomic.Bool
}

func (d distant) Unreachable() bool { return d.unreachable.Load() }

// member is a process of a test.
type member struct {
	*channel.Fleet
	lease       *store.Lease
	unreachable *atomic.Bool
}

// owns reports whether the process has the one shard of the platform.
func (m member) owns() bool { return !m.StandsBy("far") }

func joinMember(t *testing.T, s *store.Store, name string, patience time.Duration) member {
	t.Helper()
	accounts := []store.Account{{Connector: "far", ID: "1", Shards: store.NotReady}}
	lease := check.Must(s.Processes().Join(t.Context(), store.Process{Name: name, Connectors: accounts}, time.Hour))(t)
	m := member{lease: lease, unreachable: new(atomic.Bool)}
	hub := channel.New(channel.Options{Store: s, Lease: lease, Patience: patience, Connectors: []channel.Connector{distant{"far", m.unreachable}}})
	t.Cleanup(func() { check.NoError(t, hub.Close()) })
	m.Fleet = channel.FleetOf(hub)
	check.NoError(t, m.Enter(t.Context(), "far"))
	return m
}

// ready returns which processes say that they can receive.
func ready(t *testing.T, s *store.Store) (names []string) {
	t.Helper()
	for _, p := range check.Must(s.Processes().List(t.Context()))(t) {
		if p.Connectors[0].Shards > 0 {
			names = append(names, p.Name)
		}
	}
	return names
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	check.Require(t, check.Soon(holds), "it did not happen: %s", what)
}

func TestPlatformThatIsOutOfReach(t *testing.T) {
	const patience = 2 * time.Second
	s := storetest.OpenStore(t, t.TempDir())
	first := joinMember(t, s, "host:1", patience)
	second := joinMember(t, s, "host:2", patience)
	check.That(t, first.owns() && !second.owns(), "the first process does not have the platform")
	isReady := func(names ...string) func() bool {
		return func() bool { return slices.Equal(ready(t, s), names) }
	}
	second.unreachable.Store(true) // it stands by, without a connection
	first.unreachable.Store(true)
	eventually(t, "the first says that it cannot receive", isReady("host:2"))
	first.unreachable.Store(false)
	eventually(t, "the first can receive again", isReady("host:1", "host:2"))
	check.NoError(t, first.Membership().Err())

	first.unreachable.Store(true)
	eventually(t, "the first stops", func() bool { return errors.Is(context.Cause(first.Membership()), channel.ErrUnreachable) })
	check.That(t, first.Leave(t.Context()), "nobody takes over")
	eventually(t, "the second takes over", second.owns)
	eventually(t, "the second says that it cannot receive", isReady())
	time.Sleep(patience)
	check.NoError(t, second.Membership().Err()) // nobody else can
	check.That(t, second.owns(), "the platform is nobody's")
}
