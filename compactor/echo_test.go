package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/prompts"
	"cairn/store"
)

// watchHarbour delivers n notes of few words that differ.
func (r *rig) watchHarbour(n int) {
	r.t.Helper()
	var notes []store.Inbound
	for i := range n {
		notes = append(notes, store.Inbound{Text: fmt.Sprintf("note-%d The harbour town of place%d has boats, and %d gulls. %s", i, i%40, i, filler(20))})
	}
	r.arrive(notes...)
}

// TestEchoIsRejected: the worker's instructions are as long as a summary, but say nothing about the
// conversation.
func TestEchoIsRejected(t *testing.T) {
	for _, language := range []string{prompts.English, "ja"} {
		texts := prompts.In(language)
		worker := &llmtest.Model{}
		r := tuned(t, 100_000, worker, inLanguage(language))
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
			if e := r.compact(""); e.State != compactor.EventFailed || strings.Contains(e.Error, "too large") {
				t.Errorf("%s: got outcome %s: %s %s", name, e.State, e.Summary, e.Error)
			}
		}
		r.verify()
	}
}

// A weak model repeats the summary before the span, which it is shown for reference.
func TestEchoOfPreviousSummaryIsRejected(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		before := textBetween(req.Messages[1].Text, "summarized already\">\n", "\n</before>")
		if before == "" {
			before = "## Facts\n- Ada counted the gulls over the boats in the harbour towns, and noted how many there were (#3)." +
				"\n- The harbour towns have boats of their own, in each of the places from 0 to 39, and the gulls are as many as the notes (#4, #9)."
		}
		return summary(before), nil
	}})
	for _, want := range []compactor.EventState{compactor.EventApplied, compactor.EventFailed} {
		r.watchHarbour(50)
		check.Equal(t, "outcome", r.compact("").State, want)
	}
	r.verify()
}
