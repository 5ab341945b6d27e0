package channel

import (
	"context"
	"errors"
	"slices"
	"sync"

	"cairn/store"
)

// How a process hands its conversations over to others.

// HandOver hands over each conversation as soon as its turn has ended and its replies are sent, with what waits there. Call it after
// Leave.
func (f *Fleet) HandOver(ctx context.Context) error {
	if errors.Is(context.Cause(f.member), store.ErrEnded) { // it has nothing that it may finish
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, withdrawWithin)
	defer cancel()
	failing := f.failingPlatforms()
	isFailing := func(name string) bool { return slices.Contains(failing, connectorOf(name)) }
	var wait sync.WaitGroup
	wait.Go(func() { _ = f.handOverAll(soon, isFailing) }) // what cannot be sent need not be waited for
	err := f.handOverAll(ctx, func(name string) bool { return !isFailing(name) })
	wait.Wait()
	return err
}

// handOverAll hands over the conversations of people that match, and their tasks.
func (f *Fleet) handOverAll(ctx context.Context, match func(name string) bool) error {
	families := make(map[string][]*conversation) // a conversation of people, and its tasks
	for _, c := range f.hub.list() {
		if root, _ := store.RootOf(c.name); match(root) {
			families[root] = append(families[root], c)
		}
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

// handOver releases a conversation and its tasks once nothing runs in them. If ctx ends before, the next owner starts again what runs,
// and the error says so.
func (f *Fleet) handOver(ctx context.Context, family []*conversation) (unfinished error) {
	for _, c := range family {
		quiet := func() (bool, error) { return c.turn.Load() == nil && c.sender.mayStop(), nil } // who waits for history need not have it
		if err := c.until(ctx, quiet); err != nil && !errors.Is(err, ErrClosed) {
			unfinished = err
		}
	}
	for _, c := range family {
		f.hub.remove(c)
		c.end()
		c.awaitEnd()
	}
	f.release(f.hub.life, family[0])
	return unfinished
}
