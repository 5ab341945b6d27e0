// Retries of a request: one policy for every provider.

package provider

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"

	"cairn/llm"
)

// retry calls try until it succeeds, tries times at most. It retries temporary failures with growing pauses, or after the
// delay that the provider asks for, but only while no text was shown, and not after an answer that stalled. Each attempt is
// first charged. Unless req.Alive is set, a server
// that is silent for Options.IdleTimeout, or an answer that takes longer than Options.MaxTime, is KindUnreachable. If ctx
// ends, the error is ctx's. The usage that a failed try returns is passed to req.Failed.
func (c *Client) retry(ctx context.Context, req llm.Request, emitted *bool, tries int, try func(ctx context.Context, req llm.Request) (llm.Response, error)) (llm.Response, error) {
	o := c.Options
	limited := ctx
	if req.Alive == nil {
		var stop func()
		limited, req.Alive, stop = llm.WatchWork(ctx, o.IdleTimeout, o.MaxTime)
		defer stop()
	}
	var failure error
	attempt := func() (llm.Response, error) {
		if err := req.Charge(); err != nil {
			if failure == nil {
				failure = err
			}
			return llm.Response{}, backoff.Permanent(err)
		}
		resp, err := try(limited, req)
		failure = err
		if err == nil {
			return resp, nil
		}
		req.ReportFailed(resp.Usage)
		if *emitted {
			return resp, backoff.Permanent(err)
		}
		return resp, o.pauseAfter(err)
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = o.RetryDelay
	pause.Multiplier = 2
	pause.MaxInterval = llm.LongestWait
	resp, err := backoff.Retry(limited, attempt,
		backoff.WithBackOff(pause),
		backoff.WithMaxTries(uint(max(tries, 1))),
		backoff.WithNotify(func(_ error, wait time.Duration) {
			o.Log.Debug("model_retry", "wait", wait, "error", failure)
			for ; wait > 0; wait -= time.Second {
				time.AfterFunc(wait, req.Alive) // the pause is not the server's silence
			}
		}))
	switch ended := context.Cause(limited); {
	case err == nil:
		return resp, nil
	case ctx.Err() != nil:
		return llm.Response{}, ctx.Err()
	case errors.Is(failure, llm.ErrStalled):
		return llm.Response{}, failure
	case ended == llm.ErrSilent || ended == llm.ErrLate:
		return llm.Response{}, &llm.Error{Kind: llm.KindUnreachable, Message: ended.Error(), Err: ended}
	}
	return llm.Response{}, failure
}

// pauseAfter returns an error as one that says when to try again, if it is worthwhile.
func (o Options) pauseAfter(err error) error {
	switch e, ok := errors.AsType[*llm.Error](err); {
	case !ok || !e.Passes() || errors.Is(err, llm.ErrStalled): // another attempt would take as long
		return backoff.Permanent(err)
	case e.RetryAfter > 0: // jitter spreads the many conversations to which the provider says the same
		return &backoff.RetryAfterError{Duration: e.RetryAfter + rand.N(max(o.RetryDelay, 1))}
	}
	return err
}
