package channel_test

import (
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// A start that was killed is not an attempt: the model may still refuse once. What it refuses twice is given up.
func TestKilledStartsAreNotAttempts(t *testing.T) {
	busy := failing(&llm.Error{Kind: llm.KindOverloaded, Message: "busy"})
	for name, c := range map[string]struct {
		model    script
		answered bool
	}{
		"refused once":  {inSteps(busy, alwaysSay("Here I am.")), true},
		"refused twice": {inSteps(busy, busy, alwaysSay("Here I am.")), false},
	} {
		r := newRig(t, c.model)
		conv := crashDuringTurn(t, r)
		check.Must(conv.Turns().Retry(t.Context(), 1))(t)
		r.restart()
		r.waitForReplies()
		check.Len(t, name+": requests", r.model.Requests(), 2)
		check.Equal(t, name+": answered", r.lastText() == llmtest.Say("Here I am.").Message.Text, c.answered)
	}
}
