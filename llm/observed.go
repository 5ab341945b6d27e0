// Requests and tools as observed steps.

package llm

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"cairn/internal/observe"
)

// Ask has a model answer a request, as a step of its own. All requests of turns and workers go
// through it.
func Ask(ctx context.Context, model Model, req Request, show func(delta string)) (Response, error) {
	ctx, step := observe.Begin(ctx, observe.Request)
	if step == nil {
		return model.Generate(ctx, req, show)
	}
	defer step.End()
	step.Add(slog.String("model", model.Name()))
	step.Fail(errPanicked) // unless Generate returns
	if shown := show; shown != nil {
		show = func(delta string) {
			step.Text()
			shown(delta)
		}
	}
	resp, err := model.Generate(ctx, req, show)
	step.Fail(err)
	if u := resp.Usage; u != (Usage{}) {
		step.Add(slog.Int("input_tokens", u.Prompt), slog.Int("cached_tokens", u.Cached),
			slog.Int("written_tokens", u.Written), slog.Int("output_tokens", u.Completion))
	}
	return resp, err
}

// observedTool is runTool as a step. A model may make up names: those are not used as attributes.
func observedTool(ctx context.Context, tools []Tool, call Call) (text string, ends bool) {
	ctx, step := observe.Begin(ctx, observe.Tool)
	if step == nil {
		return runTool(ctx, tools, call)
	}
	defer step.End()
	name := "unknown"
	if slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == call.Name }) {
		name = call.Name
	}
	step.Add(slog.String("tool", name))
	if text, ends = runTool(ctx, tools, call); strings.HasPrefix(text, toolError) {
		step.Fail(errTool)
	}
	return text, ends
}

// toolError is the prefix of the text that the model reads about a failed call.
const toolError = "Error: "

var (
	errTool     = errors.New("the tool answered with an error")
	errPanicked = errors.New("the model panicked")
)
