package channel

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cairn/internal/observe"
	"cairn/store"
)

// How this process shares the conversations with others that run the bot on the same database.

const (
	// LeaseLasts is how long a process may be silent before others take over its conversations.
	LeaseLasts = 6 * time.Second

	renewEvery   = LeaseLasts / 3
	expiryMargin = 50 * time.Millisecond // between the end of a lease and the look at it
	pollEvery    = time.Second           // for what others have written, in case that a notice of the database was lost
)

// Fleet has the lease of this process, and does what follows from what others do. The nil Fleet is of a process that is alone. It is
// safe for concurrent use.
type Fleet struct {
	*asking
	*division

	hub     *Hub
	lease   *store.Lease
	limits  *sharing
	member  context.Context         // see Membership
	deposed context.CancelCauseFunc // ends it

	leaving atomic.Bool   // the process takes on nothing new
	orphans atomic.Bool   // a process may have ended with work that is to be taken over
	events  signal        // others may have written something
	members signal        // a process may have joined, left or ended
	joined  bell          // other processes are there than before
	back    bell          // the database can be reached again
	leaves  chan struct{} // closed when the process stops and others are there

	mu     sync.Mutex      // guards below
	reopen map[string]bool // conversations to open, by name; true: this process owned them
	opens  time.Time       // no conversation is opened before; see settle
	ending map[string]int  // how much of a conversation of people and its tasks still ends after it was dropped, by its name

	failing observe.Incident // the lease cannot be renewed
	unread  observe.Incident // events cannot be read
}

// ErrDrained is the cause of the end of a membership that somebody has asked for.
var ErrDrained = errors.New("somebody asked this process to stop")

// joinFleet starts what a lease needs; without one, there are no other processes.
func (h *Hub) joinFleet(lease *store.Lease) {
	if lease == nil {
		return
	}
	f := &Fleet{
		hub: h, lease: lease, events: make(signal, 1), members: make(signal, 1), leaves: make(chan struct{}),
		reopen: make(map[string]bool), ending: make(map[string]int),
		division: newDivision(h, lease), asking: &asking{environment: h.environment, requests: lease.Requests(), answerers: map[string]Answerer{commandRequest: h.runAsked}},
	}
	f.member, f.deposed = context.WithCancelCause(h.life)
	h.fleet = f
	h.o.Store.Processes().Lost(f.drop)
	f.limits = &sharing{hub: h, lease: lease, chores: f.DoesChores}
	h.access.Share(f.limits.takeTurn)
	for _, run := range []func(context.Context){f.keep, f.look, f.listen, f.claim, f.limits.share, f.watchPlatforms} {
		h.goroutines.start(func() { run(h.life) })
	}
}

// FleetOf returns what a hub knows of other processes; h may be nil.
func FleetOf(h *Hub) *Fleet {
	if h == nil {
		return nil
	}
	return h.fleet
}

// Membership ends with the hub; when others have ended this process, which then owns nothing any more: its cause is store.ErrEnded; and
// when somebody asks the process to stop: ErrDrained.
func (f *Fleet) Membership() context.Context {
	if f == nil {
		return context.Background()
	}
	return f.member
}

// keep renews the lease. When it is over, the conversations leave memory: others may own them, and nothing may be sent any more.
func (f *Fleet) keep(ctx context.Context) {
	over := time.AfterFunc(time.Until(f.lease.Until()), f.dropAll)
	defer over.Stop()
	for ctx.Err() == nil {
		select {
		case <-time.After(f.untilRenewal()):
		case <-f.members:
		case <-ctx.Done():
			return
		}
		before := f.lease.All()
		inTime, cancel := context.WithTimeout(ctx, renewEvery)
		ended, err := f.lease.Renew(inTime)
		cancel()
		switch {
		case errors.Is(err, store.ErrEnded):
			f.dropAll()
			f.hub.o.Log.Warn("process_ended_by_others", "effect", "it starts again")
			f.deposed(store.ErrEnded)
			return
		case err != nil:
			if ctx.Err() == nil {
				f.hub.o.Log.Log(ctx, f.failing.Begin(), "renew_lease_failed", "error", err)
			}
			continue
		}
		if f.failing.On() {
			f.settle()
			f.failing.End()
			f.hub.o.Log.Info("renew_lease_recovered")
			f.back.ring()
		}
		over.Reset(time.Until(f.lease.Until()))
		if f.lease.Self().Draining && f.stops.CompareAndSwap(false, true) {
			f.hub.o.Log.Info("asked_to_stop")
			f.deposed(ErrDrained)
		}
		for _, name := range ended {
			f.hub.o.Log.Warn("process_ended", "process", name, "effect", "its conversations are taken over")
		}
		f.compare(before)
		f.free.set()
	}
}

