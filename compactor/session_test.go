package compactor_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// summarizeNotes is a worker whose summary lists the words note-N in its request.
func summarizeNotes(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
	notes := noted.FindAllString(materialIn(req), -1)
	if !strings.Contains(req.Messages[1].Text, "<message id=") && len(notes) > 4 { // a fold is shorter
		notes = append(notes[:4:4], notes[len(notes)-1])
	}
	return summary("Told of " + strings.Join(notes, " ") + "."), nil
}

var noted = regexp.MustCompile(`note-\d+-`)

// hearNotes delivers n messages, numbered by position.
func (r *rig) hearNotes(n int) {
	r.t.Helper()
	for range n {
		r.deliverNotes(fmt.Sprintf("note-%d- %s", len(r.said)+1, filler(30)))
	}
}

func TestNewSessionStartsImmediately(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, 20_000, held(release, summarizeNotes))
	r.talk("the first question")
	r.hearNotes(5)
	began := time.Now()
	r.startSession()
	if waited := time.Since(began); waited > 5*time.Second {
		t.Errorf("took %v while the worker hangs", waited)
	}
	r.deliverNotes("anew")
	earlier, after, ok := strings.Cut(r.render(), "began anew")
	if !ok || strings.Contains(after, "note-") || strings.Contains(after, "question") || !strings.Contains(after, "anew") {
		t.Errorf("got new session\n%s", after)
	}
	if !strings.Contains(earlier, "truncated") && !strings.Contains(earlier, "[Compaction Summary]") { // a placeholder, or the text that has replaced it
		t.Errorf("got nothing for the earlier session:\n%s", earlier)
	}
	close(release)
	r.waitIdle()
	view := r.render()
	check.Contains(t, "view after the repair", view, "Told of note-3- note-4- note-5- note-6- note-7-")
	check.Lacks(t, "view after the repair", view, "truncated")
	r.verify()
	t.Run("the first messages shown are those of the session", func(t *testing.T) {
		r.talk("another question")
		r.hearNotes(30)
		r.compactAndWait()
		view := r.render()
		check.Contains(t, "view", view, "another question")
		check.Lacks(t, "view", view, "the first question")
	})
	t.Run("a second /new has no effect", func(t *testing.T) {
		r.startSession()
		r.deliverNotes("gone soon")
		r.remove(int64(len(r.said)))
		r.startSession()
		check.Len(t, "ends of sessions", r.ends, 2)
	})
}

// Messages protected as a session's beginning and end are summarized once the session is an earlier
// one.
func TestOldSessionIsSummarizedWhole(t *testing.T) {
	worker := &llmtest.Model{Func: summarizeNotes}
	r := newRig(t, 20_000, worker)
	r.talk("note-1- asks")
	r.hearNotes(20)
	r.compactAndWait()
	g := r.c.Status()
	check.Require(t, len(g.Stack) == 1 && g.Lines != 0, "the stack is %+v, %d messages are verbatim", g.Stack, g.Lines)
	tail := r.said[len(r.said)-1].Seq
	r.startSession()
	r.waitIdle()
	view := r.render()
	for _, seq := range []int64{1, 3, tail} {
		check.Contains(t, fmt.Sprintf("message %d in the view", seq), view, fmt.Sprintf("note-%d-", seq))
	}
	rows := r.c.Status().Past.Earlier[0].Rows
	check.That(t, len(rows) == 1 && rows[0].From == 1 && rows[0].To == tail && rows[0].Kind == compactor.Rollup,
		"got old stack %+v, want one row", rows)
	r.verify()
}
