package main

import (
	"bytes"
	"io"
	"testing"

	"cairn/testkit/check"
)

func TestMachines(t *testing.T) {
	args := []string{"machines", "--model", "--messages", "1", "--crashes", "1", "--pauses", "1", "--lost", "0"}
	r, missing := ranAs[modelSearch](t, args...)
	check.NoError(t, missing)
	check.Equal(t, "the broken rule", r.Broken, "none")
	check.That(t, r.States > 500 && r.Transitions > r.States && r.Depth > 10 && r.Twice > 0 && r.Speed > 0 && r.Memory > 0 && r.Slow == 1, "%+v", r)
}

// TestBrokenRuleFails: the result is written, and the exit code is that of a failure.
func TestBrokenRuleFails(t *testing.T) {
	for _, asJSON := range []bool{true, false} {
		var out bytes.Buffer
		err := screenOf(&out, io.Discard).conclude(asJSON, modelSearch{Broken: "one answer", Trace: []string{"A starts", "A answers"}})
		check.ErrorContains(t, "the result", err, "one answer")
		check.Equal(t, "exit code", exitCode(err), exitFailed)
		check.Contains(t, "the output", out.String(), "one answer", "A starts", "A answers")
	}
}