// Recovered returns a channel that is closed when the database can be reached again; nil, which never is, if there are no other processes.
func (f *Fleet) Recovered() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.back.next()
}

const retryRenewal = 250 * time.Millisecond // while the lease cannot be renewed, or that of another process is over

// untilRenewal returns when to renew the lease: earlier if the lease of another process ends before, which probably has failed.
func (f *Fleet) untilRenewal() time.Duration {
	if f.failing.On() {
		return retryRenewal
	}
	wait := renewEvery
	for _, p := range f.lease.All() {
		switch {
		case p.ID == f.lease.ID():
		case p.Left > 0:
			wait = min(wait, p.Left+expiryMargin)
		default: // it may not be ended yet, see Lease.Renew
			wait = min(wait, retryRenewal)
		}
	}
	return wait
}

// compare does what follows from a change of the processes.
func (f *Fleet) compare(before []store.Process) {
	now := f.lease.All()
	same := len(before) == len(now)
	for i := range now {
		same = same && now[i].ID == before[i].ID && now[i].Draining == before[i].Draining && slices.Equal(now[i].Connectors, before[i].Connectors)
	}
	if same {
		return
	}
	f.joined.ring()
	f.orphans.Store(true)
	f.events.set()
}

// Processes returns those that run the bot on the same database, oldest first, and this one among them; none if there can be no others.
func (f *Fleet) Processes() (all []store.Process, self store.Process) {
	if f == nil {
		return nil, self
	}
	return f.lease.All(), f.lease.Self()
}

// DoesChores reports whether this process does what one of them has to do: the oldest does.
func (f *Fleet) DoesChores() bool {
	all, self := f.Processes()
	return len(all) == 0 || all[0].ID == self.ID
}

// Publish tells other processes the hash of the settings of this one.
func (f *Fleet) Publish(ctx context.Context, settings string) error {
	if f == nil {
		return nil
	}
	return f.lease.Publish(ctx, settings)
}

// Leave announces that this process stops, and reports whether others take over. Until they are connected it should go on to receive what
// people write, which waits for the next owner.
func (f *Fleet) Leave(ctx context.Context) (others bool) {
	if f == nil {
		return false
	}
	for _, p := range f.lease.All() {
		others = others || p.ID != f.lease.ID() && !p.Draining
	}
	f.stops.Store(true)
	err := f.lease.Leave(ctx)
	if others && f.leaving.CompareAndSwap(false, true) {
		close(f.leaves)
		err = errors.Join(err, f.releaseSingle(ctx))
	}
	if err != nil {
		f.hub.o.Log.Warn("leave_failed", "effect", "others wait until this process has ended", "error", err)
	}
	return others
}

// releaseSingle gives up the platforms of one shard. This process goes on to receive there until others are connected.
func (f *Fleet) releaseSingle(ctx context.Context) (failed error) {
	for _, connector := range f.ready() {
		if _, several := f.hub.connectors[connector].(Sharded); !several {
			failed = errors.Join(failed, f.lease.Shards().Release(ctx, connector, nil))
		}
	}
	return failed
}

// withdrawWithin is how long the conversations of a platform may take to end when this process leaves it.
const withdrawWithin = 5 * time.Second

// Withdraw leaves a platform to other processes, because this one cannot talk to it. What it could not send waits for them.
func (f *Fleet) Withdraw(ctx context.Context, connector string) {
	if f == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, withdrawWithin)
	defer cancel()
	f.quit(connector)
	f.hub.goroutines.start(func() { f.giveUpPlatform(f.hub.life, connector) })
	err := f.handOverAll(ctx, func(name string) bool { return connectorOf(name) == connector })
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		f.hub.o.Log.Warn("withdraw_failed", "connector", connector, "effect", "others wait until this process has ended", "error", err)
	}
}

// giveUpPlatform gives up a platform, also if the database is away for a while.
func (f *Fleet) giveUpPlatform(ctx context.Context, connector string) {
	for ctx.Err() == nil {
		inTime, cancel := context.WithTimeout(ctx, LeaseLasts)
		err := f.lease.Withdraw(inTime, connector)
		cancel()
		if err == nil {
			return
		}
		f.hub.o.Log.Debug("withdraw_failed", "connector", connector, "error", err)
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
		}
	}
}
