package channel

import (
	"context"
	"errors"
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

	renewEvery = LeaseLasts / 3
	pollEvery  = time.Second // for what others have written, in case that a notice of the database was lost
)

// fleet has the lease of this process, and does what follows from what others do. It is safe for concurrent use.
type fleet struct {
	hub     *Hub
	lease   *store.Lease
	deposed context.CancelCauseFunc // ends Hub.Membership

	leaving atomic.Bool // the process takes on nothing new
	events  signal      // others may have written something
	members signal      // a process may have joined, left or ended

	mu      sync.Mutex      // guards below
	reopen  map[string]bool // conversations to open, by name
	ending  map[string]int  // how much of a conversation of people and its tasks still ends after it was dropped, by its name
	changed chan struct{}   // closed when the processes may have changed

	failing observe.Incident // the lease cannot be renewed
	unread  observe.Incident // events cannot be read
}

// ErrDrained is the cause of the end of a membership that somebody has asked for.
var ErrDrained = errors.New("somebody asked this process to stop")

// signal tells a goroutine that there may be something to do. It does not block.
type signal chan struct{}

func (s signal) set() {
	select {
	case s <- struct{}{}:
	default: // it will look anyway
	}
}

// joinFleet starts what a lease needs; without one, there are no other processes.
func (h *Hub) joinFleet(lease *store.Lease) {
	if lease == nil {
		return
	}
	f := &fleet{
		hub: h, lease: lease, events: make(signal, 1), members: make(signal, 1), reopen: make(map[string]bool), ending: make(map[string]int), changed: make(chan struct{}),
	}
	h.member, f.deposed = context.WithCancelCause(h.life)
	h.fleet = f
	h.o.Store.Lost(f.drop)
	for _, run := range []func(context.Context){f.keep, f.look, f.listen} {
		h.goroutines.start(func() { run(h.life) })
	}
}

// Membership ends with the hub; when others have ended this process, which then owns nothing any more: its cause is store.ErrEnded; and
// when somebody asks the process to stop: ErrDrained.
func (h *Hub) Membership() context.Context { return h.member }

