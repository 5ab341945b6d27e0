package compactor

import "cairn/chat"

// feedBatch is the most messages that one transaction writes.
const feedBatch = 200

// Feed adds past messages, which get no reply, to a conversation, in batches that fit below the
// background level, so that nothing has to be truncated. M is a message before it has a seq.
type Feed[M any] struct {
	Engine   *Compactor
	Window   func() int                        // called for each message
	Write    func([]M) ([]chat.Message, error) // stores a batch and returns the messages that are new
	WaitIdle func() error                      // checks the window, and waits until nothing is due

	batch  []M
	tokens int // of the batch
}

// Add adds a message that costs tokens when shown in full.
func (f *Feed[M]) Add(m M, tokens int) error {
	window := f.Window()
	tokens = min(tokens, BurstBudget(f.Engine.budget()))
	used, _, _ := f.Engine.Usage()
	policy := f.Engine.policy()
	room := int(policy.BackgroundThreshold*float64(window)) - used
	if len(f.batch) > 0 && (f.tokens+tokens > room || len(f.batch) >= feedBatch) {
		if err := f.Flush(); err != nil {
			return err
		}
	}
	// A large message could jump over the background level and the aggressive one.
	used, _, _ = f.Engine.Usage()
	if float64(used+tokens) >= policy.EmergencyThreshold*float64(window) {
		f.Engine.Compact(Requested{Trigger: OnBackground})
		if err := f.WaitIdle(); err != nil {
			return err
		}
	}
	f.batch = append(f.batch, m)
	f.tokens += tokens
	return nil
}

// Flush writes the current batch.
func (f *Feed[M]) Flush() error {
	added, err := f.Write(f.batch)
	if err != nil {
		return err
	}
	f.batch, f.tokens = f.batch[:0], 0
	history := f.Engine.History()
	history.Append(added...)
	history.Stored()
	return f.WaitIdle()
}
