package anthropic_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
)

// TestRefusedFieldsAreOmitted: models accept different fields. A rejected field is sent once and
// never again.
func TestRefusedFieldsAreOmitted(t *testing.T) {
	tools := []llm.Tool{{Name: "f"}}
	for name, c := range map[string]struct {
		model    string
		req      llm.Request
		refusals int
		absent   []string
		want     map[string]string
	}{
		"a forced tool":                          {"claude-opus-5-5", llm.Request{Tools: tools, ForceTool: "f"}, 1, []string{"tool_choice"}, nil},
		"adaptive thinking":                      {"claude-haiku-4-5", llm.Request{Reasoning: "low"}, 2, []string{"output_config"}, map[string]string{"thinking": `{"type":"enabled","budget_tokens":4096}`}},
		"no thinking at all":                     {"claude-fable-5-1", llm.Request{Reasoning: "none"}, 1, []string{"thinking"}, map[string]string{"output_config": `{"effort":"low"}`}},
		"forced while thinking needs no refusal": {"claude-sonnet-4-6", llm.Request{Reasoning: "low", Tools: tools, ForceTool: "f"}, 0, []string{"tool_choice"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, ok)
			var log check.Buffer
			model := connect(t, server, anthropic.Options{Model: c.model, Log: slog.New(slog.NewTextHandler(&log, nil))})
			c.req.Messages = hello.Messages
			for range 2 {
				check.NoError(t, check.ErrorOf(model.Generate(t.Context(), c.req, nil)))
			}
			check.Len(t, "refused", server.Refusals(), c.refusals)
			if got := strings.Count(log.String(), "_refused "); got != c.refusals {
				t.Errorf("got %d log lines:\n%s", got, log.String())
			}
			for _, r := range server.Requests() {
				for _, name := range c.absent {
					field(t, r.Body, name, "")
				}
				for name, want := range c.want {
					field(t, r.Body, name, want)
				}
			}
			check.Equal(t, "learned that it refuses a forced tool", model.Learnt().Facts().RefusesForced, c.req.ForceTool != "" && c.refusals > 0)
		})
	}
}

// TestRefusalTexts: the same for texts the double does not send. what is a field that is rejected
// while it has this value.
func TestRefusalTexts(t *testing.T) {
	for name, c := range map[string]struct {
		words, field, value string
		req                 llm.Request
		want                string
	}{
		"an effort by its value": {"output_config.effort: 'max' is not supported for this model", "output_config", "max", llm.Request{Reasoning: "max"}, `{"effort":"xhigh"}`},
		"thinking as a whole":    {"thinking: Extra inputs are not permitted", "thinking", "disabled", llm.Request{Reasoning: "none"}, ""},
		"marks":                  {"messages.0.content.0.text.cache_control: Extra inputs are not permitted", "messages", "cache_control", llm.Request{}, ""},
		"a tool choice":          {"tool_choice: type tool is not supported with this model", "tool_choice", "tool", llm.Request{Tools: []llm.Tool{{Name: "f"}}, ForceTool: "f"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused := 0
			server := serve(t, func(x *llmtest.Exchange) {
				if strings.Contains(string(x.Request.Body[c.field]), c.value) {
					refused++
					x.Reject(400, "invalid_request_error", c.words)
					return
				}
				x.Say("ok")
			})
			model := connect(t, server, anthropic.Options{CacheTTL: time.Hour})
			c.req.Messages = hello.Messages
			for range 2 {
				check.NoError(t, check.ErrorOf(model.Generate(t.Context(), c.req, nil)))
			}
			requests := server.Requests()
			if got := string(requests[len(requests)-1].Body[c.field]); refused != 1 || c.want != "" && got != c.want {
				t.Errorf("got %d refusals, then %s, want %s", refused, got, c.want)
			}
		})
	}
}
