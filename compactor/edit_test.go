package compactor_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
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
	after := r.render()
	check.Require(r.t, after == view, "a restart changed the view:\n%s\n--- became\n%s", view, after)
	check.Equal(r.t, "tokens used", r.c.Status().Used, used)
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
		check.EqualAll(t, "copies", regexp.MustCompile(`question \d+!`).FindAllString(head, -1), want)
	}
	copies("question 0!", "question 1!")
	r.edit(1, "another question")
	copies("question 1!")
	r.remove(1)
	copies("question 1!", "question 2!")
	var many []int64
	for seq := int64(3); seq < 45; seq += 2 {
		many = append(many, seq)
	}
	r.remove(many...)
	copies("question 22!", "question 23!")
	r.verify()
	r.renderAfterRestart()
}

// quotes is a worker whose summaries quote the beginnings of the messages in their span.
func quotes(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
	return summary("They said: " + strings.Join(quoted.FindAllString(materialIn(req), 30), ", ")), nil
}

func TestSummaryOverDeletedMessageIsRepaired(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: quotes})
	r.deliverAndWait(80, 110)
	check.Contains(t, "view", r.render(), "They said: note 0 , note 1 , note 2 , note 3 ")
	calls := len(r.worker.Requests())
	r.remove(4)
	check.Lacks(t, "view", r.render(), "note 3 ")
	r.renderAfterRestart()
	for range 5 {
		r.waitIdle()
	}
	r.verify()
	for _, row := range r.c.Status().Stack {
		check.Equal(t, "summarizer after the repair", row.By, compactor.ByWorker)
		check.Lacks(t, "summary after the repair", row.Text, "note 3 ")
	}
	check.Equal(t, "worker calls for the repair", len(r.worker.Requests())-calls, 1)
}

func TestRequestsNeverRepeatDeletedText(t *testing.T) {
	r := newRig(t, 8000, nil)
	disk := r.faultyDisk()
	r.talk("My very first words.")
	r.deliverAndWait(80, 100)
	disk.blind = true
	r.remove(1)
	check.That(t, check.ErrorOf(r.c.Prompt(t.Context())) != nil, "a request was rendered with a head that may be stale")
	disk.blind = false
	check.Lacks(t, "view", r.render(), "very first words")
}
