package main

import (
	"testing"

	"cairn/internal/check"
)

// Sentences of a conversation, each behind its speaker's name, are close to an echo: two
// more of them may be refused than the goal allows.
func TestJudgeOfOurOwnConversations(t *testing.T) {
	check.SkipUnderRace(t)
	got := ranAs[verdicts](t, "judge", "testdata") // the goals are for more texts
	texts := 0
	for _, k := range got.Kinds {
		if texts += k.Texts; k.Wrong > 2 {
			t.Errorf("%d of %d wrong, %s: %s", k.Wrong, k.Texts, k.Kind, k.Example)
		}
	}
	if len(got.Kinds) < 7 || texts < 4000 || got.share(false) > 1 {
		t.Errorf("%d texts of %d kinds, %.2f %% of the bad accepted", texts, len(got.Kinds), got.share(false))
	}
}
