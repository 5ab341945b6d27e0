package worker

import (
	"context"

	"cairn/llm"
	"cairn/prompts"
)

// Probe has a model summarize two messages as in its last call for a summary, with a reasoning effort of
// llm.ReasoningEfforts or "", and returns how it answered.
func Probe(ctx context.Context, model llm.Model, reasoning string) (how string, err error) {
	messages := []llm.Message{
		{Role: llm.RoleSystem, Text: prompts.In(prompts.English).Worker},
		{Role: llm.RoleUser, Text: "#1 Ada: I prefer green tea, two minutes at 80 degrees.\n#2 Cairn: Noted.\n\nSummarize messages #1 to #2 in about 60 tokens."},
	}
	req := llm.Request{Messages: messages, MaxTokens: 600, Spare: 2048, Reasoning: reasoning}
	if !llm.LearnedOf(model, nil).Facts().RefusesTools {
		req.Tools = []llm.Tool{handIn}
		req.ForceTool = handIn.Name
	}
	resp, err := model.Generate(ctx, req, nil)
	if req.Tools != nil && llm.RefusesTools(err) {
		req.Tools = nil
		req.ForceTool = ""
		resp, err = model.Generate(ctx, req, nil)
	}
	switch {
	case err != nil:
		return "", err
	case len(resp.Message.Calls) > 0:
		return "with a forced tool call", nil
	case req.Tools == nil:
		return "in plain text: its server supports no tools", nil
	}
	return "in text, without the tool call", nil
}
