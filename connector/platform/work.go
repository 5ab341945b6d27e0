// The goroutines of a connector, and their queues.

package platform

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
)

// Group owns the goroutines of a connector.
type Group struct {
	Opened chan struct{}           // closed by Open
	Ctx    context.Context         // of the goroutines
	Cancel context.CancelCauseFunc // ends Ctx
	May    func() bool             // see MayAnswer; set before Open

	log     *slog.Logger
	running sync.WaitGroup
	mu      sync.Mutex // makes sure that nothing starts after Close
}

// NewGroup returns a group without goroutines.
func NewGroup(log *slog.Logger) *Group {
	g := &Group{Opened: make(chan struct{}), log: log}
	g.Ctx, g.Cancel = context.WithCancelCause(context.Background())
	return g
}

// Open reports that the connector runs, once, and makes the context of the goroutines end with ctx.
func (g *Group) Open(ctx context.Context) {
	context.AfterFunc(ctx, func() { g.Cancel(ctx.Err()) })
	close(g.Opened)
}

// Wait waits until the group is open. It returns ctx's error if ctx ends first.
func (g *Group) Wait(ctx context.Context) error {
	select {
	case <-g.Opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// MayAnswer reports whether this process still may show, change or remove an answer. One that was frozen, or cut off from its database,
// has lost its conversations to another process, which may have taken over what was shown. Call it right before a request, after Wait.
func (g *Group) MayAnswer() bool { return g.May == nil || g.May() }

// Start runs f in a goroutine. It returns false if the group's context has ended.
func (g *Group) Start(f func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Ctx.Err() != nil {
		return false
	}
	g.running.Go(func() {
		g.Guard(func() { f(g.Ctx) })
	})
	return true
}

// Guard runs f. A panic in it is logged, and ends nothing else.
func (g *Group) Guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("connector_panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f()
}

// CallEach calls functions in order, each with Guard. It handles the items of a queue of functions.
func (g *Group) CallEach(batch []func()) {
	for _, call := range batch {
		g.Guard(call)
	}
}

// Close ends the goroutines and waits for them.
func (g *Group) Close() {
	g.mu.Lock()
	g.Cancel(nil)
	g.mu.Unlock()
	g.running.Wait()
}

const maxBatch = 200 // items that are handled together

// KeyedQueue runs the work of each key in order, and different keys in parallel. A key has a goroutine only while it has work.
type KeyedQueue[T any] struct {
	Group *Group

	mu   sync.Mutex // guards busy
	busy map[string]*keyWork[T]
}

// keyWork is the work of one key, whose goroutine runs.
type keyWork[T any] struct {
	waiting []T
	added   int // items, since the goroutine runs
	marks   []mark
}

// mark waits for the first items of a key.
type mark struct {
	at      int           // how many
	handled chan struct{} // closed when they have been handled
}

// Add appends an item to the queue of key, unless the key has no goroutine yet and the group's context has ended. It never blocks.
// The goroutine calls handle, the same for all items of a key, with the oldest of them, at least one.
func (q *KeyedQueue[T]) Add(key string, item T, handle func(batch []T)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.busy[key]; l != nil {
		l.waiting = append(l.waiting, item)
		l.added++
		return
	}
	if !q.Group.Start(func(context.Context) {
		for batch := q.next(key); len(batch) > 0; batch = q.next(key) {
			q.Group.Guard(func() { handle(batch) })
		}
	}) {
		return
	}
	if q.busy == nil {
		q.busy = make(map[string]*keyWork[T])
	}
	q.busy[key] = &keyWork[T]{waiting: []T{item}, added: 1}
}

// next removes and returns the oldest items of a key, when all before them have been handled. If there are none it forgets the key: its
// goroutine is about to end.
func (q *KeyedQueue[T]) next(key string) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.busy[key]
	l.marks = slices.DeleteFunc(l.marks, func(m mark) bool {
		isHandled := m.at <= l.added-len(l.waiting)
		if isHandled {
			close(m.handled)
		}
		return isHandled
	})
	if len(l.waiting) == 0 {
		delete(q.busy, key)
		return nil
	}
	n := min(len(l.waiting), maxBatch)
	batch := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return batch
}

// Settle waits until what was added before, to each key but one, has been handled, or until ctx ends.
func (q *KeyedQueue[T]) Settle(ctx context.Context, but string) {
	for _, handled := range q.others(but) {
		select {
		case <-handled:
		case <-ctx.Done():
		}
	}
}

// others returns when what waits now, or is being handled, of each key but one has been handled.
func (q *KeyedQueue[T]) others(but string) (all []<-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, l := range q.busy {
		if key != but {
			m := mark{l.added, make(chan struct{})}
			l.marks = append(l.marks, m)
			all = append(all, m.handled)
		}
	}
	return all
}
