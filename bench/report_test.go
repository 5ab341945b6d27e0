package main

import (
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestReport(t *testing.T) {
	r := recalled{
		Conversations: []quality{{Name: "one", Questions: 1234, At5: 0.5}, {Name: "another", MRR: 0.25}}, All: quality{Name: "all", Questions: 7},
		targets: targets{Targets: []goal{atLeast("recall@10", 50, 77), atMost("p50 ms", 1, 5)}},
	}
	w := conversed{Turns: 20, Trials: []trialResult{{Name: "gpt", Refused: []string{"max_tokens"}}}}
	windows := retained{Windows: []windowed{{Window: 8192, Conversations: []keeping{{Name: "one"}}}}}
	texts := []string{report(r), report(w), report(windows), report(load{Samples: make([]sample, maxRows+1)}), report(crashes{Wrong: []string{"m1 is lost"}, Said: -1234, At: map[string]int{"b": 2, "a": 1}})}
	text := strings.Join(texts, "")
	for _, want := range []string{
		"all questions 7", "conversations name questions recall at 5", "one 1 234 0.5", "must 77: missed", "must 5: met",
		"turns 20", "gpt refused: max_tokens", "window 8 192", "101, which --json shows", "wrong m1 is lost", "said -1 234", "at a: 1 b: 2",
	} {
		check.That(t, strings.Contains(strings.Join(strings.Fields(text), " "), want), "no %q in:\n%s", want, text)
	}
	if !strings.Contains(text, "\none      1 234  ") || !strings.Contains(text, "\nanother  0      ") {
		t.Errorf("the columns are not aligned:\n%s", text)
	}
	if got := thousands(1234567); got != "1 234 567" {
		t.Errorf("%q", got)
	}
}
