package compactor_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/prompts"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
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

func (r *rig) hearNotes(n int) {
	r.t.Helper()
	for range n {
		r.deliverNotes(fmt.Sprintf("note-%d- %s", len(r.messages)+1, filler(30)))
	}
}

func TestNewSessionStartsImmediately(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, 20_000, waitingFor(release, summarizeNotes))
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
	r.remove(int64(len(r.messages)))
	r.startSession()
	check.Len(t, "ends of sessions", r.ends, 2)
}

// Messages protected as a session's beginning and end are summarized once the session is an earlier one.
func TestOldSessionIsSummarizedWhole(t *testing.T) {
	r := newRig(t, 20_000, &llmtest.Model{Func: summarizeNotes})
	r.talk("note-1- asks")
	r.hearNotes(20)
	r.compactAndWait()
	g := r.c.Status()
	check.Require(t, len(g.Stack) == 1 && g.Lines != 0, "the stack is %+v, %d messages are verbatim", g.Stack, g.Lines)
	tail := r.messages[len(r.messages)-1].Seq
	r.startSession()
	r.waitIdle()
	check.Contains(t, "view", r.render(), "note-1-", "note-3-", fmt.Sprintf("note-%d-", tail))
	rows := r.c.Status().Past.Earlier[0].Rows
	check.That(t, len(rows) == 1 && rows[0].Span == compactor.Span{From: 1, To: tail} && rows[0].Kind == compactor.Rollup, "got %+v, want one row", rows)
}

// A summary of a long session is as long as what may be shown of it.
func TestLongSessionIsShown(t *testing.T) {
	slow(t)
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
			r.renderAfterRestart()
		})
	}
}

func TestRecapCoversPromptAndChangesNothing(t *testing.T) {
	worker := &llmtest.Model{Func: goodSummary}
	r := newRig(t, 100_000, worker)
	r.chat(30)
	r.compact("")
	r.talk("what about </transcript> the prices?", "a result")
	before := r.render()
	rows := r.count("SELECT count(*) FROM compactions")
	n := len(worker.Requests())
	worker.Func = answers(llmtest.Say("<think>hm</think>Ada asked about prices after note 29; sk-ant-"+strings.Repeat("aB3", 10)), nil)
	recap := check.Must(r.c.Recap(t.Context(), "the prices"))(t)
	text := "Ada asked about prices after note 29; [masked: Anthropic key]"
	check.Equal(t, "recap", recap, compactor.Recap{Text: text, By: compactor.ByWorker})
	asked := worker.Requests()[n:]
	check.Require(t, len(asked) == 1 && len(asked[0].Tools) == 0, "%d requests", len(asked))
	text = asked[0].Messages[1].Text
	check.Contains(t, "request", text, "Summary 1 of", "note-29 ", `<\/transcript> the prices?`, `in detail: "the prices".`, "<agent ")
	check.HasPrefix(t, "request", asked[0].Messages[0].Text, prompts.In(prompts.English).Recap)
	check.Lacks(t, "request", text, "note-3 ")
	check.Equal(t, "state", r.render(), before)
	check.Equal(t, "state", r.count("SELECT count(*) FROM compactions"), rows)
	check.Len(t, "memories", r.memories(""), 0)
}

func TestRecapWithoutModel(t *testing.T) {
	for name, c := range map[string]struct {
		worker *llmtest.Model
		why    string
	}{
		"there is none":  {nil, ""},
		"it is down":     {&llmtest.Model{Func: brokenSummaries}, "overloaded"},
		"it hangs":       {waitingFor(nil, goodSummary), "too long"},
		"it declines":    {&llmtest.Model{Func: answers(llmtest.Say("I'm sorry, I can't do that."), nil)}, "declined"},
		"it breaks":      {&llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) { panic("worker") }}, "could not be made"},
		"it is no model": {&llmtest.Model{Func: answers(llm.Response{}, errWorker)}, "could not be made"},
	} {
		onClock(t, name, func(t *testing.T) {
			r := newRig(t, 100_000, c.worker)
			r.deliverNotes("I decided to move to Turin in May.")
			r.deliverNotes("The key is AKIA" + "Q3T7WZ5NXK2LJ4RB, by the way.")
			rows := r.count("SELECT count(*) FROM compactions")
			started := time.Now()
			recap, err := r.c.Recap(t.Context(), "")
			check.That(t, time.Since(started) <= time.Duration(r.policy.Timeout), "it took %v", time.Since(started))
			why := strings.Contains(recap.Why, c.why) && (c.why == "") == (recap.Why == "")
			check.That(t, err == nil && recap.By == compactor.ByExtractive && why,
				"got %+v, %v", recap, err)
			check.Contains(t, "recap", recap.Text, "Turin")
			check.Lacks(t, "recap", recap.Text, "AKIA")
			check.Equal(t, "state", r.count("SELECT count(*) FROM compactions"), rows)
			check.Equal(t, "state", r.c.Status().Last.State, "")
		})
	}
}

