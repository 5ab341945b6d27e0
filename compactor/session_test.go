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
	r.startSession() // the worker hangs
	r.deliverNotes("anew")
	earlier, after, _ := strings.Cut(r.render(), "began anew")
	check.Contains(t, "the new session", after, "anew")
	check.Lacks(t, "the new session", after, "note-", "question")
	check.That(t, strings.Contains(earlier, "truncated") || strings.Contains(earlier, "[Compaction Summary]"), // a placeholder, or the text that has replaced it
		"got nothing for the earlier session:\n%s", earlier)
	close(release)
	r.waitIdle()
	view := r.render()
	check.Contains(t, "view after the repair", view, "Told of note-3- note-4- note-5- note-6- note-7-")
	check.Lacks(t, "view after the repair", view, "truncated")
	r.verify()

	r.talk("another question") // the first messages shown are those of the session
	r.hearNotes(30)
	r.compactAndWait()
	view = r.render()
	check.Contains(t, "view", view, "another question")
	check.Lacks(t, "view", view, "the first question")

	r.startSession() // twice
	r.deliverNotes("gone soon")
	r.remove(int64(len(r.said)))
	r.startSession()
	check.Len(t, "ends of sessions", r.ends, 2)
}

// Messages protected as a session's beginning and end are summarized once the session is an earlier
// one.
func TestOldSessionIsSummarizedWhole(t *testing.T) {
	r := newRig(t, 20_000, &llmtest.Model{Func: summarizeNotes})
	r.talk("note-1- asks")
	r.hearNotes(20)
	r.compactAndWait()
	g := r.c.Status()
	check.Require(t, len(g.Stack) == 1 && g.Lines != 0, "the stack is %+v, %d messages are verbatim", g.Stack, g.Lines)
	tail := r.said[len(r.said)-1].Seq
	r.startSession()
	r.waitIdle()
	check.Contains(t, "view", r.render(), "note-1-", "note-3-", fmt.Sprintf("note-%d-", tail))
	rows := r.c.Status().Past.Earlier[0].Rows
	check.That(t, len(rows) == 1 && rows[0].Span == compactor.Span{From: 1, To: tail} && rows[0].Kind == compactor.Rollup, "got %+v, want one row", rows)
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
				check.Len(t, "rows of the newest session", newest, 1)
				check.That(t, g.Past.Shown[newest[0].ID] && g.Past.Tokens >= 200, "%d tokens are shown, of %+v", g.Past.Tokens, newest)
			}
			r.verify()
			r.renderAfterRestart()
		})
	}
}
