// The goroutines of the door.

package slack

import (
	"context"
	"sync"
)

// tasks are the goroutines of the door, which Run waits for.
type tasks struct {
	running sync.WaitGroup

	mu  sync.Mutex      // guards ctx
	ctx context.Context // of all tasks; nil: none may begin
}

// open allows tasks, until ctx is done or wait is called.
func (t *tasks) open(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx = ctx
}

// start runs do, unless the door is closed; then it returns false.
func (t *tasks) start(do func(ctx context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil || t.ctx.Err() != nil {
		return false
	}
	ctx := t.ctx
	t.running.Go(func() { do(ctx) })
	return true
}

// wait closes the door to new tasks and returns when those that run have ended.
func (t *tasks) wait() {
	t.mu.Lock()
	t.ctx = nil
	t.mu.Unlock()
	t.running.Wait()
}