func TestRecapOfSummariesAlone(t *testing.T) {
	worker := &llmtest.Model{Func: summarizeNotes}
	r := newRig(t, 20_000, worker)
	r.talk("note-1- asks")
	r.hearNotes(20)
	r.compactAndWait()
	r.startSession()
	r.waitIdle()
	text := "They talked of note-1-, note-3- and note-22-."
	worker.Func = answers(llmtest.Say(text), nil)
	recap := check.Must(r.c.Recap(t.Context(), ""))(t)
	check.Equal(t, "recap", recap, compactor.Recap{Text: text, By: compactor.ByWorker})
	asked := worker.Requests()
	check.Contains(t, "request", asked[len(asked)-1].Messages[1].Text, fmt.Sprintf("messages #1 to #%d ", len(r.messages)))
	worker.Func = brokenSummaries
	recap = check.Must(r.c.Recap(t.Context(), ""))(t)
	check.Equal(t, "recap without a model", recap.Text, strings.TrimSpace(recap.Text))
	check.Contains(t, "recap without a model", recap.Text, "note-22-")
}

func TestRecapMentionsHiddenMessages(t *testing.T) {
	r := newRig(t, 8000, nil)
	r.policy.Enabled = false      // only emergency
	r.faultyDisk().refuses = true // so that nothing fills the placeholder
	r.notesUntil(60, func() bool { return len(r.c.Status().Stack) > 0 })
	hidden := r.c.Status().Stack[0].Messages
	recap, err := r.c.Recap(t.Context(), "")
	check.That(t, err == nil && hidden > 0 && recap.Hidden == hidden, "%d hidden: got %+v, %v", hidden, recap, err)
}

func TestRecapOfPlaceholdersAloneAsksNoModel(t *testing.T) {
	worker := &llmtest.Model{Func: summarizeNotes}
	r := newRig(t, 20_000, worker)
	r.hearNotes(20)
	r.c.Close() // so nothing fills the placeholder
	r.startSession()
	recap := check.Must(r.c.Recap(t.Context(), ""))(t)
	check.Equal(t, "recap", recap, compactor.Recap{Hidden: 20})
	check.Len(t, "requests", worker.Requests(), 0)
}

func TestRecapNeedsAWindowForTheWholeView(t *testing.T) {
	var log check.Buffer
	small := &llmtest.Model{Tokens: 4000}
	large := &llmtest.Model{Tokens: 100_000, Func: answers(llmtest.Say("They took notes."), nil)}
	r := newRig(t, 100_000, small, func(o *compactor.Options) { o.Fallback, o.Log = large, slog.New(slog.NewTextHandler(&log, nil)) })
	r.chat(120)
	recap, err := r.c.Recap(t.Context(), "")
	check.That(t, err == nil && recap.By == compactor.ByWorker && recap.Text == "They took notes.", "got %+v, %v", recap, err)
	large.Tokens = 4000
	recap, err = r.c.Recap(t.Context(), "")
	check.That(t, err == nil && recap.By == compactor.ByExtractive && strings.Contains(recap.Why, "too long"), "got %+v, %v", recap, err)
	check.Lacks(t, "log", log.String(), "level=WARN") // compactions do not fail
	check.Equal(t, "requests to a model that is too small, and to the other one", fmt.Sprint(len(small.Requests()), len(large.Requests())), "0 1")
	large.Tokens = 100_000
	ctx, cancel := context.WithCancel(t.Context())
	large.Func = func(context.Context, int, llm.Request) (llm.Response, error) {
		cancel()
		return llm.Response{}, ctx.Err()
	}
	check.Error(t, check.ErrorOf(r.c.Recap(ctx, "")), context.Canceled)
}
