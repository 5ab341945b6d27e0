// Output to a pipe or a file: replies are written as a whole, and a failed write ends the run.

package terminal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
)

// output is a pipe or a file. A failed write ends the run: no further output would be read, and
// retries would never end.
type output struct {
	mu     sync.Mutex // guards everything below, so that writes are not interleaved
	w      io.Writer
	failed error                   // the first write error; all further writes fail with it
	end    context.CancelCauseFunc // ends the run; nil before the run
}

// run calls do with a context that ends when a write fails. Then it returns that error, whatever
// error resulted from it.
func (o *output) run(ctx context.Context, do func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	o.mu.Lock()
	o.end = end
	o.mu.Unlock()
	err := do(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	return cmp.Or(o.failed, err)
}

// write writes text as a whole, unless it is empty: writing nothing fails, too, where the disk is full. An error is
// permanent.
func (o *output) write(text string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil && text != "" {
		if _, err := io.WriteString(o.w, text); err != nil {
			o.failed = fmt.Errorf("the replies cannot be written (%w); what was accepted is kept, and what was not said comes at the next start", err)
		}
	}
	if o.failed != nil && o.end != nil {
		o.end(o.failed)
	}
	return o.failed
}

// send writes a reply. If that fails, it waits for the end of the run, which is near: the hub would
// retry until then, and log each error.
func (o *output) send(ctx context.Context, text string) error {
	if err := o.write(text); err != nil {
		<-ctx.Done()
		return err
	}
	return nil
}