// keep renews the lease. When it is over, the conversations leave memory: others may own them, and nothing may be sent any more.
func (f *fleet) keep(ctx context.Context) {
	over := time.AfterFunc(time.Until(f.lease.Until()), f.dropAll)
	defer over.Stop()
	for ctx.Err() == nil {
		select {
		case <-time.After(renewEvery):
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
		if f.failing.End() {
			f.hub.o.Log.Info("renew_lease_recovered")
		}
		over.Reset(time.Until(f.lease.Until()))
		if f.lease.Self().Draining && !f.isLeaving() {
			f.hub.o.Log.Info("asked_to_stop")
			f.deposed(ErrDrained)
		}
		for _, name := range ended {
			f.hub.o.Log.Warn("process_ended", "process", name, "effect", "its conversations are taken over")
		}
		f.compare(ctx, before)
	}
}

// compare does what follows from a change of the processes.
func (f *fleet) compare(ctx context.Context, before []store.Process) {
	now := f.lease.All()
	same := len(before) == len(now)
	for i := range now {
		same = same && now[i].ID == before[i].ID && now[i].Draining == before[i].Draining
	}
	if same {
		return
	}
	f.mu.Lock()
	close(f.changed)
	f.changed = make(chan struct{})
	f.mu.Unlock()
	names, err := f.lease.Orphans(ctx)
	if err != nil {
		f.members.set() // try again
		return
	}
	f.again(names...)
}

// receives reports whether this process talks to a platform: the oldest of those that can and are not stopping does. Where nobody
// says that only one may, as in a browser, all do.
func (f *fleet) receives(connector string) bool {
	for _, p := range f.lease.All() {
		for _, on := range p.Connectors {
			if on.Connector == connector && !p.Draining {
				return p.ID == f.lease.ID()
			}
		}
	}
	return true
}

// StandBy waits until this process is the one that talks to a platform, and takes up what others left. waited says that it was not
// so at the start.
func (h *Hub) StandBy(ctx context.Context, connector string) error {
	f := h.fleet
	if f == nil || f.receives(connector) {
		return nil
	}
	h.o.Log.Info("standing_by", "connector", connector)
	for !f.receives(connector) {
		f.mu.Lock()
		changed := f.changed
		f.mu.Unlock()
		if f.receives(connector) {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.o.Log.Info("taking_over", "connector", connector)
	return h.Recover(ctx, func(name string) bool { return connectorOf(name) == connector })
}

// Processes returns those that run the bot on the same database, oldest first, and this one among them; none if there can be no others.
func (h *Hub) Processes() (all []store.Process, self store.Process) {
	if h.fleet == nil {
		return nil, self
	}
	return h.fleet.lease.All(), h.fleet.lease.Self()
}

// Publish tells other processes the hash of the settings of this one.
func (h *Hub) Publish(ctx context.Context, settings string) error {
	if h.fleet == nil {
		return nil
	}
	return h.fleet.lease.Publish(ctx, settings)
}

// StandsBy reports whether another process talks to a platform.
func (h *Hub) StandsBy(connector string) bool { return h.fleet != nil && !h.fleet.receives(connector) }

// own returns a conversation as its owner writes to it. ErrOwned: another process owns it, or is the one to do so.
func (f *fleet) own(ctx context.Context, records *store.Conversation) (*store.Conversation, error) {
	if f == nil {
		return records, nil
	}
	root, _ := store.RootOf(records.Name())
	if f.leaving.Load() || !f.receives(connectorOf(root)) || f.isEnding(root, records.Name()) {
		return nil, records.Fail("claim", store.ErrOwned)
	}
	return f.lease.Claim(ctx, records)
}

// look does what other processes have left to do.
func (f *fleet) look(ctx context.Context) {
	for ctx.Err() == nil {
		mine, free, err := f.lease.Events(ctx)
		switch {
		case err == nil:
			f.unread.End()
		case ctx.Err() == nil:
			f.hub.o.Log.Log(ctx, f.unread.Begin(), "read_events_failed", "error", err)
		}
		for _, e := range mine {
			if e.Changed {
				f.hub.changed(e.Conversation)
				f.hub.post(e.Conversation, (*conversation).reread)
			}
			f.again(e.Conversation)
		}
		f.again(free...)
		f.openAgain(ctx)
		select {
		case <-f.events:
		case <-time.After(pollEvery):
		case <-ctx.Done():
		}
	}
}

// again has conversations opened and woken, if they are this process's to open.
func (f *fleet) again(names ...string) {
	f.mu.Lock()
	for _, name := range names {
		f.reopen[name] = true
	}
	f.mu.Unlock()
	if len(names) > 0 {
		f.events.set()
	}
}

// openAgain wakes what again has collected. What the database refuses is tried again.
func (f *fleet) openAgain(ctx context.Context) {
	f.mu.Lock()
	names := f.reopen
	f.reopen = make(map[string]bool)
	f.mu.Unlock()
	for name := range names {
		root, _ := store.RootOf(name)
		if _, known := f.hub.connectors[connectorOf(root)]; !known {
			continue
		}
		err := f.hub.wakeOwn(ctx, name)
		if err != nil && !errors.Is(err, store.ErrOwned) && !errors.Is(err, ErrClosed) && ctx.Err() == nil {
			f.mu.Lock()
			f.reopen[name] = true // at the next look
			f.mu.Unlock()
		}
	}
}

// listen has the database tell what others do, instead of asking for it each second.
func (f *fleet) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.lease.Listen(ctx, func(members bool) {
			if members {
				f.members.set()
			}
			f.events.set()
		})
		if err == nil {
			return // nobody can
		}
		f.hub.o.Log.Debug("listening_failed", "error", err)
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
		}
	}
}

// drop has a conversation and its tasks leave memory, because what is known of them may be wrong: another process may own them, or it
// is not known what was written. They are opened again if they are still this process's. epoch is that of the owner who found out.
func (f *fleet) drop(name string, epoch int64) {
	root, _ := store.RootOf(name)
	f.lease.Forget(root, epoch)
	for _, c := range f.hub.list() {
		if at, _ := store.RootOf(c.name); at == root && c.records.Epoch() == epoch {
			f.dropOne(c)
		}
	}
}

