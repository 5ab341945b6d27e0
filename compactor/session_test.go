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
	"cairn/memory"
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

func TestLateSummaryAppliesInItsSession(t *testing.T) {
	reading, release := make(chan struct{}, 10), make(chan struct{})
	r := newRig(t, 20_000, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		reading <- struct{}{}
		<-release
		return summarizeNotes(ctx, n, req)
	}})
	r.hearNotes(20)
	r.c.Compact(compactor.OnManual, "")
	<-reading
	r.startSession()
	r.hearNotes(3)
	if g := r.c.Status(); g.Running == nil || len(g.Stack) != 0 || g.Lines != 3 {
		t.Fatalf("the new session has %+v and %d messages", g.Stack, g.Lines)
	}
	close(release)
	r.waitIdle()
	g := r.c.Status()
	check.Len(t, "rows in the new session", g.Stack, 0)
	check.Equal(t, "g.Lines", g.Lines, 3)
	if len(g.Past.Earlier) != 1 || len(g.Past.Earlier[0].Rows) != 1 || g.Past.Earlier[0].Rows[0].NeedsRepair() {
		t.Errorf("old session: got %+v", g.Past.Earlier)
	}
	r.verify()
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
	if len(g.Stack) != 1 || g.Lines == 0 {
		t.Fatalf("the stack is %+v, %d messages are verbatim", g.Stack, g.Lines)
	}
	tail := r.said[len(r.said)-1].Seq
	r.startSession()
	r.waitIdle()
	view := r.render()
	for _, seq := range []int64{1, 3, tail} {
		check.Contains(t, fmt.Sprintf("message %d in the view", seq), view, fmt.Sprintf("note-%d-", seq))
	}
	rows := r.c.Status().Past.Earlier[0].Rows
	if len(rows) != 1 || rows[0].From != 1 || rows[0].To != tail || rows[0].Kind != compactor.Rollup {
		t.Errorf("got old stack %+v, want one row", rows)
	}
	r.verify()
}

func TestOldSessionIsRolledUpWithoutModel(t *testing.T) {
	check.SkipUnderRace(t)
	r := newRig(t, 8000, nil)
	r.hearNotes(250)
	r.waitIdle()
	if len(r.c.Status().Stack) == 0 {
		t.Fatal("nothing was summarized")
	}
	r.startSession()
	r.waitIdle()
	rows := r.c.Status().Past.Earlier[0].Rows
	if len(rows) != 1 || rows[0].Kind == compactor.Placeholder || rows[0].To != 250 {
		t.Errorf("old session: got %+v", rows)
	}
	r.verify()
}

func TestNewSessionExtractsNothingTwice(t *testing.T) {
	worker := &llmtest.Model{}
	worker.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if req.Messages[len(req.Messages)-1].Role == llm.RoleTool || !strings.Contains(req.Messages[1].Text, "<message id=") {
			return summarizeNotes(ctx, n, req)
		}
		var from int
		fmt.Sscanf(spanOf(req), "messages #%d", &from)
		return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{
			"content": fmt.Sprintf("Ada said note %d on the %d. attempt.", from, n), "kind": "fact", "messages": []int{from},
		})), nil
	}
	r := newRig(t, 20_000, worker)
	r.talk("listen")
	r.hearNotes(20)
	r.compactAndWait()
	r.startSession()
	r.waitIdle()
	r.restart()
	r.hearNotes(2)
	r.waitIdle()
	found, err := memory.Of(r.conv).Search(t.Context(), "", 100)
	check.NoError(t, err)
	seen := map[int64]int{}
	for _, m := range found {
		for _, seq := range m.Sources {
			seen[seq]++
		}
	}
	if len(seen) != 2 || seen[1] != 1 {
		t.Errorf("got memories from %v, want each span read once", seen)
	}
	r.verify()
}

func TestUnchangedSessionIsNotSummarizedAgain(t *testing.T) {
	worker := &llmtest.Model{Func: summarizeNotes}
	r := newRig(t, 20_000, worker)
	r.hearNotes(20)
	r.compactAndWait()
	r.startSession()
	r.waitIdle()
	asked := len(worker.Requests())
	for range 2 {
		if e := r.c.Compact(compactor.OnManual, ""); e.State != compactor.EventNoop || e.Error == "" {
			t.Errorf("an idle conversation is compacted: %+v", e)
		}
		r.startSession()
		r.waitIdle()
	}
	if len(worker.Requests()) != asked || len(r.ends) != 1 {
		t.Errorf("got %d more requests, sessions end at %v", len(worker.Requests())-asked, r.ends)
	}
}

func TestNewSessionCompacts(t *testing.T) {
	r := newRig(t, 20_000, &llmtest.Model{Func: summarizeNotes})
	r.hearNotes(20)
	r.startSession()
	r.waitIdle()
	r.hearNotes(20)
	r.compactAndWait()
	r.talk("one more question")
	r.renderAfterRestart()
	view := r.render()
	check.Contains(t, "view", view, "one more question", "answer to")
	for _, applied := range r.c.Status().Stack { // no covered message is still shown
		for _, m := range r.said {
			if applied.Covers(m.Seq) && strings.Contains(view, fmt.Sprintf("[#%d ", m.Seq)) {
				t.Errorf("message %d is verbatim and summarized", m.Seq)
			}
		}
	}
	r.verify()
}

func TestSessionEndsAfterFailedPlaceholder(t *testing.T) {
	r := newRig(t, 3000, nil)
	r.policy.Enabled = false // only emergency
	disk := r.faultyDisk()
	disk.refuses = true
	for r.hiddenEvents() == 0 {
		r.deliver("note "+filler(200), false)
		r.c.Check(t.Context())
	}
	disk.refuses = false
	r.startSession()
	r.deliverNotes("anew")
	r.waitIdle()
	g := r.c.Status()
	check.Len(t, "rows in the new session", g.Stack, 0)
	check.Equal(t, "verbatim messages", g.Lines, 1)
	r.verify()
}

// hiddenEvents counts spans hidden in memory alone.
func (r *rig) hiddenEvents() (n int) {
	for _, row := range r.c.Status().Stack {
		if row.ID == 0 {
			n++
		}
	}
	return n
}

// An undone span is protected while it is verbatim. Behind a new session's placeholder it is
// summarized like the rest.
func TestUndoneSpanIsSummarizedWithItsSession(t *testing.T) {
	r := newRig(t, 20_000, &llmtest.Model{Func: summarizeNotes})
	r.hearNotes(12)
	r.applied()
	r.undo()
	r.startSession()
	r.waitIdle()
	view := r.render()
	check.Lacks(t, "view after the repair", view, "truncated")
	check.Contains(t, "view after the repair", view, "note-3-")
	check.Equal(t, "new session idle", r.c.Status().Paused, "")
	r.renderAfterRestart()
}
