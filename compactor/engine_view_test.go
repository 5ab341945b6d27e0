package compactor_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

func TestRestartRendersSameBytes(t *testing.T) {
	check.SkipUnderRace(t)
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	r.policy.ToolResultsKept = 2
	for i := range 60 {
		if i%3 == 0 {
			r.talk(fmt.Sprintf("question %d?", i), "result "+filler(60)+strings.Repeat("\nline", 80), "short")
		} else {
			r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(150)))
		}
		r.waitIdle()
		r.renderAfterRestart()
	}
	if r.seen(compactor.EventApplied) == 0 {
		t.Error("got no applied summary: the test proves nothing")
	}
	r.verify()
}

func TestPromptOnlyGrowsBetweenHeadChanges(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
	before := ""
	for i := range 40 {
		if i%4 == 0 {
			r.talk(fmt.Sprintf("question %d?", i), "result "+filler(60))
		} else {
			r.deliverNotes(fmt.Sprintf("note %d", i))
		}
		after := strings.TrimRight(r.render(), "\n")
		if !strings.HasPrefix(after, before) {
			t.Fatalf("the view at message %d is no prefix of the next one", i)
		}
		before = after
	}
}

func TestGiantTurnFitsWindow(t *testing.T) {
	check.SkipUnderRace(t)
	for name, size := range map[string]int{"many results": 300, "huge results": 5000} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
			for i := range 20 {
				r.deliverNotes(fmt.Sprint("note ", i))
			}
			results := make([]string, 30)
			for i := range results {
				results[i] = fmt.Sprintf("result %d %s", i, filler(size))
			}
			r.talk("look at everything", results...) // each request must fit the window
			r.waitIdle()
			r.verify()
		})
	}
}

func TestGiantMessageIsClippedInPrompt(t *testing.T) {
	r := newRig(t, 4000, nil)
	giant := "begin " + filler(50_000) + "end"
	r.talk(giant)
	r.verify()
	if view := r.render(); !strings.Contains(view, "begin word") || !strings.Contains(view, "word end") || len(view) > 20_000 {
		t.Errorf("got a view of %d bytes for a giant message", len(view))
	}
}

func TestCoveredFirstMessagesAreCopied(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	r.talk("My very first words to you.")
	if n := strings.Count(r.render(), "My very first words"); n != 1 {
		t.Fatalf("got %d copies of the first message while it is verbatim", n)
	}
	r.deliverAndWait(200, 20)
	check.Equal(t, "copies of the first message", strings.Count(r.render(), "My very first words"), 1)
	r.policy.KeepFirst = 0
	r.waitIdle()
	check.Lacks(t, "head with keep_first = 0", r.render(), "My very first words")
}

func TestToolResultsAreClearedWithHeadChange(t *testing.T) {
	r := newRig(t, 16_000, &llmtest.Model{Func: goodSummary})
	r.policy.KeepLastN = 60
	for i := range 10 {
		r.talk(fmt.Sprintf("q%d", i), fmt.Sprintf("RESULT-%d %s", i, filler(100)))
	}
	if n := strings.Count(r.render(), "RESULT-"); n != 10 {
		t.Fatalf("got %d results before any head change", n)
	}
	r.deliverMany(60, 40)
	r.policy.KeepLastN = 75
	r.compactAndWait()
	view := r.render()
	if !strings.Contains(view, "[Previous: used look (#") || strings.Count(view, "RESULT-") > 3 {
		t.Errorf("got %d results after a head change", strings.Count(view, "RESULT-"))
	}
	r.verify()
	r.renderAfterRestart()
}
