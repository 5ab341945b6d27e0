// Retries of a request: one policy for every provider.

package provider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"

	"cairn/llm"
)

// retry calls try until it succeeds. It retries temporary failures with growing pauses, or after the
// delay that the provider asks for, but only while no text was shown and not after silence. Each
// attempt is first charged to req.Spend. If Options.MaxTime is exceeded, which does not apply if
// req.Alive is set, the error is KindUnreachable; if ctx ends, it is ctx's error. A failed try returns
// the usage that the server counted, if any, which is passed to req.Failed.
func (c *Client) retry(ctx context.Context, req llm.Request, shown *bool, try func(ctx context.Context) (llm.Response, error)) (llm.Response, error) {
	o, limited, cancel := c.Options, ctx, func() {}
	if req.Alive == nil {
		limited, cancel = context.WithTimeout(ctx, o.MaxTime)
	}
	defer cancel()
	var failure error
	attempt := func() (llm.Response, error) {
		if err := req.Charge(); err != nil {
			if failure == nil {
				failure = err
			}
			return llm.Response{}, backoff.Permanent(err)
		}
		resp, err := try(limited)
		if failure = err; err == nil {
			return resp, nil
		}
		req.ReportFailed(resp.Usage)
		return resp, o.classify(err, *shown)
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.Multiplier, pause.MaxInterval = o.RetryDelay, 2, llm.LongestWait
	resp, err := backoff.Retry(limited, attempt,
		backoff.WithBackOff(pause),
		backoff.WithMaxTries(uint(1+max(o.MaxRetries, 0))),
		backoff.WithNotify(func(_ error, wait time.Duration) {
			o.Log.Debug("model_retry", "wait", wait, "error", failure)
		}))
	switch {
	case err == nil:
		return resp, nil
	case ctx.Err() != nil:
		return llm.Response{}, ctx.Err()
	case limited.Err() != nil:
		return llm.Response{}, &llm.Error{Kind: llm.KindUnreachable, Message: fmt.Sprintf("no whole answer within %v", o.MaxTime), Err: llm.ErrLate}
	}
	return llm.Response{}, failure
}

// classify converts a failure for the backoff library.
func (o Options) classify(err error, shown bool) error {
	e, ok := errors.AsType[*llm.Error](err)
	if shown || !ok || !e.Passes() || errors.Is(err, llm.ErrSilent) {
		return backoff.Permanent(err)
	}
	if e.RetryAfter == 0 {
		return err
	}
	// Many conversations get the same delay from the provider; jitter spreads them.
	return &backoff.RetryAfterError{Duration: e.RetryAfter + rand.N(max(o.RetryDelay, 1))}
}
