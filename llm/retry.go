// Retries of a request: one policy for every provider.

package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// longestWait is the longest pause between two attempts. If a provider asks for a longer one there
// is no second attempt: the caller gets the error at once and decides.
const longestWait = time.Minute

var (
	errSilent = errors.New("the server fell silent")
	errLate   = errors.New("the answer took too long")
)

// Retry is the policy by which a model retries a request.
type Retry struct {
	Max     int           // retries after a temporary failure; 0 or less: none
	Delay   time.Duration // before the first retry, then doubled each time
	MaxTime time.Duration // for the whole answer, all attempts included
	Log     *slog.Logger
}

// Do calls try until it succeeds. It retries temporary failures with growing pauses, or after the
// delay that the provider asks for, but only while no text was shown and not after silence. Each
// attempt is first charged to req.Spend. If MaxTime is exceeded, which does not apply if req.Alive
// is set, the error is KindUnreachable; if ctx ends, Do returns ctx's error. A failed try returns
// the usage that the server counted, if any, which Do passes to req.Failed.
func (r Retry) Do(ctx context.Context, req Request, show func(string), try func(ctx context.Context, show func(string)) (Response, error)) (Response, error) {
	limited, cancel := ctx, func() {}
	if req.Alive == nil {
		limited, cancel = context.WithTimeout(ctx, r.MaxTime)
	}
	defer cancel()
	shown := false
	if show != nil {
		showTo := show
		show = func(delta string) {
			shown = true
			showTo(delta)
		}
	}
	var failure error
	attempt := func() (Response, error) {
		if err := req.Charge(); err != nil {
			if failure == nil {
				failure = err
			}
			return Response{}, backoff.Permanent(err)
		}
		resp, err := try(limited, show)
		if failure = err; err == nil {
			return resp, nil
		}
		req.failed(resp.Usage)
		return resp, r.classify(err, shown)
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.Multiplier, pause.MaxInterval = r.Delay, 2, longestWait
	resp, err := backoff.Retry(limited, attempt,
		backoff.WithBackOff(pause),
		backoff.WithMaxTries(uint(1+max(r.Max, 0))),
		backoff.WithNotify(func(_ error, wait time.Duration) {
			r.Log.Debug("model_retry", "wait", wait, "error", failure)
		}))
	switch {
	case err == nil:
		return resp, nil
	case ctx.Err() != nil:
		return Response{}, ctx.Err()
	case limited.Err() != nil:
		return Response{}, &Error{Kind: KindUnreachable, Message: fmt.Sprintf("no whole answer within %v", r.MaxTime), Err: errLate}
	}
	return Response{}, failure
}

// classify converts a failure for the backoff library.
func (r Retry) classify(err error, shown bool) error {
	var e *Error
	if shown || !errors.As(err, &e) || !e.Passes() || errors.Is(err, errSilent) {
		return backoff.Permanent(err)
	}
	if e.RetryAfter == 0 {
		return err
	}
	// Many conversations get the same delay from the provider; jitter spreads them.
	return &backoff.RetryAfterError{Duration: e.RetryAfter + rand.N(max(r.Delay, 1))}
}
