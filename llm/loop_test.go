package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// script answers the n-th request with the n-th response, and later ones with the last.
func script(responses ...llm.Response) *llmtest.Model {
	return &llmtest.Model{Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return responses[min(n, len(responses))-1], nil
	}}
}

// exchangeRecord is what a Loop passed to its Record.
type exchangeRecord struct {
	calls   llm.Message
	results []llm.Message
}

// asking returns the requests of a loop: each has these tools.
func asking(tools ...llm.Tool) func(context.Context, int) (llm.Request, error) {
	return func(context.Context, int) (llm.Request, error) { return llm.Request{Tools: tools}, nil }
}

// run runs a loop over model with tools.
func run(t *testing.T, model llm.Model, tools ...llm.Tool) (resp llm.Response, records []exchangeRecord, err error) {
	t.Helper()
	resp, err = llm.Loop{Model: model, MaxCalls: 5, Request: asking(tools...), Record: func(calls llm.Message, results []llm.Message) {
		records = append(records, exchangeRecord{calls, results})
	}}.Run(t.Context())
	return resp, records, err
}

func tool(name string, run func(arguments string) (string, error)) llm.Tool {
	return llm.Tool{Name: name, Run: func(_ context.Context, arguments json.RawMessage) (string, error) {
		return run(string(arguments))
	}}
}

func echo(arguments string) (string, error) { return "got " + arguments, nil }

func TestLoopRunsToolsUntilTheModelAnswers(t *testing.T) {
	model := script(
		llmtest.Use(llmtest.Call("a", "echo", map[string]int{"n": 1}), llmtest.Call("b", "echo", map[string]int{"n": 2})),
		llmtest.Say("done"))
	resp, records, err := run(t, model, tool("echo", echo))
	check.Require(t, err == nil && resp.Message.Text == "done", "got %q, %v", resp.Message.Text, err)
	check.Len(t, "records", records, 1)
	check.Len(t, "calls", records[0].calls.Calls, 2)
	want := []llm.Message{{Role: llm.RoleTool, CallID: "a", Tool: "echo", Text: `got {"n":1}`}, {Role: llm.RoleTool, CallID: "b", Tool: "echo", Text: `got {"n":2}`}}
	check.That(t, reflect.DeepEqual(records[0].results, want), "got %+v, want %+v", records[0].results, want)
}

func TestLoopGivesEachCallAnIDOfItsOwn(t *testing.T) {
	for name, ids := range map[string][]string{
		"missing ids":                            {"", "", ""},
		"a repeated id":                          {"x", "x", "x"},
		"a given id that looks like ours":        {"call_1", "", "call_1"},
		"a later id that looks like a fresh one": {"", "call_0", "call_0"},
	} {
		var calls []llm.Call
		for _, id := range ids {
			calls = append(calls, llmtest.Call(id, "echo", 1))
		}
		_, records, err := run(t, script(llmtest.Use(calls...), llmtest.Say("ok")), tool("echo", echo))
		check.NoError(t, err)
		seen := map[string]bool{}
		for i, call := range records[0].calls.Calls {
			check.That(t, call.ID != "" && !seen[call.ID] && records[0].results[i].CallID == call.ID, "%s: %+v", name, records[0])
			seen[call.ID] = true
		}
	}
}

func TestLoopReportsToolFailure(t *testing.T) {
	broken := tool("broken", func(string) (string, error) { return "", errors.New("say which one") })
	panics := tool("panics", func(string) (string, error) { panic("boom\nstack") })
	panics.Ends, broken.Ends = true, true
	for name, c := range map[string]struct {
		call  llm.Call
		tools []llm.Tool
		want  string
	}{
		"an unknown tool names the others":  {llmtest.Call("1", "nope", 1), []llm.Tool{tool("echo", echo), broken}, `no tool named "nope". There are: echo, broken.`},
		"no tools at all asks for text":     {llmtest.Call("1", "nope", 1), nil, "Answer in text."},
		"invalid JSON asks for an object":   {llm.Call{ID: "1", Name: "echo", Arguments: `{"n":`}, []llm.Tool{tool("echo", echo)}, "not valid JSON"},
		"an error is shown":                 {llmtest.Call("1", "broken", 1), []llm.Tool{broken}, "Error: say which one"},
		"a panic is caught, one line of it": {llmtest.Call("1", "panics", 1), []llm.Tool{panics}, "the tool panics failed (boom)."},
	} {
		resp, records, err := run(t, script(llmtest.Use(c.call), llmtest.Say("sorry")), c.tools...)
		check.Require(t, err == nil && resp.Message.Text == "sorry", "%s: the loop did not continue: %q, %v", name, resp.Message.Text, err)
		got := records[0].results[0].Text
		check.HasPrefix(t, name, got, "Error: ")
		check.Contains(t, name, got, c.want)
	}
}

