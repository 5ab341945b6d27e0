package channel_test

import (
	"context"
	"log/slog"
	"testing"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// withEnding returns a model that ends every answer with a finish reason.
func withEnding(text, finish string) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(context.Context, int, llm.Request) (llm.Response, error) {
		resp := llmtest.Say(text)
		resp.FinishReason = finish
		return resp, nil
	}
}

func TestPeopleSeeThatAnswerWasCutOff(t *testing.T) {
	for name, tt := range map[string]struct {
		language, finish, notice string
	}{
		"at the limit":            {"en", llm.FinishLength, "(My answer was cut off at the length limit. Ask me to continue.)"},
		"at the limit, in German": {"de", llm.FinishLength, "(Meine Antwort wurde an der Längengrenze abgeschnitten. Bitte mich, fortzufahren.)"},
		"by the filter":           {"en", llm.FinishFilter, "(The model provider's filter withheld the rest of my answer.)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withEnding("The harbour wall was built", tt.finish))
			r.agent.Language = tt.language
			log := r.captureLog()
			r.ask("Tell me about the harbour.")
			check.EqualAll(t, "sent", r.connector.texts(), []string{"The harbour wall was built", tt.notice})
			if sent := r.connector.sent; sent[0].Failure || !channel.IsNotice(sent[len(sent)-1]) {
				t.Errorf("got sent %+v", sent)
			}
			check.EqualAll(t, "transcript", r.transcript(), []string{"user: Tell me about the harbour.", "assistant: The harbour wall was built"})
			check.Equal(t, "log lines", log.lines(slog.LevelInfo, "answer_cut_off"), 1)
			r.restart()
			r.waitForReplies()
			check.Len(t, "sent after a restart", r.connector.texts(), 2)
		})
	}
}
