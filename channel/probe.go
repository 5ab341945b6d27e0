package channel

import (
	"context"
	"errors"
	"strings"

	"cairn/llm"
	"cairn/memory"
)

// Small requests of the kind a turn makes: to find what is wrong before anybody waits.

// probeTokens is how long the answer to a probe may be: the least that every provider takes.
const probeTokens = 16

// probeFiller makes a request long enough for most caches: providers cache prompts from 1024
// or 2048 tokens on.
var probeFiller = strings.Repeat("This sentence only makes the prompt long enough to be cached. ", 100)

// Probe is what became of such a request.
type Probe struct {
	Tools bool // it had the tools of a turn
	Usage llm.Usage
}

// Probe asks the model one short question with the tools of a turn. A full one has the
// system prompt too, and is long enough to be cached. Like a turn it asks again without
// tools if the server refuses them. Pictures, if any, go with the question.
func (a Agent) Probe(ctx context.Context, full bool, pictures ...llm.Image) (Probe, error) {
	learnt := llm.LearntOf(a.Model, new(llm.Learnt))
	req := llm.Request{
		Messages:  []llm.Message{{Role: llm.RoleUser, Text: "Answer with one word: are you there?", Images: pictures}},
		MaxTokens: probeTokens, Reasoning: a.Reasoning,
	}
	if full {
		req.Messages[0].Text = probeFiller + "\n" + req.Messages[0].Text
		req.Messages = append([]llm.Message{{Role: llm.RoleSystem, Text: a.system()}}, req.Messages...)
		req.Head, req.CacheKey = 1, "cairn-probe"
	}
	if !learnt.Facts().RefusesTools {
		req.Tools = toolset(new(memory.Conversation), memory.ToolOptions{}, nil) // they are not run
	}
	resp, err := a.Model.Generate(ctx, req, nil)
	if req.Tools != nil && llm.RefusesTools(err) {
		learnt.NoTools()
		req.Tools = nil
		resp, err = a.Model.Generate(ctx, req, nil)
	}
	if tooShort(err) {
		err = nil
	}
	return Probe{Tools: req.Tools != nil, Usage: resp.Usage}, err
}

// tooShort reports whether a server complains only that so short an answer could not be
// finished, as OpenAI does of models that think.
func tooShort(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && strings.Contains(e.Message, "max_tokens or model output limit was reached")
}
