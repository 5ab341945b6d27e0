package main

import (
	"flag"
	"io"
	"slices"
	"testing"

	"cairn/internal/check"
	"cairn/llm/llmtest"
)

var everywhere = flag.Bool("everywhere", false, "TestFaults: have each fault met at each position")

// atEach are faults that are met at each position in any case. The others are met at one, by turns.
// `go run ./bench faults` leaves out none.
var atEach = []string{"503", "cut in mid-stream", "a tool for ever"}

// TestFaults holds the promises of `bench faults` for each fault.
func TestFaults(t *testing.T) {
	check.SkipUnderRace(t)
	faults := llmtest.Faults()
	at := func(i int) []string {
		if *everywhere || slices.Contains(atEach, faults[i].Name) {
			return positions
		}
		return positions[i%3 : i%3+1]
	}
	result := check.Must(injectFaults(t.Context(), screenOf(io.Discard, io.Discard), faults, 1, at))(t)
	everywhere := 0
	for i, f := range result.Faults {
		check.EqualAll(t, f.Name+": broken promises", f.Broken, nil)
		check.Equal(t, f.Name+": times that it was met", f.Injected, len(at(i)))
		if f.Injected == len(positions) {
			everywhere++
		}
	}
	check.That(t, everywhere >= len(atEach), "%d faults were met everywhere", everywhere)
	for _, g := range result.Targets {
		check.That(t, g.Met, "%s: %v, not %v", g.Name, g.Value, g.Must)
	}
	t.Logf("%d faults in %.1f s, %d MiB", result.Total.Injected, result.Seconds, result.HeapMiB)
}
