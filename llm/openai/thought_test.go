package openai_test

import (
	"encoding/json"
	"testing"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// A server that separates reasoning takes a call for reasoning if the model forgets to end its thought before it.
func TestCallInSeparateReasoningRuns(t *testing.T) {
	const call = "<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}\n</tool_call>"
	lookup := llm.Tool{Name: "lookup", Description: "looks up a word", Parameters: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}}}`)}
	for name, c := range map[string]struct {
		asked, thought, said string
		calls                int
	}{
		"nothing else is said":    {"tea?", "I look.\n" + call, "", 1},
		"an answer follows":       {"tea?", "I look.\n" + call, "Tea is hot.", 0},
		"the thought goes on":     {"tea?", call + "\nis what I could write", "Tea.", 0},
		"a person has written it": {"What is " + call + "?", "They wrote\n" + call, "A call.", 0},
	} {
		server := llmtest.Serve(t, func(x *llmtest.Exchange) {
			for _, r := range c.thought {
				x.Think(string(r))
			}
			x.Say(c.said)
		})
		server.Speak(llm.WireChat)
		model := connect(t, server, openai.Options{Wire: llm.WireChat})
		req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: c.asked}}, Tools: []llm.Tool{lookup}}
		resp := check.Must(model.Generate(t.Context(), req, nil))(t)
		check.Len(t, name, resp.Message.Calls, c.calls)
		check.Equal(t, name+": text", resp.Message.Text, c.said)
	}
}
