package main

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// usage is what the process uses at one moment.
type usage struct {
	Resident   uint64 `json:"resident_bytes"`
	Heap       uint64 `json:"heap_bytes"`
	Goroutines int    `json:"goroutines"`
	Handles    int    `json:"handles"`
}

func usageNow() usage {
	return usage{Resident: resident(), Heap: heap(), Goroutines: runtime.NumGoroutine(), Handles: handles()}
}

// sample is one look at a run.
type sample struct {
	At float64 `json:"at_s"` // since the load began
	usage
	Answered int     `json:"answered"`        // since the sample before
	CPU      float64 `json:"cpu_us_per_turn"` // by all that was done meanwhile
	P50      float64 `json:"p50_ms"`          // beyond the model's own time
	P99      float64 `json:"p99_ms"`
}

// watch looks at a run every few seconds, and has the sick talked to in every other
// stretch of it.
type watch struct {
	c       *crowd
	lasts   time.Duration
	every   time.Duration
	stretch time.Duration
	samples []sample
}

func newWatch(c *crowd, lasts time.Duration) *watch {
	return &watch{
		c: c, lasts: lasts,
		every:   min(max(lasts/180, 250*time.Millisecond), 10*time.Second),
		stretch: max(lasts/12, 250*time.Millisecond),
	}
}

// run looks until ctx ends.
func (w *watch) run(ctx context.Context, s *screen) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	begun, cpu := time.Now(), cpuTime()
	answered := 0
	if doings, _ := w.c.book.look(); true {
		answered = doings.Answered
	}
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		at := time.Since(begun)
		sick := int(at/w.stretch)%2 == 1
		w.c.sick.Store(sick)
		w.c.book.stretch(sick, false)
		doings, recent := w.c.book.look()
		spent := cpuTime()
		x := sample{At: at.Seconds(), usage: usageNow(), Answered: doings.Answered - answered, P50: recent.quantile(0.5), P99: recent.quantile(0.99)}
		x.CPU = float64((spent - cpu).Microseconds()) / float64(max(x.Answered, 1))
		cpu, answered = spent, doings.Answered
		w.samples = append(w.samples, x)
		told := fmt.Sprintf("%v of %v: %s turns, %s compactions, %.0f MB, %d goroutines, p50 %.1f ms, p99 %.1f ms", at.Round(time.Second), w.lasts,
			thousands(doings.Answered), thousands(doings.Compactions), float64(x.Resident)/1e6, x.Goroutines, x.P50, x.P99)
		s.progress("%s", told)
		s.report("%s", told)
	}
}
