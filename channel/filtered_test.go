package channel_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// filtering returns a model whose provider refuses, in one of its two ways, every prompt with a
// forbidden word.
func filtering(asError bool) script {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		forbidden := func(m llm.Message) bool { return strings.Contains(m.Text, "forbidden") }
		switch {
		case !slices.ContainsFunc(req.Messages, forbidden):
			return echo(ctx, n, req)
		case asError:
			return llm.Response{}, llm.Refused(400, nil, []byte(`{"error":{"message":"Content Exists Risk","code":"invalid_request_error"}}`))
		}
		return llm.Response{FinishReason: llm.FinishFilter}, nil
	}
}

// A message that the provider's filter refuses spoils only its own turn.
func TestConversationGoesOnAfterFilteredMessage(t *testing.T) {
	for name, asError := range map[string]bool{"an error": true, "an answer without text": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, filtering(asError))
			log := r.captureLog()
			r.ask("Hello.")
			r.ask("Is this forbidden?")
			check.Contains(t, "failure", r.lastText(), "filter withheld the answer. Your message is saved")
			check.Len(t, "requests, since all before the question was accepted", r.model.Requests(), 3)
			check.Equal(t, "next answer", r.ask("And this?"), "answer 5")
			check.Equal(t, "the one after that", r.ask("And that?"), "answer 6")
			check.Equal(t, "log lines", log.lines(slog.LevelInfo, "messages_withheld"), 1)
			r.restart()
			check.Equal(t, "answer after a restart", r.ask("And now?"), "answer 8")
			check.EqualAll(t, "transcript", r.transcript(), []string{
				"user: Hello.", "assistant: answer 1", "user: Is this forbidden?", "user: And this?", "assistant: answer 5",
				"user: And that?", "assistant: answer 6", "user: And now?", "assistant: answer 8",
			})
		})
	}
}

func TestOnlyTheFilteredMessageIsWithheld(t *testing.T) {
	r := newRig(t, filtering(true))
	r.ask("The harbour is blue.")
	r.overhear("That is forbidden.")
	r.ask("Which colour?")
	check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1", "answer 3"})
	check.Contains(t, "prompt", r.lastRequestText(), "The harbour is blue.", "Which colour?", "filter")
	editMessageAt(r, "m2", "That is allowed.", time.Now())
	r.ask("And now?")
	check.Contains(t, "prompt after the edit", textOf(r.model.Requests()[3]), "That is allowed.")
	editMessageAt(r, "m1", "forbidden", time.Now()) // what an old message becomes was not accepted before
	check.Contains(t, "answer after an edit of an old message", r.ask("And then?"), "answer ")
}

// A tool's result that the filter refuses is withheld within its turn.
func TestFilteredToolResult(t *testing.T) {
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			return llmtest.Use(llmtest.Call("a", "context", map[string]any{"op": "help", "topic": "forbidden"})), nil
		}
		for i, m := range req.Messages {
			if m.Role == llm.RoleTool && strings.Contains(m.Text, "The topics are") {
				req.Messages[i].Text = "forbidden"
			}
		}
		return filtering(true)(ctx, n, req)
	})
	check.Equal(t, "answer", r.ask("What did we say?"), "answer 3")
}
