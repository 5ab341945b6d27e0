package compactor_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// A summary of a long session is as long as what may be shown of it.
func TestLongSessionIsShown(t *testing.T) {
	check.SkipUnderRace(t)
	for name, worker := range map[string]*llmtest.Model{
		"by the extractive summarizer": nil,
		"by a model":                   {Tokens: 8000, Func: followsInstructions(new([]int))},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 8000, worker)
			for i := range 120 {
				r.deliverNotes(fmt.Sprintf("note %d %s", i, strings.Repeat(fmt.Sprintf("Ada moved to city%d at river%d. ", i, 7*i), 5)))
				r.waitIdle()
			}
			for range 2 {
				r.startSession()
				r.waitIdle()
				r.deliverNotes("anew")
				g := r.c.Status()
				newest := g.Past.Earlier[len(g.Past.Earlier)-1].Rows
				check.That(t, len(newest) == 1 && g.Past.Shown[newest[0].ID] && g.Past.Tokens >= 200,
					"%d tokens are shown, of %+v", g.Past.Tokens, newest)
			}
			r.verify()
			r.renderAfterRestart()
		})
	}
}
