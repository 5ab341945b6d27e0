package channel_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

const brokeOff = "\n\n(My answer broke off here: the model's server did not send the rest. Ask me to continue.)"

// breaksOff shows text before an error.
func breaksOff(text string, err error) script { return returning(llmtest.Say(text), err) }

func TestHalfAnAnswerIsKeptAndMarked(t *testing.T) {
	cut := llm.Truncated(io.ErrUnexpectedEOF)
	stalled := llm.Truncated(llm.ErrStalled)
	down := &llm.Error{Kind: llm.KindOverloaded, Status: 503}
	const half = "The harbour wall"
	for name, c := range map[string]struct {
		attempts []script
		want     string
	}{
		"a stream that stalls is not asked for again":             {[]script{breaksOff(half, stalled)}, half + brokeOff},
		"one that breaks is: the next is whole":                   {[]script{breaksOff(half, cut), always(llmtest.Say("All of it."))}, "All of it."},
		"the next breaks, too":                                    {[]script{breaksOff("The", cut), breaksOff(half, cut)}, half + brokeOff},
		"the next brings nothing":                                 {[]script{breaksOff(half, cut), failing(down)}, half + brokeOff},
		"the time is over":                                        {[]script{breaksOff(half, &llm.Error{Kind: llm.KindUnreachable, Err: llm.ErrLate})}, half + brokeOff},
		"a stall before any text is asked for again":              {[]script{failing(stalled), always(llmtest.Say("All of it."))}, "All of it."},
		"nothing has come: a sentence":                            {[]script{failing(stalled), failing(stalled)}, "The model's answer was incomplete. Your message is saved; ask again in a minute."},
		"an answer without end is none":                           {[]script{breaksOff(half, llm.TooLong(1, "bytes"))}, "The model gave no answer. Your message is saved; ask again, perhaps in other words."},
		"what a filter refuses is not kept":                       {slices.Repeat([]script{breaksOff(half, &llm.Error{Kind: llm.KindFiltered})}, 2), "The model provider's filter withheld the answer. Your message is saved; ask again in other words."},
		"a sentinel is not half an answer":                        {[]script{breaksOff("NO_REP", stalled), failing(stalled)}, "The model's answer was incomplete. Your message is saved; ask again in a minute."},
		"a block of code that it leaves open is closed":           {[]script{breaksOff("So:\n```go\nx := 1", stalled)}, "So:\n```go\nx := 1\n```" + brokeOff},
		"one that is closed stays, and one with tildes is closed": {[]script{breaksOff("```\na\n```\n~~~ sh\nls", stalled)}, "```\na\n```\n~~~ sh\nls\n~~~" + brokeOff},
	} {
		attempts := c.attempts
		r := newRig(t, inSteps(attempts...))
		r.ask("Tell me of the harbour.")
		check.EqualAll(t, name+": sent", r.connector.texts(), []string{c.want})
		check.Len(t, name+": requests", r.model.Requests(), len(attempts))
		kept := !r.connector.sent[0].Failure
		check.Equal(t, name+": it is an answer", kept, !strings.Contains(c.want, "Your message is saved"))
		r.restart()
		want := []string{"user: Tell me of the harbour."}
		if kept {
			want = append(want, "assistant: "+c.want)
		}
		check.EqualAll(t, name+": transcript", r.transcript(), want)
	}
}

// TestHalfAnAnswerIsMarkedInTheLanguage: and what tools did before it stays.
func TestHalfAnAnswerIsMarkedInTheLanguage(t *testing.T) {
	r := newRig(t, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		if n == 1 {
			return useTool("recall", map[string]any{"query": "tea"}), nil
		}
		return llmtest.Say("Die Hafenmauer"), llm.Truncated(llm.ErrStalled)
	})
	r.agent.Language = "de"
	log := r.captureLog()
	r.ask("Was war mit der Mauer?")
	want := "Die Hafenmauer\n\n(Meine Antwort ist hier abgebrochen: Der Server des Modells hat den Rest nicht geschickt. Bitte mich, fortzufahren.)"
	check.EqualAll(t, "sent", r.connector.texts(), []string{want})
	check.Equal(t, "warnings", log.count("turn_failed"), 1)
	check.Equal(t, "failed turns", r.hub.Stats().Failed, 1)
	rows := r.messagesIn(place)
	check.Len(t, "messages: question, call, result, half", rows, 4)
	r.ask("Weiter.")
	check.Contains(t, "the next request", textOf(r.model.Requests()[2]), "hier abgebrochen")
}

// TestHalfAnAnswerOfATaskIsMarked: the agent above learns that the result is not whole.
func TestHalfAnAnswerOfATaskIsMarked(t *testing.T) {
	r := newTaskRig(t, counting, breaksOff("one, two", llm.Truncated(llm.ErrStalled)))
	r.ask("go")
	check.Equal(t, "state", r.waitForTask(1).State, store.TaskDone)
	r.drainTasks(func(int) {})
	check.Contains(t, "the request of the agent above", r.lastRequestText(), "one, two"+brokeOff)
}
