package compactor_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/llm"
	"cairn/prompts"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

type journal struct{ check.Buffer }

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func summary(text string) llm.Response {
	return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": text}))
}

func note(i int) string { return fmt.Sprintf("note-%d %s", i, strings.Repeat("word ", 40)) }

func (r *rig) chat(n int) {
	r.t.Helper()
	r.arriveMany(n, note)
	if !r.quiet {
		r.c.Speak()
	}
	r.c.Check(context.Background())
}

func (r *rig) compact(focus string) compactor.Event {
	r.t.Helper()
	e := r.c.Compact(compactor.OnManual, focus)
	check.Require(r.t, e.State == compactor.EventStarted, "got no start: %+v", e)
	check.NoError(r.t, r.c.Wait(context.Background()))
	return r.c.Status().Last
}

func TestBadSummariesAreNeverApplied(t *testing.T) {
	slow(t)
	ended := func(resp llm.Response, reason string) llm.Response {
		resp.FinishReason = reason
		return resp
	}
	for name, c := range map[string]struct {
		bad    llm.Response
		reason string
	}{
		"a text that is filtered":   {ended(llmtest.Say("Ada took notes, and then"), llm.FinishFilter), "filtered"},
		"a call that is filtered":   {ended(summary("Ada took notes, and then"), llm.FinishFilter), "filtered"},
		"no more than a nod":        {llmtest.Say("Okay."), "says too little"},
		"a call as JSON":            {llmtest.Say(`{"name": "memory_save", "arguments": {"content": "Ada took notes."}}`), "tool syntax"},
		"what was said last":        {llmtest.Say(note(7)), "repeated"},
		"a call that holds nothing": {summary("  "), "empty"},
		"a refusal":                 {llmtest.Say("I'm sorry, but I can't help with that."), "declined"},
		"a refusal by call":         {summary("I cannot assist with this request."), "declined"},
		"a text that is cut off":    {ended(llmtest.Say("A summary that breaks"), llm.FinishLength), "cut off"},
		"a call that is cut off":    {ended(summary("Ada took notes, whole by chance"), llm.FinishLength), "cut off"},
		"tool syntax by call":       {summary(`{"name": "memory_save", "arguments": {}}`), "tool syntax"},
		"hardly shorter":            {llmtest.Say(filler(2000)), "hardly shorter"},
		"hardly shorter by call":    {summary(filler(2000)), "hardly shorter"},
	} {
		for _, noTools := range []bool{false, true} {
			if noTools && len(c.bad.Message.Calls) > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s, tools refused: %v", name, noTools), func(t *testing.T) {
				mended := false
				r := newRig(t, 100_000, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
					switch {
					case noTools && len(req.Tools) > 0:
						return withoutTools("")(ctx, n, req)
					case !mended:
						return c.bad, nil
					case noTools:
						return llmtest.Say("Ada took notes."), nil
					}
					return summary("Ada took notes."), nil
				}})
				r.chat(12)
				before := r.render()
				e := r.compact("")
				check.Equal(t, "outcome", e.State, compactor.EventFailed)
				check.Contains(t, "error", e.Error, c.reason, "nothing was lost")
				check.Equal(t, "view", r.render(), before)
				asked := r.worker.Requests()
				check.That(t, len(asked) <= r.policy.MaxTurns+1, "%d requests", len(asked))
				first := asked[0].MaxTokens
				last := asked[len(asked)-1].MaxTokens
				once := len(asked) == 2 || len(c.bad.Message.Calls) == 0
				check.That(t, c.reason != "cut off" || once && last >= first*3/2, "cut off at %d tokens, it may write %d in request %d", first, last, len(asked))

				mended = true
				e = r.compact("")
				check.That(t, e.State == compactor.EventApplied && e.Summary == "Ada took notes.", "a second request ended as %+v", e)
				with := slices.DeleteFunc(r.worker.Requests(), func(req llm.Request) bool { return len(req.Tools) == 0 })
				check.That(t, !noTools || len(with) == 1, "got %d requests with tools, which the server refuses", len(with))
			})
		}
	}
}

func TestFailedChunkFailsJob(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Tokens: 4000, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if strings.Contains(req.Messages[1].Text, "note-120 ") {
			return llm.Response{}, errWorker
		}
		return goodSummary(ctx, n, req)
	}})
	r.chat(200)
	before := r.render()
	check.Equal(t, "outcome", r.compact("").State, compactor.EventFailed)
	check.Equal(t, "view", r.render(), before)
}

func (r *rig) watchHarbour(n int) {
	r.t.Helper()
	r.arriveMany(n, func(i int) string {
		return fmt.Sprintf("note-%d The harbour town of place%d has boats, and %d gulls. %s", i, i%40, i, filler(20))
	})
}

// TestEchoIsRejected: the worker's instructions are as long as a summary, but say nothing about the conversation.
func TestEchoIsRejected(t *testing.T) {
	t.Parallel()
	for _, language := range []string{prompts.English, "ja"} {
		texts := prompts.In(language)
		worker := &llmtest.Model{}
		r := newRig(t, 100_000, worker, inLanguage(language))
		r.watchHarbour(150)
		for name, echo := range map[string]func(string) string{
			"of its own prompt":    func(string) string { return texts.Worker },
			"of it with a preface": func(string) string { return "Here is the summary you asked for.\n\n" + texts.Worker },
			"of what it is asked": func(asked string) string {
				return asked[strings.LastIndex(asked, "</transcript>")+len("</transcript>"):]
			},
			"of the chat's prompt": func(string) string { return texts.System },
		} {
			worker.Func = func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
				return summary(echo(req.Messages[1].Text)), nil
			}
			e := r.compact("")
			check.That(t, e.State == compactor.EventFailed && !strings.Contains(e.Error,
				"too large"), "%s: got outcome %s: %s %s", name, e.State, e.Summary, e.Error)
		}
	}
}

// A weak model repeats the summary before the span, which it is shown for reference.
func TestEchoOfPreviousSummaryIsRejected(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100_000, &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		before := textBetween(req.Messages[1].Text, "summarized already\">\n", "\n</before>")
		if before == "" {
			before = "## Facts\n- Ada counted the gulls over the boats in the harbour towns, and noted how many there were (#3)." +
				"\n- The harbour towns have boats of their own, in each of the places, and the gulls are as many as the notes (#4, #9)."
		}
		return summary(before), nil
	}})
	for _, want := range []compactor.EventState{compactor.EventApplied, compactor.EventFailed} {
		r.watchHarbour(50)
		check.Equal(t, "outcome", r.compact("").State, want)
	}
}
