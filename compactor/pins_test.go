package compactor_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

func (r *rig) pin(seq int64) {
	r.t.Helper()
	fresh := check.Must(r.conv.Transcript().Pin(r.t.Context(), seq, "Ada"))(r.t)
	check.Require(r.t, fresh, "message %d is pinned already", seq)
	r.c.Reread()
}

func (r *rig) unpin(seq int64) {
	r.t.Helper()
	check.NoError(r.t, r.conv.Transcript().Unpin(r.t.Context(), seq))
	r.c.Reread()
}

func (r *rig) head() string {
	r.t.Helper()
	view := r.render()
	from, to := strings.Index(view, "<kept>"), strings.Index(view, "</kept>")
	if from < 0 || to < from {
		return ""
	}
	return view[from:to]
}

func inOrder(t *testing.T, all string, texts ...string) {
	t.Helper()
	at := 0
	for _, text := range texts {
		next := strings.Index(all, text)
		check.That(t, strings.Count(all, text) == 1 && next >= at,
			"got %[2]d copies of %[1]q, at %[3]d after %[4]d, in\n%[5]s", text, strings.Count(all, text), next, at, all)
		at = next
	}
}

func TestPinsStayInPrompt(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	r.policy.KeepLastN = 2
	r.talk("My very first words to you.")
	r.deliverMany(20, 20)
	r.pin(10)
	r.pin(5)
	r.pin(2) // an answer
	check.Equal(t, "head", r.head(), "")
	r.applied()
	r.renderAfterRestart()
	inOrder(t, r.render(), "My very first words", "[#2 2026-01-01 00:01 you, the assistant] answer to 1", "note 2 word", "note 7 word", "[Compaction Summary]")
	read := r.worker.Requests()[0].Messages[1].Text
	check.Contains(t, "material", read, "My very first words", "note 2 word", "note 7 word")
	r.pin(1) // is shown once, although it is both first and pinned
	inOrder(t, r.head(), "My very first words", "note 2 word")
	r.unpin(1)
	before, _, _ := strings.Cut(r.head(), "[Compaction Summary]")
	for range 4 {
		r.deliverMany(10, 20)
		r.applied()
	}
	after, _, _ := strings.Cut(r.head(), "[Compaction Summary]")
	check.Equal(t, "copies after further compactions", after, before)
	r.edit(5, "quite another note")
	inOrder(t, r.head(), "My very first words", "quite another note", "note 7 word")
	r.remove(10)
	check.Lacks(t, "head", r.head(), "note 7")
	r.renderAfterRestart()
	r.unpin(5)
	check.Lacks(t, "head", r.head(), "quite another")
	r.renderAfterRestart()
}

func TestPinsShareABudgetWithFirstMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, 20_000, &llmtest.Model{Func: goodSummary})
	r.policy.KeepLastN, r.policy.KeepFirst = 2, 2
	r.talk("first " + filler(300))
	r.talk("second " + filler(300))
	for i := range 10 {
		r.deliverNotes(fmt.Sprintf("note-%d %s", i, filler(450)))
	}
	r.applied()
	budget := func(most int) {
		t.Helper()
		r.waitIdle()
		g := r.c.Status()
		copies := g.Head - compactor.StackCost(g.Stack)
		check.That(t, copies <= most+40, "got copies of %d tokens, budget %d", copies, most) // and what frames the head
		r.verify()
	}
	budget(1000)
	inOrder(t, r.head(), "first word", "second word")
	r.pin(7)
	r.pin(6)
	budget(1000)
	inOrder(t, r.head(), "first word", "note-1 word", "note-2 word")
	r.pin(5) // takes no other pin's place
	budget(1000)
	inOrder(t, r.head(), "note-0 word", "note-1 word", "note-2 word")
	inOrder(t, r.head(), "note-0 word", "characters left out")
	r.unpin(5)
	t.Run("a pin that does not fit is refused with numbers", func(t *testing.T) {
		r.policy.PinBudget = 600
		pinned := r.storedHead().Pins
		check.Len(t, "pins", pinned, 2)
		most := r.c.Status().PinBudget
		costs := compactor.PinCosts(append(pinned, compactor.Pin{Message: r.said[7]}), most)
		if most != 600 || costs[0].Shown != costs[0].Whole || costs[1].Shown == 0 || costs[1].Shown >= costs[1].Whole ||
			costs[2].Shown != 0 || costs[2].Whole < 200 || costs[0].Shown+costs[1].Shown > 600 {
			t.Errorf("%+v of %d", costs, most)
		}
	})
	for _, tokens := range []int{600, 20, 0} {
		r.policy.PinBudget = tokens
		budget(tokens)
	}
	check.Lacks(t, "head", r.head(), "note-", "first")
	r.policy.PinBudget = 20_000 // a tenth of a small window wins over the setting
	r.resize(4000)
	r.waitIdle()
	check.Equal(t, "the budget", r.c.Status().PinBudget, 400)
	budget(400)
}
