package compactor_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// quoted returns the beginning of a message, which shows that a summary covers it.
var quoted = regexp.MustCompile(`(?:note|question|edited) \d+ `)

// renderAfterRestart fails unless a restart renders the same view at the same cost.
func (r *rig) renderAfterRestart() {
	r.t.Helper()
	r.waitIdle() // a summary may be about to be redone
	view, used := r.render(), r.c.Status().Used
	r.restart()
	if after := r.render(); after != view {
		r.t.Fatalf("a restart changed the view:\n%s\n--- became\n%s", view, after)
	}
	check.Equal(r.t, "tokens used", r.c.Status().Used, used)
}

func TestEditsReachPrompt(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	r.deliverNotes("the meeting is on Monday")
	r.deliverNotes("fine")
	r.edit(1, "the meeting is on Tuesday "+filler(40))
	view := r.render()
	check.Lacks(t, "view", view, "Monday")
	check.Contains(t, "view", view, "Tuesday")
	r.verify()
	r.renderAfterRestart()
}

func TestDeletedMessagesLeavePrompt(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	r.deliverMany(9, 20)
	before := r.c.Status().Used
	r.remove(1, 5, 9)
	view := r.render()
	for i, gone := range []bool{true, false, false, false, true, false, false, false, true} {
		if strings.Contains(view, fmt.Sprintf("note %d ", i)) == gone {
			t.Errorf("note %d (deleted: %v): got view\n%s", i, gone, view)
		}
	}
	if used := r.c.Status().Used; used > before-60 {
		t.Errorf("got %d tokens used, %d before", used, before)
	}
	r.verify()
	r.renderAfterRestart()
}

func TestRunningTurnCanBeEdited(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	r.deliverNotes("by the way")
	r.hook = func() {
		r.edit(2, "what was that again?")
		r.remove(1)
		view := r.render()
		check.Lacks(t, "view", view, "by the way")
		check.Contains(t, "view", view, "again?", "time: now")
	}
	r.talk("waht?", "a result")
	r.verify()
	r.renderAfterRestart()
}

func TestCopiesOfFirstMessagesFollowEdits(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	r.policy.KeepFirst = 2
	for i := range 25 { // more than the engine keeps in memory
		r.talk(fmt.Sprintf("question %d!", i))
	}
	r.deliverAndWait(80, 80)
	copies := func(want ...string) {
		t.Helper()
		head, _, _ := strings.Cut(r.render(), "[Compaction Summary]")
		for i := range 25 {
			text := fmt.Sprintf("question %d!", i)
			should := false
			for _, w := range want {
				should = should || w == text
			}
			if strings.Contains(head, text) != should {
				t.Errorf("%q: want in the head: %v, got head\n%s", text, should, head)
			}
		}
	}
	copies("question 0!", "question 1!")
	r.edit(1, "another question")
	copies("question 1!")
	r.remove(1)
	copies("question 1!", "question 2!")
	var many []int64
	for i := 1; i < 22; i++ {
		many = append(many, int64(2*i+1))
	}
	r.remove(many...)
	copies("question 22!", "question 23!")
	r.verify()
	r.renderAfterRestart()
}

func TestSummaryOverDeletedMessageIsRepaired(t *testing.T) {
	quotes := func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{
			"summary": fmt.Sprintf("Summary %d. %s", n, strings.Join(quoted.FindAllString(materialIn(req), 30), ", ")),
		})), nil
	}
	r := newRig(t, 8000, &llmtest.Model{Func: quotes})
	r.deliverAndWait(80, 100)
	if n := len(r.c.Status().Stack); n == 0 || !strings.Contains(r.render(), "note 3 ") {
		t.Fatalf("got %d rows in the stack, view\n%s", n, r.render())
	}
	calls := len(r.worker.Requests())
	r.remove(4)
	check.Lacks(t, "view", r.render(), "note 3 ")
	r.renderAfterRestart()
	for range 5 {
		r.waitIdle()
	}
	r.verify()
	for _, row := range r.c.Status().Stack {
		if row.By != compactor.ByWorker || strings.Contains(row.Text, "note 3 ") {
			t.Errorf("after the repair: the row over #%d to #%d by %s: got %q", row.From, row.To, row.By, row.Text)
		}
	}
	check.Equal(t, "worker calls for the repair", len(r.worker.Requests())-calls, 1)
}

func TestWorkerThatReadDeletedMessageIsStale(t *testing.T) {
	release := make(chan struct{})
	var once sync.Once
	r := newRig(t, 8000, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		once.Do(func() { <-release })
		return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{
			"summary": "They said: " + strings.Join(quoted.FindAllString(req.Messages[1].Text, 30), ", "),
		})), nil
	}})
	for i := 0; r.c.Status().Running == nil; i++ {
		r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(100)))
	}
	r.remove(2)
	close(release)
	check.NoError(t, r.c.Wait(context.Background()))
	check.Equal(t, "failures", r.seen(compactor.EventFailed), 0)
	for i := 0; len(r.c.Status().Stack) == 0 && i < 50; i++ { // the deleted message may have been the one that was too much
		r.deliverNotes(fmt.Sprintf("more %d %s", i, filler(100)))
		r.waitIdle()
	}
	view := r.render()
	check.Lacks(t, "view", view, "note 1 ")
	check.Contains(t, "view", view, "note 2 ")
	if len(r.c.Status().Stack) == 0 {
		t.Error("got no summary afterwards")
	}
	r.verify()
}

// The worker's summary is applied while people edit and delete: neither undoes the other.
func TestEditsDuringApply(t *testing.T) {
	r := newRig(t, 6000, &llmtest.Model{Func: goodSummary})
	for i := range 300 {
		r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(25)))
		switch i % 3 {
		case 1:
			r.edit(int64(i), fmt.Sprintf("edited %d %s", i-1, filler(i%40)))
		case 2:
			r.remove(int64(i))
		}
	}
	r.waitIdle()
	if r.seen(compactor.EventApplied) < 3 {
		t.Error("got too few applied summaries: the test proves nothing")
	}
	r.verify()
	r.renderAfterRestart()
}

func TestRequestsNeverRepeatDeletedText(t *testing.T) {
	r := newRig(t, 8000, nil)
	disk := r.faultyDisk()
	r.talk("My very first words.")
	r.deliverAndWait(80, 100)
	disk.blind = true
	r.remove(1)
	if _, _, err := r.c.Request(t.Context()); err == nil {
		t.Error("a request was rendered with a head that may be stale")
	}
	disk.blind = false
	check.Lacks(t, "view", r.render(), "very first words")
}
