package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"cairn/llm/llmtest"
)

const (
	faultsAtOnce = 6   // conversations that meet a fault at the same time
	mostHeap     = 128 // MiB that the whole may hold meanwhile, providers and all
)

func newFaults(s *screen) *cobra.Command {
	var seeds int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "What becomes of a conversation whose provider fails, lies or never ends",
		Long: fmt.Sprintf(`Faults has conversations meet what a provider can do wrong, %d at a time: in the turn
itself, after a tool, and in a summary. The provider is a real server on loopback, asked by the
real client; the bot is the real one on a real database.

Promised is, for each of them: people get an answer or one plain sentence, no message is
lost, what is asked next is answered, what was to be summed up is, nothing of half an answer
is kept, the number of requests is bounded, the log has one warning and its end, and all of
it together holds less than %d MiB. A run that sees a promise broken ends with 3.`, faultsAtOnce, mostHeap),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if seeds < 1 || seeds > 1000 {
				return wrongFlag(cmd, "seeds", seeds, "from 1 to 1000")
			}
			return measureFaults(cmd.Context(), s, seeds, asJSON)
		},
	}
	cmd.Flags().IntVar(&seeds, "seeds", 3, "`N` conversations for each fault and position")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// faultTally is what became of one fault.
type faultTally struct {
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
	Faults  []faultTally `json:"faults"`
	Total   faultTally   `json:"total"`
	Seconds float64      `json:"seconds"`
	HeapMiB int          `json:"most_heap_mib"`
	Goals   []goal       `json:"goals"`
}

func measureFaults(ctx context.Context, s *screen, seeds int, asJSON bool) (err error) {
	defer s.done()
	result, err := injectFaults(ctx, s, llmtest.Faults(), seeds, func(int) []string { return positions })
	if err != nil {
		return err
	}
	s.done()
	if asJSON {
		err = s.json(result)
	} else {
		_, err = fmt.Fprint(s.out, result.table(s))
	}
	return errors.Join(err, unmet(result.Goals))
}

// injectFaults has each fault met by so many conversations at each of its positions,
// which at names by the fault's index.
func injectFaults(ctx context.Context, s *screen, faults []llmtest.Fault, seeds int, at func(int) []string) (result faultTallies, err error) {
	f, err := openFaultField(ctx)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	heap := watchHeap()
	defer heap.stop()
	start := time.Now()
	var trials []*trial
	for i, fault := range faults {
		for _, position := range at(i) {
			for seed := range seeds {
				trials = append(trials, &trial{fault: fault, position: position, seed: uint64(seed)})
			}
		}
	}
	failed := make([]error, len(trials))
	slots := make(chan struct{}, faultsAtOnce)
	var all sync.WaitGroup
	for i, t := range trials {
		slots <- struct{}{}
		s.progress("fault %d of %d", i+1, len(trials))
		all.Go(func() {
			failed[i] = f.run(ctx, fmt.Sprintf("bench:faults/%d", i), t)
			<-slots
		})
	}
	all.Wait()
	for i, t := range trials {
		if failed[i] != nil {
			t.fail("%v", failed[i])
		}
	}
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	result.count(faults, trials)
	result.Seconds, result.HeapMiB = time.Since(start).Seconds(), heap.stop()
	result.judge()
	return result, nil
}

func (r *faultTallies) count(faults []llmtest.Fault, trials []*trial) {
	r.Total.Name = "all"
	for _, fault := range faults {
		tally := faultTally{Name: fault.Name}
		for _, t := range trials {
			if t.fault.Name == fault.Name {
				tally.add(t)
				r.Total.add(t)
			}
		}
		r.Faults = append(r.Faults, tally)
	}
}

func (f *faultTally) add(t *trial) {
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	f.Injected++
	count(&f.Answered, t.answered)
	count(&f.Told, t.told)
	count(&f.WentOn, t.wentOn)
	f.Lost += t.lost
	f.Requests = max(f.Requests, t.requests)
	f.Warnings = max(f.Warnings, t.warnings)
	f.Broken = append(f.Broken, t.broken...)
}

// judge says which promises were kept.
func (r *faultTallies) judge() {
	atMost := func(name string, value, must int) {
		r.Goals = append(r.Goals, goal{Name: name, Value: float64(value), Must: float64(must), Aim: float64(must), Met: value <= must, Hit: value <= must})
	}
	atMost("messages lost", r.Total.Lost, 0)
	atMost("conversations that did not go on", r.Total.Injected-r.Total.WentOn, 0)
	atMost("faults nobody was told of", r.Total.Injected-r.Total.Answered-r.Total.Told, 0)
	atMost("warnings per incident", r.Total.Warnings, 1)
	atMost("broken promises", len(r.Total.Broken), 0)
	atMost("MiB of heap", r.HeapMiB, mostHeap)
}

// table is the result as people read it.
func (r faultTallies) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s faults injected in %.0f s, %d at a time\n\n", s.paint(bold, "faults"), thousands(r.Total.Injected), r.Seconds, faultsAtOnce)
	b.WriteString(s.paint(dim, left("", 34)+right("injected", 9)+right("answered", 9)+right("told", 7)+right("went on", 8)+right("lost", 6)+right("requests", 9)+right("warnings", 9)) + "\n")
	line := func(f faultTally) {
		text := left(f.Name, 34) + right(fmt.Sprint(f.Injected), 9) + right(fmt.Sprint(f.Answered), 9) + right(fmt.Sprint(f.Told), 7) +
			right(fmt.Sprint(f.WentOn), 8) + right(fmt.Sprint(f.Lost), 6) + right(fmt.Sprint(f.Requests), 9) + right(fmt.Sprint(f.Warnings), 9)
		if len(f.Broken) > 0 {
			text = s.paint(red, text)
		}
		b.WriteString(text + "\n")
	}
	for _, f := range r.Faults {
		line(f)
		for _, why := range f.Broken {
			b.WriteString("    " + why + "\n")
		}
	}
	r.Total.Broken = nil
	line(r.Total)
	fmt.Fprintf(&b, "\nRequests and warnings are the most that one fault caused in one conversation.\nHeap at its highest: %d MiB, of %d promised.\n", r.HeapMiB, mostHeap)
	return b.String()
}

// heapWatch notes how much memory is in use at most, as each collection finds it.
type heapWatch struct {
	done chan struct{}
	end  sync.Once
	all  sync.WaitGroup
	most uint64
}

func watchHeap() *heapWatch {
	w := &heapWatch{done: make(chan struct{})}
	w.all.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-tick.C:
				metrics.Read(sample)
				w.most = max(w.most, sample[0].Value.Uint64())
			case <-w.done:
				return
			}
		}
	})
	return w
}

// stop returns the most, in MiB.
func (w *heapWatch) stop() int {
	w.end.Do(func() { close(w.done) })
	w.all.Wait()
	return int(w.most >> 20)
}
