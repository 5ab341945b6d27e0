package main

import (
	"bytes"
	"flag"
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
	for _, name := range atEach {
		if !slices.ContainsFunc(faults, func(f llmtest.Fault) bool { return f.Name == name }) {
			t.Errorf("there is no fault %q", name)
		}
	}
	at := func(i int) []string {
		if *everywhere || slices.Contains(atEach, faults[i].Name) {
			return positions
		}
		return positions[i%3 : i%3+1]
	}
	var out bytes.Buffer
	result, err := injectFaults(t.Context(), screenOf(&out, &out), faults, 1, at)
	must(t, err)
	for i, f := range result.Faults {
		t.Run(f.Name, func(t *testing.T) {
			for _, why := range f.Broken {
				t.Error(why)
			}
			check.That(t, f.Injected == len(at(i)), "it was met %d times", f.Injected)
		})
	}
	for _, g := range result.Targets {
		check.That(t, g.Met, "%s: %v, not %v", g.Name, g.Value, g.Must)
	}
	t.Logf("%d faults in %.1f s, %d MiB", result.Total.Injected, result.Seconds, result.HeapMiB)
}
