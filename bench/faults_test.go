package main

import (
	"bytes"
	"testing"

	"cairn/llm/llmtest"
)

// TestFaults holds the promises of `bench faults` for each fault.
func TestFaults(t *testing.T) {
	var out bytes.Buffer
	result, err := injectFaults(t.Context(), screenOf(&out, &out), llmtest.Faults(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range result.Faults {
		t.Run(f.Name, func(t *testing.T) {
			for _, why := range f.Broken {
				t.Error(why)
			}
			if f.Injected != len(positions) {
				t.Errorf("it was met %d times", f.Injected)
			}
		})
	}
	for _, g := range result.Goals {
		if !g.Met {
			t.Errorf("%s: %v, not %v", g.Name, g.Value, g.Must)
		}
	}
	t.Logf("%d faults in %.1f s, %d MiB", result.Total.Injected, result.Seconds, result.HeapMiB)
}
