package channel

import (
	"context"
	"math"
	"sync"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/observe"
)

// The loop of a conversation: it runs what others post, and starts the child that works.

// retryDelay is how long a conversation waits before it retries what the disk refused.
const retryDelay = 5 * time.Second

const never time.Duration = math.MaxInt64 // until a timer is reset

// inbox queues what others want the loop to run, in order. Posting never blocks.
type inbox struct {
	signal chan struct{} // buffered, capacity 1: "check the inbox"
	ended  chan struct{} // closed when the loop has ended

	mu     sync.Mutex // guards events
	events []func()
}

func (in *inbox) post(event func()) {
	in.mu.Lock()
	in.events = append(in.events, event)
	in.mu.Unlock()
	select {
	case in.signal <- struct{}{}:
	default: // the loop will check anyway
	}
}

// run runs the posted events, each through guard.
func (in *inbox) run(guard func(event func())) {
	in.mu.Lock()
	events := in.events
	in.events = nil
	in.mu.Unlock()
	for _, event := range events {
		guard(event)
	}
}

// runs is the loop's state of its children.
type runs struct {
	working bool          // the child that works runs
	slow    int           // children that run work of the engine
	again   bool          // there may be more work than the child knows of
	err     error         // of the last try, which will be repeated; nil: it succeeded
	panics  int           // since the child last succeeded
	broken  bool          // something panicked: the engine is reloaded once the child has ended
	rereads int           // how often the conversation was to be opened again, see reread
	waiters []func() bool // see await; called until they return true or panic
}

// loop is the goroutine that owns a conversation and its engine. Others post what it runs, and wait for what it has done.
type loop struct {
	life context.Context    // ends when the hub closes, or with end
	end  context.CancelFunc // ends the loop, which then has left memory

	// These are safe for concurrent use.
	inbox inbox
	published

	// Only its goroutine uses these.
	runs   runs
	engine *compactor.Compactor // nil until the conversation has been opened
}

// wake has the child check for work again.
func (l *loop) wake() { l.inbox.post(func() { l.runs.again = true }) }

// await has the loop run f, which must not wait, and returns once done returns true or an error. The loop calls done after that step
// and each later one, when what the step did is passed on. ErrClosed: the loop has ended.
func (l *loop) await(ctx context.Context, f func(), done func() (bool, error)) error {
	result := make(chan error, 1)
	l.inbox.post(func() {
		l.runs.waiters = append(l.runs.waiters, func() (ended bool) {
			failed := errPanicked // unless done returns
			ended = true
			defer func() {
				if ended {
					result <- failed
				}
			}()
			ok, err := done()
			failed = err
			ended = ok || err != nil || ctx.Err() != nil
			return ended
		})
		f()
	})
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-l.inbox.ended:
	}
	select {
	case err := <-result: // of its last step
		return err
	default:
		return ErrClosed
	}
}

// until is await for what others do.
func (l *loop) until(ctx context.Context, done func() (bool, error)) error {
	return l.await(ctx, func() {}, done)
}

// tryDo is await for f alone. errPanicked: f did not end.
func (l *loop) tryDo(f func(e *compactor.Compactor)) error {
	result := errPanicked
	run := func() {
		f(l.engine)
		result = nil
	}
	return l.await(context.Background(), run, func() (bool, error) { return true, result })
}

// runLoop runs the conversation until the hub closes, or until it may leave memory because it has been idle for long.
func (c *conversation) runLoop(leave func() bool) {
	defer c.usage.flush(c.life)
	defer close(c.inbox.ended)
	silence := time.NewTimer(c.o.Idle)
	retry := time.AfterFunc(never, c.wake)
	check := time.AfterFunc(never, func() { c.inbox.post(c.checkDue) })
	for _, timer := range []*time.Timer{silence, retry, check} {
		defer timer.Stop()
	}
	var checkAt time.Time
	stop := c.life.Done()
	worked := make(chan error)
	c.runs.again = true
	for c.runs.working || c.runs.busy() || stop != nil {
		if c.runs.again && !c.runs.working && stop != nil {
			c.goWork(worked)
		}
		select {
		case <-c.inbox.signal:
		case <-silence.C:
			if c.idle() && leave() {
				return
			}
			c.runs.again = true
		case err := <-worked:
			c.runs.working = false
			c.runs.err = err
			if err != nil {
				retry.Reset(c.runs.delay())
			} else if rest := c.rest(); rest > 0 {
				retry.Reset(rest)
			}
			silence.Reset(c.o.Idle)
		case <-stop:
			stop = nil
			if c.engine != nil {
				c.engine.Close()
			}
		}
		c.inbox.run(c.handle)
		if c.runs.broken && !c.runs.working {
			c.runs.broken = false
			c.runs.again = false
			c.engine = nil // the child loads it again
			c.runs.err = errPanicked
			retry.Reset(c.runs.delay())
		}
		if at := c.publishState(); at != checkAt {
			checkAt = at
			if at.IsZero() {
				check.Stop()
			} else {
				check.Reset(time.Until(at))
			}
		}
		c.askWaiters()
	}
}

