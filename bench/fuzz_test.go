package main

import "testing"

func TestTheEndOfTheTimeIsNoInputThatFails(t *testing.T) {
	for out, want := range map[string]bool{
		"fuzz: elapsed: 5s, execs: 36660 (14014/sec)\n--- FAIL: FuzzMarkup (5.05s)\n    context deadline exceeded\nFAIL\nexit status 1\n":                                                       true,
		"--- FAIL: FuzzMarkup (0.05s)\n    --- FAIL: FuzzMarkup (0.00s)\n        a_test.go:3: context deadline exceeded\n    \n    Failing input written to testdata/fuzz/FuzzMarkup/1\nFAIL\n": false,
		"--- FAIL: FuzzMarkup (0.05s)\n    a_test.go:3: lost\nFAIL\n": false,
	} {
		if got := timeWasUp.MatchString(out); got != want {
			t.Errorf("%v of %q", got, out)
		}
	}
}
