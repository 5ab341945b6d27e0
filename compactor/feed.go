package compactor

import "cairn/chat"

// FeedBatch is the maximum number of messages that one transaction writes or reads.
const FeedBatch = 200

// Feed adds past messages, which get no reply, to a conversation, in batches that fit below the
// background level, so that nothing has to be truncated. M is a message before it is added.
type Feed[M any] struct {
	Do       func(func(*Compactor))            // runs a function on the goroutine that owns the engine, and waits for it
	Window   func() int                        // called for each message
	Write    func([]M) ([]chat.Message, error) // stores a batch, or reads it again, and returns the messages to add
	WaitIdle func() error                      // checks the window, and waits until nothing is due

	batch  []M
	tokens int // of the batch
}

// Add adds a message that costs tokens when shown in full.
func (f *Feed[M]) Add(m M, tokens int) error {
	window := f.Window()
	var full, jumps bool
	look := func(e *Compactor) {
		tokens = min(tokens, BurstBudget(e.meter.budget()))
		used, _, _ := e.Usage()
		policy := e.meter.policy()
		full = f.tokens+tokens > int(policy.BackgroundThreshold*float64(window))-used || len(f.batch) >= FeedBatch
		// A large message could jump over the background level and the aggressive one.
		jumps = float64(used+tokens) >= policy.EmergencyThreshold*float64(window)
	}
	f.Do(look)
	if len(f.batch) > 0 && full {
		if err := f.Flush(); err != nil {
			return err
		}
		f.Do(look)
	}
	if jumps {
		f.Do(func(e *Compactor) { e.Compact(Requested{Trigger: OnBackground}) })
		if err := f.WaitIdle(); err != nil {
			return err
		}
	}
	f.batch = append(f.batch, m)
	f.tokens += tokens
	return nil
}

// Flush adds the current batch.
func (f *Feed[M]) Flush() error {
	added, err := f.Write(f.batch)
	if err != nil {
		return err
	}
	f.batch = f.batch[:0]
	f.tokens = 0
	f.Do(func(e *Compactor) {
		e.Received(added...)
	})
	return f.WaitIdle()
}
