package main

import (
	"context"
	"runtime"
	"time"
)

// usage is the resource usage of the process at one moment.
type usage struct {
	Resident   uint64 `json:"resident_bytes"`
	Heap       uint64 `json:"heap_bytes"`
	Goroutines int    `json:"goroutines"`
	Handles    int    `json:"handles"`
}

func usageNow() usage {
	return usage{Resident: resident(), Heap: heap(), Goroutines: runtime.NumGoroutine(), Handles: handles()}
}

// sample is one measurement during a run.
type sample struct {
	At float64 `json:"at_s"` // since the start of the load
	usage
	Answered int     `json:"answered"`        // since the previous sample
	CPU      float64 `json:"cpu_us_per_turn"` // includes all other work in that time
	P50      float64 `json:"p50_ms"`          // without the model's own time
	P99      float64 `json:"p99_ms"`
}

// watch takes a sample every few seconds, until ctx ends.
func watch(ctx context.Context, s *screen, c *crowd, lasts time.Duration) (samples []sample) {
	tick := time.NewTicker(min(max(lasts/180, 250*time.Millisecond), 10*time.Second))
	defer tick.Stop()
	started := time.Now()
	cpu := cpuTime()
	before, _ := c.snapshot(0)
	timed := 0
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return samples
		}
		done, recent := c.snapshot(timed)
		timed += len(recent)
		spent := cpuTime()
		x := sample{At: time.Since(started).Seconds(), usage: usageNow(), Answered: done.Answered - before.Answered}
		if len(recent) > 0 {
			x.P50, x.P99 = quantile(recent, 0.5), quantile(recent, 0.99)
		}
		x.CPU = float64((spent - cpu).Microseconds()) / float64(max(x.Answered, 1))
		cpu = spent
		before = done
		samples = append(samples, x)
		s.progress("%.0f s of %v: %s turns, %s compactions, %.0f MB, %d goroutines, p50 %.1f ms, p99 %.1f ms", x.At, lasts,
			thousands(done.Answered), thousands(done.Compactions), float64(x.Resident)/1e6, x.Goroutines, x.P50, x.P99)
	}
}
