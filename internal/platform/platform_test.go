package platform

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoffDoublesUpToItsMost(t *testing.T) {
	b := Backoff{First: time.Second, Most: 10 * time.Second}
	for range 2 {
		for i, full := range []time.Duration{1, 2, 4, 8, 10, 10} {
			if b.Grown() != (i > 0) {
				t.Errorf("after %d pauses Grown is %v", i, b.Grown())
			}
			if got := b.Next(); got < full*time.Second/2 || got > full*time.Second {
				t.Errorf("pause %d is %v, want half of %v at least", i, got, full*time.Second)
			}
		}
		b.Reset()
	}
}

func TestRetryEndsWithSuccessOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		Retry(t.Context(), Backoff{First: time.Second, Most: time.Minute}, func() bool { tries++; return tries == 5 })
		if tries != 5 {
			t.Errorf("%d tries", tries)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun := time.Now()
		Retry(ctx, Backoff{First: time.Second, Most: time.Minute}, func() bool { return false })
		if took := time.Since(begun); took != time.Hour {
			t.Errorf("Retry ended after %v", took)
		}
		Retry(ctx, Backoff{}, func() bool { t.Error("a try after the end"); return true })
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := Sleep(ctx, time.Second); err != nil {
			t.Error(err)
		}
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if err := Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a pause the error is %v", err)
		}
	})
}

func TestGroup(t *testing.T) {
	g := new(Group)
	if g.Start(func(context.Context) { t.Error("it ran") }) || g.Context().Err() == nil {
		t.Error("a group that is not open starts goroutines")
	}
	ctx, cancel := context.WithCancel(t.Context())
	if !g.Open(ctx) || g.Open(ctx) {
		t.Error("Open is wrong")
	}
	ended := false
	if !g.Start(func(ctx context.Context) { <-ctx.Done(); ended = true }) {
		t.Error("an open group starts nothing")
	}
	cancel()
	if g.Start(func(context.Context) {}) {
		t.Error("a goroutine starts after the context has ended")
	}
	if g.Close(); !ended {
		t.Error("Close does not wait")
	}
}
