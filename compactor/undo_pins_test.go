package compactor_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func (r *rig) undo() compactor.Event {
	r.t.Helper()
	e, err := r.c.Undo(r.t.Context())
	check.Require(r.t, err == nil && e.State == compactor.EventUndone, "undo: %+v, %v", e, err)
	check.Equal(r.t, "event", e.AfterTokens, r.c.Status().Used)
	r.verify()
	return e
}

func (r *rig) refused(want string) {
	r.t.Helper()
	before := r.render()
	e := check.Must(r.c.Undo(r.t.Context()))(r.t)
	check.Equal(r.t, "outcome of the undo", e.State, compactor.EventNoop)
	check.Contains(r.t, "reason", e.Error, want)
	check.Equal(r.t, "a refused undo changed the view", r.render(), before)
}

func (r *rig) applied() {
	r.t.Helper()
	applied := r.seen(compactor.EventApplied)
	r.compact("")
	check.Require(r.t, r.seen(compactor.EventApplied) != applied, "got no applied summary")
}

// Three compactions are undone one after the other; the second time with a restart before each.
func TestUndoRestoresEarlierPrompt(t *testing.T) {
	slow(t)
	for _, restarts := range []bool{false, true} {
		r := newRig(t, 16_000, &llmtest.Model{Func: goodSummary})
		r.policy.KeepLastN = 2
		var views []string
		var used []int
		for round := range 3 {
			for i := range 5 {
				r.talk(fmt.Sprintf("question %d of round %d? %s", i, round, filler(30)), "RESULT "+filler(150), "short one")
				r.deliverNotes(fmt.Sprintf("note %d of round %d %s", i, round, filler(20)))
			}
			view, contexts := withoutContexts(r.render())
			views = append(views, strings.TrimRight(view, "\n"))
			used = append(used, r.c.Status().Used-contexts)
			r.applied()
		}
		for round := 2; round >= 0; round-- {
			if restarts {
				r.restart()
			}
			e := r.undo()
			check.That(t, e.BeforeTokens < e.AfterTokens, "from %d to %d tokens", e.BeforeTokens, e.AfterTokens)
			view := strings.TrimRight(r.render(), "\n") // newer messages follow those of the earlier rounds' views
			check.HasPrefix(t, fmt.Sprintf("view after the undo of compaction %d, restarts: %v", round, restarts), view, views[round])
			check.That(t, round != 2 || len(view) == len(views[2]) && r.c.Status().Used == used[2], "got %d tokens used, want %v", r.c.Status().Used, used)
			r.renderAfterRestart()
		}
		r.refused("there is no summary to undo")
	}
}

func TestUndoIsRefused(t *testing.T) {
	slow(t)
	for reason, change := range map[string]func(r *rig){ // after the compaction, and before the undo
		"of 8000 tokens, and from 6800 on": func(r *rig) { r.notesUntil(100, func() bool { return r.share() >= 0.75 }) },
		"changed since":                    func(r *rig) { r.edit(3, "something else") },
	} {
		r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
		r.deliverMany(30, 100)
		r.applied()
		change(r)
		r.refused(reason)
	}
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary}) // not just below the level
	r.policy.BackgroundThreshold = 0.84
	r.notesUntil(100, func() bool { return r.share() >= 0.8 })
	r.notesUntil(20, func() bool { return r.c.Status().Used >= 8000*84/100-60 })
	r.applied()
	r.undo()
	r.waitIdle()
}

