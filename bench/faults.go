package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/testkit/llmtest"
)

const (
	faultsAtOnce = 6   // conversations that are exposed to a fault at the same time
	mostHeap     = 128 // limit of the whole process, in MiB, providers included
)

const faultsHelp = `Faults runs conversations whose provider fails in every way we know, %d at a time: in the turn, after
a tool call, and in a summary. The provider is a server on loopback; the client is the real one.

For each fault it checks that people get an answer or one plain sentence; no message is lost; the bot
answers the next question and writes the next summary; it stores a partial answer only with a mark;
the number of requests is bounded; and the log has one warning and one line when it ends. All
conversations together must use less than %d MiB of heap.`

func newFaults() *benchmark {
	var seeds int
	help := fmt.Sprintf(faultsHelp, faultsAtOnce, mostHeap)
	b := newBenchmark("faults", "Check conversations whose provider fails, lies or never ends", help, func(ctx context.Context, s *screen, _ []string) (result, error) {
		return injectFaults(ctx, s, llmtest.Faults(), seeds, func(int) []string { return positions })
	})
	b.integer(&seeds, "seeds", 3, 1, 1000, "`N` conversations for each fault and position")
	return b
}

// faultCounts has the results of one fault.
type faultCounts struct {
	Name     string   `json:"fault"`
	Injected int      `json:"injected"`
	Answered int      `json:"answered"`
	Told     int      `json:"told_in_a_sentence"`
	WentOn   int      `json:"conversations_that_went_on"`
	Lost     int      `json:"messages_lost"`
	Requests int      `json:"most_requests"`
	Warnings int      `json:"most_warnings"`
	Broken   []string `json:"broken_promises,omitempty"`
}

// faultTallies is the result.
type faultTallies struct {
	Faults  []faultCounts `json:"faults"`
	Total   faultCounts   `json:"total"`
	Seconds float64       `json:"seconds"`
	HeapMiB int           `json:"most_heap_mib"`
	targets
}

// injectFaults exposes seeds conversations to each fault at each of its positions; at returns the
// positions of the fault with this index.
func injectFaults(ctx context.Context, s *screen, faults []llmtest.Fault, seeds int, at func(int) []string) (result faultTallies, err error) {
	f, err := openFaultField(ctx)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	peak := watchHeap()
	defer peak()
	start := time.Now()
	var trials []*trial
	for i, fault := range faults {
		for _, position := range at(i) {
			for seed := range seeds {
				trials = append(trials, &trial{fault: fault, position: position, seed: uint64(seed)})
			}
		}
	}
	var group errgroup.Group
	group.SetLimit(faultsAtOnce)
	for i, t := range trials {
		s.progress("fault %d of %d", i+1, len(trials))
		group.Go(func() error {
			if err := f.run(ctx, fmt.Sprintf("bench:faults/%d", i), t); err != nil {
				t.fail("%v", err)
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return result, err
	}
	result.count(faults, trials)
	result.Seconds, result.HeapMiB = time.Since(start).Seconds(), peak()
	result.judge()
	return result, nil
}

func (r *faultTallies) count(faults []llmtest.Fault, trials []*trial) {
	r.Total.Name = "all"
	for _, fault := range faults {
		tally := faultCounts{Name: fault.Name}
		for _, t := range trials {
			if t.fault.Name == fault.Name {
				tally.add(t)
				r.Total.add(t)
			}
		}
		r.Faults = append(r.Faults, tally)
	}
}

func (f *faultCounts) add(t *trial) {
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	f.Injected++
	count(&f.Answered, t.answered)
	count(&f.Told, t.notified)
	count(&f.WentOn, t.continued)
	f.Lost += t.lost
	f.Requests = max(f.Requests, t.requests)
	f.Warnings = max(f.Warnings, t.warnings)
	f.Broken = append(f.Broken, t.broken...)
}

// judge compares the results with the targets.
func (r *faultTallies) judge() {
	r.Targets = []goal{
		zero("messages lost", r.Total.Lost),
		zero("conversations that did not go on", r.Total.Injected-r.Total.WentOn),
		zero("faults nobody was told of", r.Total.Injected-r.Total.Answered-r.Total.Told),
		atMost("warnings per incident", float64(r.Total.Warnings), 1),
		zero("broken promises", len(r.Total.Broken)),
		atMost("MiB of heap", float64(r.HeapMiB), mostHeap),
	}
}

// watchHeap starts measuring the heap; peak stops that and returns the maximum, in MiB.
func watchHeap() (peak func() int) {
	done := make(chan struct{})
	most := make(chan uint64)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		used := uint64(0)
		for {
			select {
			case <-tick.C:
				used = max(used, metric("/gc/heap/live:bytes"))
			case <-done:
				most <- used
				return
			}
		}
	}()
	return sync.OnceValue(func() int {
		close(done)
		return int(<-most >> 20)
	})
}
