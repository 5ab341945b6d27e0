package llm

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"cairn/testkit/check"
)

func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Rest
		down := errors.New("down")
		takes := func(when string, want bool) {
			t.Helper()
			check.Equal(t, when, r.Take(), want)
		}
		takes("at first", true)
		check.Equal(t, "level of the first failure", r.Begin(down), slog.LevelWarn)
		check.Equal(t, "level of one beside it", r.Begin(down), slog.LevelDebug)
		takes("while it rests", false)
		time.Sleep(time.Minute)
		takes("when the rest is over", true)
		takes("for the second caller", false)
		check.Equal(t, "level of the next failure", r.Begin(down), slog.LevelDebug)
		time.Sleep(2*time.Minute - 1)
		takes("before twice as long", false)
		left, why := r.Why()
		check.That(t, left == 1 && why == down, "got %v, %v", left, why)
		time.Sleep(time.Nanosecond)
		takes("after twice as long", true)
		time.Sleep(2 * time.Minute)
		takes("if the last one that tried did not end", true)
		check.Equal(t, "the incident ends", r.End(), true)
		check.Equal(t, "it ends again", r.End(), false)
		takes("when it works", true)
		r.Begin(down)
		time.Sleep(time.Minute)
		takes("a minute after a new failure", true)
	})
}