// dropOne ends a conversation, and has it opened again when it has ended: a request to the platform may be on its way until then, and
// who opens the conversation looks there for what was sent.
func (f *fleet) dropOne(c *conversation) {
	if !f.hub.remove(c) { // somebody else has
		return
	}
	root, _ := store.RootOf(c.name)
	f.mu.Lock()
	f.ending[root]++
	f.reopen[c.name] = true
	f.mu.Unlock()
	c.end()
	f.hub.goroutines.start(func() {
		<-c.inbox.ended
		c.sender.running.Wait()
		f.mu.Lock()
		f.ending[root]--
		if f.ending[root] == 0 {
			delete(f.ending, root)
		}
		f.mu.Unlock()
		f.events.set()
	})
}

// isEnding reports whether a conversation of people was dropped and has not ended. Then the one that was asked for is opened later.
func (f *fleet) isEnding(root, asked string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending[root] == 0 {
		return false
	}
	f.reopen[asked] = true
	return true
}

func (f *fleet) dropAll() {
	for _, c := range f.hub.list() {
		root, _ := store.RootOf(c.name)
		f.lease.Forget(root, c.records.Epoch())
		f.dropOne(c)
	}
}

// isLeaving reports whether this process takes on nothing new.
func (f *fleet) isLeaving() bool { return f != nil && f.leaving.Load() }

// mayAct reports whether nobody can have taken over what this process owns: what is sent cannot be fenced.
func (f *fleet) mayAct() bool { return f == nil || time.Now().Before(f.lease.Until()) }

// left gives up a conversation that has left memory, if none of its tasks is open, nor the conversation of people above it.
func (f *fleet) left(c *conversation) {
	if f == nil || c.life.Err() != nil { // it was dropped, or the hub closes
		return
	}
	root, _ := store.RootOf(c.name)
	for _, other := range f.hub.list() {
		if at, _ := store.RootOf(other.name); at == root {
			return
		}
	}
	f.release(f.hub.life, c)
}

func (f *fleet) release(ctx context.Context, c *conversation) {
	if err := f.lease.Release(ctx, c.records); err != nil && ctx.Err() == nil {
		f.hub.o.Log.Warn("release_conversation_failed", "conversation", c.name, "error", err)
	}
}

// Leave announces that this process stops, and reports whether others take over. Until they are connected it should go on to receive what
// people write, which waits for the next owner.
func (h *Hub) Leave(ctx context.Context) (others bool) {
	f := h.fleet
	if f == nil {
		return false
	}
	for _, p := range f.lease.All() {
		others = others || p.ID != f.lease.ID() && !p.Draining
	}
	f.leaving.Store(others)
	if err := f.lease.Leave(ctx); err != nil {
		h.o.Log.Warn("leave_failed", "effect", "others wait until this process has ended", "error", err)
	}
	return others
}

// HandOver hands over each conversation as soon as its turn has ended and its replies are sent, with what waits there. Call it after
// Leave.
func (h *Hub) HandOver(ctx context.Context) error {
	f := h.fleet
	if errors.Is(context.Cause(h.member), store.ErrEnded) { // it has nothing that it may finish
		return nil
	}
	families := make(map[string][]*conversation) // a conversation of people, and its tasks
	for _, c := range h.list() {
		root, _ := store.RootOf(c.name)
		families[root] = append(families[root], c)
	}
	var wait sync.WaitGroup
	errs := make(chan error, len(families))
	for _, family := range families {
		wait.Go(func() { errs <- f.handOver(ctx, family) })
	}
	wait.Wait()
	close(errs)
	var failed error
	for err := range errs {
		failed = errors.Join(failed, err)
	}
	return failed
}

// handOver releases a conversation and its tasks once nothing runs in them.
func (f *fleet) handOver(ctx context.Context, family []*conversation) error {
	for _, c := range family {
		if err := c.until(ctx, c.workDone); err != nil && !errors.Is(err, ErrClosed) {
			return err
		}
	}
	for _, c := range family {
		f.hub.remove(c)
		c.end()
		<-c.inbox.ended
	}
	f.release(ctx, family[0])
	return nil
}
