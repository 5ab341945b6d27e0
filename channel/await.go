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
	awaited := map[string]bool{}
	for told := false; ; told = true {
		open, err := o.openTasks(ctx, match)
		if err != nil {
			return err
		}
		if len(open) == 0 {
			break
		}
		if !told {
			waits(len(open))
		}
		for _, t := range open {
			root, _ := memory.RootOf(t.Conversation)
			awaited[root] = true
		}
		select {
		case <-time.After(taskPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for name := range awaited {
		c, err := o.hub.use(ctx, name)
		if err != nil {
			return err
		}
		c.wake() // it may not know yet of the result that is on disk
		o.hub.release(c)
	}
	if len(awaited) == 0 {
		return nil
	}
	return o.hub.Drain(ctx)
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