func TestLoopEndsWithFinalTool(t *testing.T) {
	last, model := tool("last", echo), script(llmtest.Use(llmtest.Call("1", "last", 1)))
	last.Ends = true
	resp, records, err := run(t, model, last)
	check.That(t, err == nil && len(resp.Message.Calls) == 1 && len(records) == 1 && len(model.Requests()) == 1, "got %+v, recorded %d, %v", resp, len(records), err)
}

func TestLoopGivesUpAfterMaxCalls(t *testing.T) {
	var left []int
	recorded := 0
	_, err := llm.Loop{
		Model: script(llmtest.Use(llmtest.Call("1", "echo", 1))), MaxCalls: 3,
		Request: func(_ context.Context, n int) (llm.Request, error) {
			left = append(left, n)
			return llm.Request{Tools: []llm.Tool{tool("echo", echo)}}, nil
		},
		Record: func(llm.Message, []llm.Message) { recorded++ },
	}.Run(t.Context())
	check.Error(t, err, llm.ErrTooManyCalls)
	check.EqualAll(t, "left", left, []int{3, 2, 1})
	check.Equal(t, "calls left", recorded, 3)
}

func TestLoopRetriesWithNewRequest(t *testing.T) {
	overflow := &llm.Error{Kind: llm.KindOverflow}
	for failures, want := range map[int]error{2: nil, 3: overflow} {
		asked, made := 0, 0
		_, err := llm.Loop{
			Model: &llmtest.Model{Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
				if n <= failures {
					return llm.Response{}, overflow
				}
				return llmtest.Say("fits"), nil
			}},
			MaxCalls: 1,
			Request: func(_ context.Context, left int) (llm.Request, error) {
				made++
				check.Equal(t, "calls left after a retry", left, 1)
				return llm.Request{}, nil
			},
			Retry: func(_ context.Context, err error) bool {
				asked++
				return llm.KindOf(err) == llm.KindOverflow && asked <= 2
			},
		}.Run(t.Context())
		check.Error(t, err, want)
		check.Equal(t, "made", made, 3)
	}
}

func TestLoopStopsWhenCanceledInTool(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slow := tool("slow", func(string) (string, error) {
		cancel()
		return "half", nil
	})
	err := check.ErrorOf(llm.Loop{
		Model: script(llmtest.Use(llmtest.Call("1", "slow", 1)), llmtest.Say("never")), MaxCalls: 2, Request: asking(slow),
		Record: func(llm.Message, []llm.Message) { t.Error("recorded") },
	}.Run(ctx))
	check.Error(t, err, context.Canceled)
}

func TestLoopDoesNotRunACallThatIsCutOff(t *testing.T) {
	for arguments, want := range map[string][]string{
		"":               {`got {"n":1}`, "Error: the answer reached"},
		"{}":             {`got {"n":1}`, "Error: the answer reached"}, // what Anthropic sends before the first piece
		`{"text":"all`:   {`got {"n":1}`, "Error: the answer reached"},
		`{"text":"all"}`: {`got {"n":1}`, `got {"text":"all"}`},
	} {
		cut := llmtest.Use(llmtest.Call("a", "echo", map[string]int{"n": 1}), llm.Call{ID: "b", Name: "echo", Arguments: arguments})
		cut.FinishReason = llm.FinishLength
		_, records, err := run(t, script(cut, llmtest.Say("done")), tool("echo", echo))
		check.NoError(t, err)
		for i, result := range records[0].results {
			check.HasPrefix(t, arguments, result.Text, want[i])
		}
	}
}

// TestLoopCountsEverything that is billed, also for responses it turns into failures.
func TestLoopCountsEverything(t *testing.T) {
	used := func(resp llm.Response, prompt int) llm.Response {
		resp.Usage.Prompt = prompt
		return resp
	}
	call := llmtest.Use(llmtest.Call("c", "echo", 1))
	for name, c := range map[string]struct {
		responses []llm.Response
		err       error
		want      []int
	}{
		"answers with tools and without":            {[]llm.Response{used(call, 1), used(llmtest.Say("fine"), 2)}, nil, []int{1, 2}},
		"none, because the prompt fills the window": {[]llm.Response{used(llm.Response{FinishReason: llm.FinishLength}, 100)}, nil, []int{100}},
		"a failed attempt":                          {[]llm.Response{used(llm.Response{}, 7)}, errors.New("it broke"), []int{7}},
	} {
		var counted []int
		_, _ = llm.Loop{ // some fail
			Model:    &llmtest.Model{Tokens: 100, Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) { return c.responses[n-1], c.err }},
			MaxCalls: 3, Request: asking(tool("echo", echo)),
			Count: func(u llm.Usage) { counted = append(counted, u.Prompt) },
		}.Run(t.Context())
		check.EqualAll(t, name, counted, c.want)
	}
}
