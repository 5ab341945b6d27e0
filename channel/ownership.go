package channel

import (
	"context"
	"errors"
	"time"

	"cairn/store"
)

// How this process comes to own conversations, how it loses them, and what other processes have written to them.

// own returns a conversation as its owner writes to it. ErrOwned: another process owns it, or is the one to do so.
func (f *Fleet) own(ctx context.Context, records *store.Conversation) (*store.Conversation, error) {
	if f == nil {
		return records, nil
	}
	root, _ := store.RootOf(records.Name())
	if f.isSettling() {
		f.again(false, records.Name())
		return nil, records.Fail("claim", store.ErrOwned)
	}
	if f.mayNotOwn(root) || f.isEnding(root, records.Name()) {
		return nil, records.Fail("claim", store.ErrOwned)
	}
	return f.lease.Claim(ctx, records)
}

// mayNotOwn reports whether conversations of people, and their tasks, are for other processes to claim.
func (f *Fleet) mayNotOwn(root string) bool {
	return f.leaving.Load() || !f.receives(root)
}

// settleWithin is how long processes may take to store what they have received in an outage of the database.
const settleWithin = 700 * time.Millisecond

// settle ends a time in which the database could not be reached: this process opens no conversation in it, and for a moment after it. Each
// process has received a part of what people wrote then; when all of that waits in the inbox, the process that claims a conversation puts
// it in order.
func (f *Fleet) settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opens = time.Now().Add(settleWithin)
	time.AfterFunc(settleWithin, f.events.set)
}

func (f *Fleet) isSettling() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failing.On() || time.Now().Before(f.opens)
}

// passOn gives up a conversation that is not this process's to open: it still owns that if an earlier release has failed, or if the
// conversation was dropped.
func (f *Fleet) passOn(ctx context.Context, name string) error {
	root, _ := store.RootOf(name)
	if f.lease.Owns(root) || f.isEnding(root, name) { // who ends it releases it, or has it opened again
		return nil
	}
	return f.lease.GiveUp(ctx, root)
}

// look does what other processes have left to do.
func (f *Fleet) look(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.lookOnce(ctx)
		switch {
		case err == nil:
			f.unread.End()
		case ctx.Err() == nil:
			f.hub.o.Log.Log(ctx, f.unread.Begin(), "read_events_failed", "error", err)
		}
		select {
		case <-f.events:
		case <-time.After(pollEvery):
		case <-ctx.Done():
		}
	}
}

func (f *Fleet) lookOnce(ctx context.Context) error {
	mine, free, err := f.lease.Events(ctx)
	if err == nil && f.orphans.Swap(false) {
		free, err = f.withOrphans(ctx, free)
	}
	for _, e := range mine {
		if e.Changed {
			f.hub.changed(e.Conversation)
			f.hub.post(e.Conversation, (*conversation).reread)
		}
		f.again(true, e.Conversation)
	}
	f.again(false, free...)
	if f.isSettling() { // settle has this look again
		return err
	}
	f.openAgain(ctx)
	return errors.Join(err, f.answer(ctx)) // what nobody owned has an owner now
}

// withOrphans adds to free what processes that have ended have left to do.
func (f *Fleet) withOrphans(ctx context.Context, free []string) ([]string, error) {
	names, err := f.lease.Orphans(ctx)
	if err != nil {
		f.orphans.Store(true)
	}
	return append(free, names...), err
}

// again has openAgain open and wake conversations, if they are this process's to open. owned: it owned them.
func (f *Fleet) again(owned bool, names ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		f.reopen[name] = owned || f.reopen[name]
	}
}

// openAgain wakes what again has collected, or passes it on. What the database refuses is tried again.
func (f *Fleet) openAgain(ctx context.Context) {
	f.mu.Lock()
	names := f.reopen
	f.reopen = make(map[string]bool)
	f.mu.Unlock()
	for name, owned := range names {
		root, _ := store.RootOf(name)
		if _, known := f.hub.connectors[connectorOf(root)]; !known {
			continue
		}
		err := f.hub.wakeOwn(ctx, name)
		if owned && errors.Is(err, store.ErrOwned) && f.mayNotOwn(root) {
			err = f.passOn(ctx, name)
		}
		if err != nil && !errors.Is(err, store.ErrOwned) && !errors.Is(err, ErrClosed) && ctx.Err() == nil {
			f.again(owned, name) // at the next look
		}
	}
}

// listen has the database tell what others do, instead of asking for it each second.
func (f *Fleet) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.lease.Listen(ctx, func(members bool) {
			if members {
				f.members.set()
			}
			f.events.set()
			f.heard.ring()
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
func (f *Fleet) drop(name string, epoch int64) {
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
func (f *Fleet) dropOne(c *conversation) {
	root, _ := store.RootOf(c.name)
	f.mu.Lock()
	f.ending[root]++ // before others can find that it is not open
	f.reopen[c.name] = true
	f.mu.Unlock()
	f.hub.remove(c)
	c.end()
	waits := f.hub.goroutines.start(func() {
		c.awaitEnd()
		f.ended(root)
	})
	if !waits { // the hub closes
		f.ended(root)
	}
}

// ended notes that a conversation that was dropped has ended.
func (f *Fleet) ended(root string) {
	f.mu.Lock()
	f.ending[root]--
	if f.ending[root] == 0 {
		delete(f.ending, root)
	}
	f.mu.Unlock()
	f.events.set()
}

// awaitEnd waits until nothing of the conversation runs any more, after end was called.
func (c *conversation) awaitEnd() {
	<-c.inbox.ended
	c.sender.running.Wait()
}

// isEnding reports whether a conversation of people was dropped and has not ended. Then the one that was asked for is opened later.
func (f *Fleet) isEnding(root, asked string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending[root] == 0 {
		return false
	}
	f.reopen[asked] = true
	return true
}

func (f *Fleet) dropAll() {
	for _, c := range f.hub.list() {
		root, _ := store.RootOf(c.name)
		f.lease.Forget(root, c.records.Epoch())
		f.dropOne(c)
	}
}

// isLeaving reports whether this process takes on nothing new.
func (f *Fleet) isLeaving() bool { return f != nil && f.leaving.Load() }

// MayAct reports whether nobody can have taken over what this process owns: what is sent to a platform cannot be fenced.
func (f *Fleet) MayAct() bool {
	return f == nil || time.Now().Before(f.lease.Until()) && !errors.Is(context.Cause(f.member), store.ErrEnded)
}

// left gives up a conversation that has left memory, if none of its tasks is open, nor the conversation of people above it.
func (f *Fleet) left(c *conversation) {
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

func (f *Fleet) release(ctx context.Context, c *conversation) {
	if err := f.limits.saveCalls(ctx); err != nil && ctx.Err() == nil {
		f.hub.o.Log.Debug("save_calls_failed", "error", err)
	}
	if err := f.lease.Release(ctx, c.records); err != nil && ctx.Err() == nil {
		f.hub.o.Log.Warn("release_conversation_failed", "conversation", c.name, "error", err)
	}
}
