// Where replies go when no person sits there: written whole, or the run ends.
package terminal

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// output is a pipe or a file. What cannot be written there ends the run: no one
// would learn what comes after, and trying again would never end.
type output struct {
	mu     sync.Mutex // guards everything below, so that what is written stays whole
	w      io.Writer
	broken error                   // why nothing can be written any more
	end    context.CancelCauseFunc // of the run; nil before it
}

// run lets do talk until it is done or the output breaks. A broken output is what it
// returns then, whatever else went wrong because of it.
func (o *output) run(ctx context.Context, do func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	o.mu.Lock()
	o.end = end
	if o.broken != nil {
		end(o.broken)
	}
	o.mu.Unlock()
	err := do(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken != nil {
		return o.broken
	}
	return err
}

// write writes text whole. The error is for good.
func (o *output) write(text string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken != nil {
		return o.broken
	}
	if _, err := io.WriteString(o.w, text); err != nil {
		o.broken = fmt.Errorf("the replies cannot be written (%w); what was accepted is kept, and what was not said comes at the next start", err)
		if o.end != nil {
			o.end(o.broken)
		}
	}
	return o.broken
}

// send writes a reply. If it cannot, it waits for the end of the bot, which is near:
// an error would be tried again until then, and reported each time.
func (o *output) send(ctx context.Context, text string) error {
	if err := o.write(text); err != nil {
		<-ctx.Done()
		return err
	}
	return nil
}
