package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"cairn/internal/observe"
)

// ErrTooManyCalls is returned if a model still calls tools in its last allowed call.
var ErrTooManyCalls = errors.New("the model kept calling tools")

// Loop calls a model and runs its tools until it answers without a tool call, or until a tool that Ends succeeds.
type Loop struct {
	Model    Model
	MaxCalls int // of the model; at least 1

	// Request returns the request of each call; left counts down to 1 in the last.
	Request func(ctx context.Context, left int) (Request, error)
	// Record receives each message with calls and the results, in the order of the calls, before the next request.
	Record func(calls Message, results []Message)
	// Retry, if not nil, reports whether a failed call should be made again with a new request. It is for failures that
	// the caller can fix, such as an overflow; the model itself retries temporary ones.
	Retry func(ctx context.Context, err error) bool
	// Report, if not nil, receives the usage of each successful call.
	Report func(Usage)
	// Count, if not nil, receives the usage of each call and of each failed attempt: what the provider bills.
	Count func(Usage)
	// Show, if not nil, receives the text as it arrives.
	Show func(delta string)
	// Using, if not nil, is called before each call of a tool, with the name that the model gave.
	Using func(tool string)
}

// Run returns the answer that ended the loop.
func (l Loop) Run(ctx context.Context) (Response, error) {
	for left := max(l.MaxCalls, 1); left > 0; {
		req, err := l.Request(ctx, left)
		if err != nil {
			return Response{}, err
		}
		resp, err := l.generate(ctx, req)
		if err != nil {
			if l.Retry != nil && l.Retry(ctx, err) {
				continue
			}
			return Response{}, err
		}
		if l.Report != nil {
			l.Report(resp.Usage)
		}
		if len(resp.Message.Calls) == 0 {
			return resp, nil
		}
		NameCalls(resp.Message.Calls)
		results, ended := l.runTools(ctx, req.Tools, resp)
		if err := ctx.Err(); err != nil {
			return Response{}, err
		}
		if l.Record != nil {
			l.Record(resp.Message, results)
		}
		if ended {
			return resp, nil
		}
		left--
	}
	return Response{}, ErrTooManyCalls
}

// generate calls the model. A filter may withhold all of an answer, with a regular end. Some servers silently truncate a
// prompt that is too long, and then have no room for an answer: that is reported as an overflow too.
func (l Loop) generate(ctx context.Context, req Request) (Response, error) {
	req.Failed = l.Count
	resp, err := Ask(ctx, l.Model, req, l.Show)
	if err == nil && l.Count != nil {
		l.Count(resp.Usage)
	}
	blank := strings.TrimSpace(resp.Message.Text) == ""
	if err != nil || len(resp.Message.Calls) > 0 || !blank && resp.FinishReason != FinishLength {
		return resp, err
	}
	if blank && resp.FinishReason == FinishFilter {
		return Response{}, &Error{Kind: KindFiltered, Message: "the answer has no text"}
	}
	if window := l.Model.Window(ctx).Tokens; resp.Usage.Prompt >= window {
		return Response{}, &Error{Kind: KindOverflow, Message: fmt.Sprintf(
			"the answer is incomplete, and a prompt of %d tokens fills the window of %d", resp.Usage.Prompt, window)}
	}
	return resp, nil
}

// Ask has a model answer a request, as an observed step. All requests of turns and workers go through it.
func Ask(ctx context.Context, model Model, req Request, show func(delta string)) (Response, error) {
	ctx, step := observe.Begin(ctx, observe.Request)
	defer step.End()
	step.Add(slog.String("model", model.Name()))
	step.Fail(errors.New("the model panicked")) // unless Generate returns
	if emit := show; emit != nil {
		show = func(delta string) {
			step.Text()
			emit(delta)
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

// NameCalls gives an id to each call that has none or repeats an earlier one: a result must refer to its call.
func NameCalls(calls []Call) {
	seen := make(map[string]bool, len(calls))
	for i := range calls {
		id := calls[i].ID
		for n := i; id == "" || seen[id]; n++ {
			id = fmt.Sprintf("call_%d", n)
		}
		calls[i].ID = id
		seen[id] = true
	}
}

// ValidArguments wraps what is not a JSON object: servers whose templates parse it would refuse the conversation.
func ValidArguments(arguments string) string {
	arguments = cmp.Or(strings.TrimSpace(arguments), "{}")
	if arguments[0] == '{' && json.Valid([]byte(arguments)) {
		return arguments
	}
	wrapped, _ := json.Marshal(map[string]string{"invalid": arguments}) // a map of strings always has a JSON form
	return string(wrapped)
}

// toolError is the prefix of the text that the model reads about a failed call.
const toolError = "Error: "

func (l Loop) runTools(ctx context.Context, tools []Tool, resp Response) (results []Message, ended bool) {
	for i, call := range resp.Message.Calls {
		last := i == len(resp.Message.Calls)-1
		result := failed("the answer reached its limit before this call was complete, so the tool did not run. Call it again with shorter arguments.")
		ends := false
		if !last || resp.FinishReason != FinishLength || isComplete(call) {
			if l.Using != nil {
				l.Using(call.Name)
			}
			result, ends = runTool(ctx, tools, call)
		}
		results = append(results, Message{
			Role: RoleTool, CallID: call.ID, Tool: call.Name, Text: result.Text, Images: result.Images, Quotes: result.Quotes,
		})
		ended = ended || ends
	}
	return results, ended
}

// isComplete reports whether the last call of a cut answer has all its arguments; some servers fill in empty ones.
func isComplete(call Call) bool {
	arguments := strings.TrimSpace(call.Arguments)
	return arguments != "{}" && json.Valid([]byte(arguments))
}

// runTool runs one call, as an observed step. Every failure becomes text that the model can act on; a tool that panics
// must not end the conversation.
func runTool(ctx context.Context, tools []Tool, call Call) (result Result, ends bool) {
	ctx, step := observe.Begin(ctx, observe.Tool)
	defer step.End()
	defer func() {
		if p := recover(); p != nil {
			why, _, _ := strings.Cut(fmt.Sprint(p), "\n")
			result = failed("the tool %s failed (%s).", call.Name, why)
			ends = false
		}
		if strings.HasPrefix(result.Text, toolError) {
			step.Fail(errors.New("the tool answered with an error"))
		}
	}()
	names := make([]string, len(tools))
	for i, tool := range tools {
		names[i] = tool.Name
	}
	at := slices.Index(names, call.Name)
	arguments := cmp.Or(strings.TrimSpace(call.Arguments), "{}")
	if at < 0 { // the model has made up a name, which is no attribute
		step.Add(slog.String("tool", "unknown"))
		if len(tools) == 0 {
			return failed("there is no tool named %q, and no other now. Answer in text.", call.Name), false
		}
		return failed("there is no tool named %q. There are: %s.", call.Name, strings.Join(names, ", ")), false
	}
	step.Add(slog.String("tool", call.Name))
	if !json.Valid([]byte(arguments)) {
		return failed("the arguments are not valid JSON. Call the tool again with a JSON object."), false
	}
	result, err := tools[at].Run(withCallKey(ctx, call.Name, json.RawMessage(arguments)), json.RawMessage(arguments))
	if err != nil {
		result.Text = toolError + err.Error()
		return result, false
	}
	return result, tools[at].Ends
}

// failed returns the result of a call that did not run to its end.
func failed(format string, args ...any) Result {
	return Result{Text: toolError + fmt.Sprintf(format, args...)}
}
