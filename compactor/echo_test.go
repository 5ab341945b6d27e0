package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/prompts"
)

// TestEchoIsRejected: the worker's instructions are as long as a summary, but say nothing about the
// conversation.
func TestEchoIsRejected(t *testing.T) {
	for _, language := range prompts.Languages {
		t.Run(language, func(t *testing.T) { t.Parallel(); checkEchoes(t, language) })
	}
}

func checkEchoes(t *testing.T, language string) {
	texts := prompts.In(language)
	worker := &llmtest.Model{}
	r := tuned(t, 100_000, worker, inLanguage(language))
	for i := range 150 {
		r.deliverNotes(fmt.Sprintf("note-%d The harbour town of place%d has boats, and %d gulls. %s", i, i%40, i, filler(20)))
	}
	for name, echo := range map[string]func(llm.Request) string{
		"of its own prompt":    func(llm.Request) string { return texts.Worker },
		"of it with a preface": func(llm.Request) string { return "Here is the summary you asked for.\n\n" + texts.Worker },
		"of what it is asked": func(req llm.Request) string {
			text := req.Messages[1].Text
			return text[strings.LastIndex(text, "</transcript>")+len("</transcript>"):]
		},
		"of the chat's prompt": func(llm.Request) string { return texts.System },
	} {
		worker.Func = func(_ context.Context, _ int, req llm.Request) (llm.Response, error) { return summary(echo(req)), nil }
		if e := r.compact(""); e.State != compactor.EventFailed || strings.Contains(e.Error, "too large") {
			t.Errorf("%s: got outcome %s: %s %s", name, e.State, e.Summary, e.Error)
		}
	}
	r.verify()
}

// A weak model repeats the summary before the span, which it is shown for reference.
func TestEchoOfPreviousSummaryIsRejected(t *testing.T) {
	worker := &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		_, before, found := strings.Cut(req.Messages[1].Text, "summarized already\">\n")
		if before, _, _ = strings.Cut(before, "\n</before>"); !found {
			before = "## Facts\n- Ada counted the gulls over the boats in the harbour towns, and noted how many there were (#3)." +
				"\n- The harbour towns have boats of their own, in each of the places from 0 to 39, and the gulls are as many as the notes (#4, #9)."
		}
		return summary(before), nil
	}}
	r := newRig(t, 100_000, worker)
	for _, want := range []compactor.EventState{compactor.EventApplied, compactor.EventFailed} {
		for i := range 50 {
			r.deliverNotes(fmt.Sprintf("note-%d The harbour town of place%d has boats, and %d gulls. %s", i, i%40, i, filler(20)))
		}
		if e := r.compact(""); e.State != want {
			t.Errorf("got outcome %s: %s", e.State, e.Summary)
		}
	}
	r.verify()
}
