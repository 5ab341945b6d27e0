package main

import (
	"context"
	"errors"
	"time"

	"cairn/testkit/fleetmodel"
)

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