// handle runs a posted event, and what follows from it.
func (c *conversation) handle(event func()) {
	c.guard(event)
	c.guard(c.attend)
}

// busy reports whether a summary is being written.
func (r *runs) busy() bool { return r.slow > 0 }

// idle reports whether there is nothing to do until a message arrives.
func (c *conversation) idle() bool {
	return c.runs.done() && c.runs.err == nil && c.rest() <= 0 && c.sender.idle() && !c.runs.busy() &&
		(c.engine == nil || c.engine.Wake().IsZero())
}

// rest returns how long the child has nothing to look for; 0 or less: until something arrives.
func (c *conversation) rest() time.Duration {
	if c.task != nil { // which has no history to read
		return c.task.Rest()
	}
	return c.backfill.rest()
}

// checkDue has the engine go on by itself.
func (l *loop) checkDue() {
	if l.engine != nil {
		l.engine.Check(l.life)
	}
}

// publishState publishes the current state, and returns when the engine wants to go on by itself; zero: never.
func (c *conversation) publishState() (wake time.Time) {
	if c.engine != nil && !c.runs.broken {
		c.guard(func() {
			wake = c.engine.Wake()
			c.publish(c.engine)
		})
	}
	return wake
}

// goWork starts the child that works; worked receives its result.
func (c *conversation) goWork(worked chan<- error) {
	c.runs.again = false
	c.runs.working = true
	awaited := c.arrivals.awaited
	again := c.runs.err != nil
	resume := again || c.engine == nil
	go func() {
		ctx := observe.In(c.life, c.name)
		err := c.workGuarded(ctx, resume)
		if err == nil {
			if c.incident.end(c.name) {
				c.log.Info("conversations_recovered")
			}
			c.inbox.post(func() {
				c.runs.panics = 0
				c.arrivals.answered(awaited)
			})
		} else if ctx.Err() == nil {
			c.incident.stall(ctx, &c.voice, awaited, again, err)
		}
		worked <- err
	}()
}

// done reports whether nothing is left to do, or only what failed.
func (r *runs) done() bool { return !r.working && !r.again }

// do is tryDo for children, which the loop waits for, and which cannot continue after an error.
func (l *loop) do(f func(e *compactor.Compactor)) {
	if err := l.tryDo(f); err != nil {
		panic(err)
	}
}

// ask is do with a return value.
func ask[T any](l *loop, f func(e *compactor.Compactor) T) (v T) {
	l.do(func(e *compactor.Compactor) { v = f(e) })
	return v
}

// nextSeq returns the seq of the next row.
func (l *loop) nextSeq() int64 {
	return ask(l, func(e *compactor.Compactor) int64 { return e.View().Next })
}

// addressed returns the messages of a turn that are addressed to the bot.
func (l *loop) addressed(turn int64) []chat.Message {
	var all []chat.Message
	l.do(func(e *compactor.Compactor) {
		for _, m := range e.View().Turn(turn) {
			if m.Addressed {
				all = append(all, *m.Message)
			}
		}
	})
	return all
}

// check has the engine check the levels.
func (l *loop) check() {
	l.do(func(e *compactor.Compactor) { e.Check(l.life) })
}

// workDone reports whether all that was requested so far is done and sent, or what prevents it now.
func (c *conversation) workDone() (bool, error) {
	if !c.runs.done() {
		return false, nil
	}
	return c.sender.idle(), c.runs.err
}

// current returns the agent that answers, once the conversation is open.
func (c *conversation) current(ctx context.Context) (Agent, error) {
	var agent Agent // the loop may still set it after ctx has ended
	err := c.until(ctx, func() (bool, error) {
		if c.engine == nil {
			return false, c.runs.err
		}
		agent = c.agent
		return true, nil
	})
	if err != nil {
		return Agent{}, err
	}
	return agent, nil
}
