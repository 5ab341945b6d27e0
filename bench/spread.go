package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// spread is the distribution of the times of turns, in milliseconds.
type spread struct {
	Median float64 `json:"median_ms"`
	P95    float64 `json:"p95_ms"`
}

func spreadOf(all []time.Duration) spread {
	return spread{quantile(all, 0.5), quantile(all, 0.95)}
}

// quantile returns the value below which a share of all lies, in milliseconds.
func quantile(all []time.Duration, share float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	at := share * float64(len(sorted)-1)
	low := sorted[int(math.Floor(at))]
	high := sorted[int(math.Ceil(at))]
	return ms(low) + (at-math.Floor(at))*(ms(high)-ms(low))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// confidenceInterval returns the 95 % confidence interval of the ratio of the medians, by
// bootstrapping.
func confidenceInterval(with, without []time.Duration) (low, high float64) {
	r := rand.New(rand.NewPCG(1, 1))
	median := func(all []time.Duration) float64 {
		drawn := make([]time.Duration, len(all))
		for i := range drawn {
			drawn[i] = all[r.IntN(len(all))]
		}
		return quantile(drawn, 0.5)
	}
	ratios := make([]float64, 1000)
	for i := range ratios {
		ratios[i] = median(with) / median(without)
	}
	slices.Sort(ratios)
	return ratios[25], ratios[974]
}
