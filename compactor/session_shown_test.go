package compactor_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm/llmtest"
)

func TestEarlierSessionsShown(t *testing.T) {
	r := newRig(t, 20_000, &llmtest.Model{Func: summarizeNotes})
	r.policy.EarlierSessions = 2
	var last []int64
	for range 4 {
		r.hearNotes(3)
		last = append(last, int64(len(r.said)))
		r.startSession()
		r.waitIdle()
	}
	shows := func(seq int64) bool { return strings.Contains(r.render(), fmt.Sprintf("note-%d-", seq)) }
	if shows(last[0]) || shows(last[1]) || !shows(last[2]) || !shows(last[3]) {
		t.Errorf("want the newest two of four sessions, got:\n%s", r.render())
	}
	if view := r.render(); strings.Index(view, fmt.Sprintf("note-%d-", last[2])) > strings.Index(view, fmt.Sprintf("note-%d-", last[3])) {
		t.Error("the newer session is above the older one")
	}
	r.renderAfterRestart()
	t.Run("sessions within half of the budget are shown", func(t *testing.T) {
		g := r.c.Status()
		newest := g.Past.Earlier[3].Rows[0].Tokens
		r.policy.StackBudget = float64(2*(newest+30)+1) / float64(r.window)
		r.c.Check(t.Context())
		if shows(last[2]) || !shows(last[3]) {
			t.Errorf("the view is\n%s", r.render())
		}
	})
	t.Run("no session is shown with a budget of zero", func(t *testing.T) {
		r.policy.EarlierSessions, r.policy.StackBudget = 0, 0.15
		r.c.Check(t.Context())
		check.Lacks(t, "view", r.render(), "note-", "anew")
	})
	t.Run("hidden sessions are summarized too", func(t *testing.T) {
		r.hearNotes(3)
		r.startSession()
		r.waitIdle()
		for _, s := range r.c.Status().Past.Earlier {
			if len(s.Rows) != 1 || s.Rows[0].NeedsRepair() {
				t.Errorf("messages %d to %d: got %+v", s.From, s.To, s.Rows)
			}
		}
	})
	r.verify()
}

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
				if len(newest) != 1 || !g.Past.Shown[newest[0].ID] || g.Past.Tokens < 200 {
					t.Errorf("%d tokens are shown, of %+v", g.Past.Tokens, newest)
				}
			}
			r.verify()
			r.renderAfterRestart()
		})
	}
}
