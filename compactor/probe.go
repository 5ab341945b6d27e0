package compactor

import (
	"context"

	"cairn/llm"
	"cairn/prompts"
)

// How a worker's model answered a probe.
const (
	ProbeForced = "with a forced tool call"
	ProbeText   = "in text, without the tool call"
	ProbePlain  = "in plain text: its server supports no tools"
)

// Probe has a model summarize two messages as a worker would in its last call, and returns how it
// answered.
func Probe(ctx context.Context, model llm.Model, p Policy) (how string, err error) {
	messages := []llm.Message{
		{Role: llm.RoleSystem, Text: prompts.In(prompts.English).Worker},
		{Role: llm.RoleUser, Text: "#1 Ada: I prefer green tea, two minutes at 80 degrees.\n#2 Cairn: Noted.\n\nSum up messages #1 to #2 in about 60 tokens."},
	}
	req := llm.Request{Messages: messages, MaxTokens: 600, Spare: 2048, Reasoning: p.Reasoning}
	learnt := llm.LearntOf(model, new(llm.Learnt))
	if !learnt.Facts().RefusesTools {
		req.Tools, req.ForceTool = []llm.Tool{handIn}, handIn.Name
	}
	resp, err := model.Generate(ctx, req, nil)
	if req.Tools != nil && llm.RefusesTools(err) {
		req.Tools, req.ForceTool = nil, ""
		resp, err = model.Generate(ctx, req, nil)
	}
	switch {
	case err != nil:
		return "", err
	case len(resp.Message.Calls) > 0:
		return ProbeForced, nil
	case req.Tools == nil:
		return ProbePlain, nil
	}
	return ProbeText, nil
}