func TestUndoneSpanIsKeptUntilAggressive(t *testing.T) {
	slow(t)
	t.Run("no level below it and no request of the model summarizes it, and the status says why", func(t *testing.T) {
		r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
		r.notesUntil(100, func() bool { return r.share() >= 0.7 })
		r.applied()
		r.undo()
		for _, tokens := range []int{0, 6300} { // aggressive is at 6694 then
			r.policy.CompactAtTokens = tokens
			r.notesUntil(20, func() bool { return r.share() >= 0.82 })
			r.waitIdle()
			check.Len(t, "rows in the view", r.c.Status().Stack, 0)
			check.Contains(t, "paused", r.c.Status().Paused, "was undone")
			e := r.c.Compact(compactor.OnSelf, "")
			check.Equal(t, "outcome of the model's request", e.State, compactor.EventNoop)
			check.Contains(t, "its error", e.Error, "was undone")
			r.restart()
		}
		r.policy.CompactAtTokens = 0
		r.notesUntil(20, func() bool { return r.share() >= 0.851 })
		r.waitIdle()
		g := r.c.Status()
		check.That(t, len(g.Stack) > 0 && g.Used < 8000*80/100 && g.Paused == "", "aggressive: got %+v", g)
	})
	t.Run("a restored placeholder is repaired only after a request", func(t *testing.T) {
		r := newRig(t, 8000, nil)
		r.policy.Enabled = false
		r.notesUntil(80, func() bool { return r.seen(compactor.EventApplied) > 0 })
		r.waitIdle() // the extractive summarizer repairs it
		r.noPlaceholder()
		r.undo()
		r.waitIdle()
		check.Equal(t, "kind", r.c.Status().Stack[0].Kind, compactor.Placeholder)
		r.policy.KeepLastN = 500
		r.policy.TailTokens = 200_000 // nothing else is old enough
		r.compactAndWait()
		r.noPlaceholder()
	})
}

// A prepared repair of an undone summary is dropped: it is neither listed as prepared nor counted on.
func TestPreparedSummaryOfUndoneSpanIsDropped(t *testing.T) {
	check.SkipUnderRace(t)
	r := ahead(t, 10_000)
	r.policy.BackgroundThreshold = 0.5
	r.policy.BackgroundFraction = 0.7
	r.quiet = true
	r.notesUntil(60, func() bool { r.waitIdle(); return len(r.c.Status().Stack) > 0 })
	r.talk("do you hear?")
	r.waitIdle()
	rows := r.c.Status().Prepared
	check.Require(t, len(rows) > 0 && rows[0].Trigger == compactor.OnRepair, "got prepared %+v", rows)
	r.undo()
	check.Len(t, "prepared summaries", r.c.Status().Prepared, 0)
	r.restart()
	check.Len(t, "prepared summaries after a restart", r.c.Status().Prepared, 0)
	r.applied()
	check.That(t, len(r.c.Status().Stack) > 0, "got no new summary")
	r.renderAfterRestart()
}

// An undo whose reply is lost loses no message, and edits between it and the next read of the disk are shown.
func TestLostUndoReply(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	r.deliverMany(30, 50)
	before := r.render()
	r.applied()
	r.faultyDisk().silent = true
	undo := func() {
		t.Helper()
		check.Error(t, check.ErrorOf(r.c.Undo(t.Context())), errWorker)
	}
	undo()
	check.Equal(t, "view", r.render(), before)
	r.applied()
	undo()
	r.edit(2, "something else altogether")
	r.remove(4, 5)
	text := r.render()
	check.Lacks(t, "text", text, "note 1 ", "note 3 ", "note 4 ")
	check.Contains(t, "text", text, "note 0 ", "something else altogether", "note 2 ", "note 5 ")
	r.renderAfterRestart()
}

func (r *rig) pin(seq int64) {
	r.t.Helper()
	fresh := check.Must(r.conv.Transcript().Pin(r.t.Context(), seq, store.Person{Name: "Ada"}))(r.t)
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
	return textBetween(r.render(), "<kept>", "</kept>")
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
	r.policy.KeepLastN = 2
	r.policy.KeepFirst = 2
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
	// A pin that does not fit is refused with numbers.
	r.policy.PinBudget = 600
	pinned := r.storedHead().Pins
	check.Len(t, "pins", pinned, 2)
	most := r.c.Status().PinBudget
	costs := compactor.PinCosts(append(pinned, compactor.Pin{Message: r.messages[7]}), most)
	check.That(t, most == 600 && costs[0].Tokens == costs[0].Full && costs[1].Tokens > 0 && costs[1].Tokens < costs[1].Full &&
		costs[2].Tokens == 0 && costs[2].Full >= 200 && costs[0].Tokens+costs[1].Tokens <= 600, "%+v of %d", costs, most)
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
