package channel

import (
	"context"
	"slices"
	"time"

	"cairn/memory"
)

// taskPoll is how often who waits for tasks looks whether they have ended. A task takes at least a
// request to a model.
const taskPoll = 100 * time.Millisecond

// DrainTasks returns when the tasks of the conversations that match have ended, those that they
// began too, and their results are answered. It tells once how many it waits for. Tasks that a
// pause holds up are not waited for.
func (o Operator) DrainTasks(ctx context.Context, match func(conversation string) bool, waits func(open int)) error {
	var before []string
	for told := false; ; {
		waited, err := o.awaitTasks(ctx, match, func(open int) {
			if !told {
				waits(open)
			}
			told = true
		})
		if err != nil {
			return err
		}
		unfinished, err := o.wakeUnfinished(ctx, match)
		if err != nil || len(unfinished) == 0 || !waited && slices.Equal(unfinished, before) { // what is left cannot be done now
			return err
		}
		if err := o.hub.Drain(ctx); err != nil {
			return err
		}
		before = unfinished // an answer may have begun further tasks
	}
}

// awaitTasks returns when no task is open, and whether one was.
func (o Operator) awaitTasks(ctx context.Context, match func(conversation string) bool, waits func(open int)) (waited bool, err error) {
	for {
		open, err := o.openTasks(ctx, match)
		if err != nil || len(open) == 0 {
			return waited, err
		}
		waits(len(open))
		waited = true
		select {
		case <-time.After(taskPoll):
		case <-ctx.Done():
			return waited, ctx.Err()
		}
	}
}

// wakeUnfinished has the conversations look again that have something to do, such as results of
// tasks that they do not know of yet. It returns their names.
func (o Operator) wakeUnfinished(ctx context.Context, match func(conversation string) bool) ([]string, error) {
	names, err := o.hub.o.Store.Unfinished(ctx)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !match(name) })
	for _, name := range names {
		c, err := o.hub.use(ctx, name)
		if err != nil {
			return nil, err
		}
		c.wake()
		o.hub.release(c)
	}
	return names, nil
}

// openTasks are the open tasks of the conversations that match and are not paused.
func (o Operator) openTasks(ctx context.Context, match func(conversation string) bool) ([]memory.Task, error) {
	open, err := o.hub.o.Store.OpenTasks(ctx)
	if err != nil {
		return nil, err
	}
	paused, err := o.hub.o.Store.Pauses().List(ctx)
	return slices.DeleteFunc(open, func(t memory.Task) bool {
		root, _ := memory.RootOf(t.Conversation)
		return !match(root) || slices.Contains(paused, everywhere) || slices.Contains(paused, root)
	}), err
}
