package platform

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/testkit/check"
)

func TestBackoffDoublesUpToItsMost(t *testing.T) {
	b := Backoff{First: time.Second, Max: 10 * time.Second}
	for range 2 {
		for i, full := range []time.Duration{1, 2, 4, 8, 10, 10} {
			got := b.Next()
			check.That(t, got >= full*time.Second/2 && got <= full*time.Second, "pause %d is %v, want half of %v at least", i, got, full*time.Second)
		}
		b.Reset()
	}
}

func TestRetryEndsWithSuccessOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		Retry(t.Context(), Backoff{First: time.Second, Max: time.Minute}, func() bool { tries++; return tries == 5 })
		check.Equal(t, "tries", tries, 5)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		started := time.Now()
		Retry(ctx, Backoff{First: time.Second, Max: time.Minute}, func() bool { return false })
		check.Equal(t, "Retry ended", time.Since(started), time.Hour)
		Retry(ctx, Backoff{}, func() bool { t.Error("a try after the end"); return true })
	})
}

func TestGroup(t *testing.T) {
	g := NewGroup(slog.New(slog.DiscardHandler))
	ended := false
	check.That(t, g.Start(func(ctx context.Context) { <-ctx.Done(); ended = true }), "it starts nothing")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	check.Error(t, g.Wait(gone), context.Canceled)
	ctx, cancel := context.WithCancel(t.Context())
	g.Open(ctx)
	check.NoError(t, g.Wait(t.Context()))
	cancel()
	<-g.Ctx.Done()
	check.That(t, !g.Start(func(context.Context) {}), "a goroutine starts after the context has ended")
	g.Close()
	check.That(t, ended, "Close does not wait")
}

func TestWhatCannotBeStoredIsTriedAgainAndToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log check.Buffer
		b := NewBase("discord", slog.New(slog.NewTextHandler(&log, nil)))
		full := errors.New("the disk is full")
		for _, c := range []struct {
			name   string
			errs   []error
			stored bool
		}{
			{"the third try", []error{full, full, nil}, true},
			{"a refusal", []error{channel.ErrRefused}, true},
			{"the end of the hub", []error{full, channel.ErrClosed}, false},
			{"the end of its context", []error{full, context.Canceled}, false},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			tries := 0
			got := b.Store(ctx, func() error {
				tries++
				if errors.Is(c.errs[tries-1], context.Canceled) {
					cancel()
				}
				return c.errs[tries-1]
			})
			cancel()
			check.Equal(t, c.name+": stored", got, c.stored)
			check.Equal(t, c.name+": tries", tries, len(c.errs))
		}
		check.Equal(t, "warnings of two incidents", strings.Count(log.String(), "level=WARN"), 2)
		check.Equal(t, "lines that tell of the end of the first", strings.Count(log.String(), "store_message_recovered"), 1)
	})
}

func TestAShutdownSaysWhatBecomesOfACommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	then := func(ctx context.Context) command.Answer {
		cancel()
		<-ctx.Done()
		return command.Answer{Text: "It goes on in the background."}
	}
	shown := ""
	check.NoError(t, showEnd(ctx, then, func(ctx context.Context, answer command.Answer) error {
		_, limited := ctx.Deadline()
		check.That(t, limited, "the shutdown waits without end")
		shown = answer.Text
		return ctx.Err()
	}))
	check.Equal(t, "it says", shown, "It goes on in the background.")
}

func TestKeyedQueue(t *testing.T) {
	group := NewGroup(slog.New(slog.DiscardHandler))
	q := &KeyedQueue[func()]{Group: group}
	hold := make(chan struct{})
	started := make(chan struct{})
	var done []int
	q.Add("a", func() { close(started); <-hold }, group.CallEach)
	<-started
	const all = 3 * maxBatch
	for i := range all {
		q.Add("a", func() { done = append(done, i) }, group.CallEach)
	}
	passed := make(chan struct{})
	q.Add("b", func() { close(passed) }, group.CallEach) // which does not wait for a
	<-passed
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q.Settle(ctx, "")
	q.Settle(t.Context(), "a")
	check.Len(t, "done of a", done, 0)
	close(hold)
	q.Settle(t.Context(), "b")
	check.Len(t, "done of a", done, all)
	group.Close()
	check.That(t, len(done) == all && slices.IsSorted(done), "%d done, in order: %v", len(done), slices.IsSorted(done))
	check.Equal(t, "keys without work are kept", len(q.busy), 0)
	q.Add("c", func() { t.Error("done after the end") }, group.CallEach)
	check.That(t, !group.Start(func(context.Context) {}), "a closed group starts work")
}

// TestSettleInABusyChannel: it waits for what was added before, and not for a pause.
func TestSettleInABusyChannel(t *testing.T) {
	group := NewGroup(slog.New(slog.DiscardHandler))
	defer group.Close()
	q := &KeyedQueue[func()]{Group: group}
	var isQuiet, isDone atomic.Bool
	defer isQuiet.Store(true)
	var talk func()
	talk = func() {
		if !isQuiet.Load() {
			q.Add("busy", talk, group.CallEach)
		}
	}
	q.Add("busy", talk, group.CallEach)
	for range 3 * maxBatch {
		q.Add("busy", func() { time.Sleep(10 * time.Microsecond) }, group.CallEach)
	}
	q.Add("busy", func() { isDone.Store(true) }, group.CallEach)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	q.Settle(ctx, "")
	check.NoError(t, ctx.Err())
	check.That(t, isDone.Load(), "it does not wait for what was added before")
}

