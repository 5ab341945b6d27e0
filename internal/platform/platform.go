// Package platform is what connectors to chat platforms share: work in order by key, their
// goroutines, retries, incidents, a small cache, and cutting replies. It imports nothing of ours.
package platform

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits for d. The error is ctx's, if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Backoff is the pauses between tries: they double from First to Most, and each is shortened at
// random by up to half, so that not all who wait try again together.
type Backoff struct {
	First, Most time.Duration

	next time.Duration
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	pause := min(max(b.next, b.First), b.Most)
	b.next = 2 * pause
	return pause/2 + rand.N(pause/2+1)
}

// Reset begins with the first pause again.
func (b *Backoff) Reset() { b.next = 0 }

// Grown tells whether a pause was taken since the begin.
func (b *Backoff) Grown() bool { return b.next > 0 }

// Retry calls try until it returns true or ctx ends.
func Retry(ctx context.Context, b Backoff, try func() (done bool)) {
	for ctx.Err() == nil && !try() {
		_ = Sleep(ctx, b.Next()) // its error ends the loop
	}
}
