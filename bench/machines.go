package main

import (
	"context"
	"errors"
	"time"

	"cairn/testkit/fleetmodel"
)

const machinesHelp = `Machines --model visits every state of a model of several processes on one PostgreSQL database, which take
conversations over from each other while processes are killed and paused, clocks jump and answers are lost;
package testkit/fleetmodel describes it. A broken rule ends the search, with the shortest way to break it and exit code 1.

Time and memory grow about three- to tenfold with each message and fault; a state takes about 30 bytes.`

func newMachines() *benchmark {
	var bounds fleetmodel.Bounds
	var model bool
	b := newBenchmark("machines", "Check the protocol of several processes", machinesHelp, func(ctx context.Context, s *screen, _ []string) (result, error) {
		return searchModel(ctx, s, bounds)
	})
	b.Flags().BoolVar(&model, "model", false, "search the model; required")
	b.checks = append(b.checks, func() error {
		if model {
			return nil
		}
		return wrongUse(b.Command, errors.New("--model is missing"))
	})
	b.integer(&bounds.Processes, "processes", 2, 1, fleetmodel.MaxProcesses, "`N` processes")
	b.integer(&bounds.Messages, "messages", 2, 1, fleetmodel.MaxMessages, "`N` messages")
	for _, fault := range []struct {
		into  *int
		name  string
		value int
		usage string
	}{
		{&bounds.Crashes, "crashes", 2, "kill processes `N` times"},
		{&bounds.Pauses, "pauses", 2, "pause processes, or cut them off from the database, `N` times"},
		{&bounds.Jumps, "jumps", 0, "let a lease expire `N` times because the database's clock jumps"},
		{&bounds.Lost, "lost", 1, "lose the answers of `N` transactions"},
		{&bounds.Slow, "slow", 1, "let `N` requests to the platform take long"},
		{&bounds.Drains, "drains", 0, "drain processes `N` times"},
	} {
		b.integer(fault.into, fault.name, fault.value, 0, fleetmodel.MaxFaults, fault.usage)
	}
	return b
}

// modelSearch is the result.
type modelSearch struct {
	Processes   int      `json:"processes"`
	Messages    int      `json:"messages"`
	Crashes     int      `json:"crashes"`
	Pauses      int      `json:"pauses"`
	Jumps       int      `json:"jumps"`
	Lost        int      `json:"lost"`
	Slow        int      `json:"slow"`
	Drains      int      `json:"drains"`
	States      int      `json:"states"`
	Transitions int      `json:"transitions"`
	Depth       int      `json:"depth"`
	Twice       int      `json:"states_with_a_reply_sent_twice"` // as the package documents
	Seconds     float64  `json:"seconds"`
	Speed       float64  `json:"states_per_second"`
	Memory      float64  `json:"memory_mb"` // of the process
	Broken      string   `json:"broken_rule"`
	Trace       []string `json:"trace,omitempty"`
	targets
}

// failure is a broken rule: no target was missed, the protocol is wrong.
func (r modelSearch) failure() error {
	if len(r.Trace) == 0 {
		return nil
	}
	return errors.New("a rule is broken: " + r.Broken)
}

func searchModel(ctx context.Context, s *screen, b fleetmodel.Bounds) (modelSearch, error) {
	began := time.Now()
	found, err := fleetmodel.Search(ctx, b, func(sofar fleetmodel.Result, ahead int) {
		s.progress("%s states, %d steps deep, %s ahead, %s a second, %s MB", thousands(sofar.States), sofar.Depth, thousands(ahead),
			thousands(int(float64(sofar.States)/time.Since(began).Seconds())), thousands(int(resident()/1_000_000)))
	})
	took := time.Since(began).Seconds()
	return modelSearch{
		Processes: b.Processes, Messages: b.Messages,
		Crashes: b.Crashes, Pauses: b.Pauses, Jumps: b.Jumps, Lost: b.Lost, Slow: b.Slow, Drains: b.Drains,
		States: found.States, Transitions: found.Transitions, Depth: found.Depth, Twice: found.Twice,
		Seconds: took, Speed: float64(found.States) / took, Memory: float64(resident()) / 1e6,
		Broken: found.Broken.String(), Trace: found.Trace,
	}, err
}