// What panics must neither end the program nor keep what waits behind it from being done.
func TestGuard(t *testing.T) {
	var log check.Buffer
	group := NewGroup(slog.New(slog.NewTextHandler(&log, nil)))
	group.Start(func(context.Context) { panic("a goroutine") })
	functions := &KeyedQueue[func()]{Group: group}
	var done []string
	hold := make(chan struct{})
	functions.Add("a", func() { <-hold }, group.CallEach)
	functions.Add("a", func() { panic("a function") }, group.CallEach)
	functions.Add("a", func() { done = append(done, "the next function") }, group.CallEach)
	batches := &KeyedQueue[int]{Group: group}
	passed := make(chan struct{})
	batches.Add("a", 1, func([]int) { panic("a batch") })
	batches.Add("a", 2, func([]int) { panic("a batch") })
	batches.Add("b", 3, func([]int) { close(passed) })
	close(hold)
	<-passed
	group.Close()
	check.EqualAll(t, "done", done, []string{"the next function"})
	check.Equal(t, "keys without work are kept", len(functions.busy)+len(batches.busy), 0)
	for _, what := range []string{"a goroutine", "a function", "a batch"} {
		check.That(t, strings.Contains(log.String(), "msg=connector_panicked panic=\""+what), "not logged: %s\n%s", what, &log)
	}
}

func TestCacheKeepsTheFirstValueAndForgetsTheOldest(t *testing.T) {
	var c Cache
	first, existed := c.First("a", "1")
	again, still := c.First("a", "2")
	check.That(t, first == "1" && !existed && again == "1" && still, "got %q, %v, then %q, %v", first, existed, again, still)
	c.Set("a", "3")
	value, found := c.Find("a")
	_, other := c.Find("b")
	check.That(t, value == "3" && found && !other, "Find returned %q, %v, and of what was never set %v", value, found, other)
	check.That(t, !c.Seen("b") && c.Seen("b"), "Seen is wrong")
	for i := range 3 * maxGeneration {
		c.Set(strconv.Itoa(i), "")
		_, ok := c.Find(strconv.Itoa(max(0, i-maxGeneration+1)))
		check.Require(t, ok, "after %d entries one of the newest %d is gone", i+1, maxGeneration)
	}
	_, other = c.Find("0")
	check.That(t, !other, "the oldest entry is kept")
	check.That(t, len(c.young)+len(c.old) <= 2*maxGeneration, "%d entries are kept", len(c.young)+len(c.old))
}

// following is a stream in an open group, and the texts that it showed. Each is shown again after
// the next of waits; a negative one means that there is no use in that.
func following(t *testing.T, waits ...time.Duration) (s *Stream, g *Group, shown *[]string) {
	g = NewGroup(slog.New(slog.DiscardHandler))
	shown = new([]string)
	g.Open(t.Context())
	s = NewStream(g, nil, time.Second, func(_ context.Context, text string) (time.Duration, bool) {
		*shown = append(*shown, text)
		if len(waits) == 0 {
			return 0, true
		}
		again := waits[0]
		waits = waits[1:]
		return max(again, 0), again >= 0
	})
	return s, g, shown
}

// A process that has lost its conversations shows nothing that it still had.
func TestAStreamOfALostConversationShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, shown := following(t)
		var lost atomic.Bool
		g.May = func() bool { return !lost.Load() }
		s.Show("a")
		time.Sleep(time.Minute)
		lost.Store(true)
		s.Show("b")
		time.Sleep(time.Hour)
		s.Stop()
		g.Close()
		check.EqualAll(t, "it showed", *shown, []string{"a"})
	})
}

func TestAStreamShowsTheNewestText(t *testing.T) {
	for claim, c := range map[string]struct {
		waits []time.Duration
		want  []string
	}{
		"after its pause":          {nil, []string{"b", "c"}},
		"again where that is due":  {[]time.Duration{time.Millisecond}, []string{"b", "b", "c"}},
		"until there is no use":    {[]time.Duration{-1}, []string{"b"}},
		"and the newest, if later": {[]time.Duration{time.Minute}, []string{"b", "c"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, g, shown := following(t, c.waits...)
			s.Show("a")
			s.Show("b")
			time.Sleep(2 * time.Second)
			s.Show("c")
			time.Sleep(time.Hour)
			s.Stop()
			s.Show("d")
			g.Close()
			check.EqualAll(t, claim+": it showed", *shown, c.want)
		})
	}
}

func TestAStreamLivesAsLongAsItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup(slog.New(slog.DiscardHandler))
		var ran []string
		begin := func(name string) *Stream {
			s := NewStream(g, func(context.Context) { ran = append(ran, name) }, 0, nil)
			s.Working()
			return s
		}
		shown := begin("shown")
		begin("sent before").Stop()
		synctest.Wait()
		check.Len(t, "what ran before", ran, 0)
		g.Open(t.Context())
		synctest.Wait()
		g.Close()
		shown.Stop()
		check.EqualAll(t, "what ran", ran, []string{"shown"})
	})
	synctest.Test(t, func(t *testing.T) {
		s, g, shown := following(t)
		s.Show("a")
		g.Close() // as when the connector closes
		time.Sleep(time.Hour)
		check.Equal(t, "texts shown after the end", len(*shown), 0)
		late := NewStream(g, func(context.Context) { t.Error("it runs in a closed group") }, 0, nil)
		late.Working()
		late.Stop()
	})
}
