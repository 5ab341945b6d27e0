package llm_test

import (
	"context"
	"encoding/json"
	"errors"
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

// asking returns the requests of a loop: each has these tools.
func asking(tools ...llm.Tool) func(context.Context, int) (llm.Request, error) {
	return func(context.Context, int) (llm.Request, error) { return llm.Request{Tools: tools}, nil }
}

func tool(name string, run func(arguments string) (string, error)) llm.Tool {
	return llm.Tool{Name: name, Run: func(_ context.Context, arguments json.RawMessage) (string, error) {
		return run(string(arguments))
	}}
}

func echo(arguments string) (string, error) { return "got " + arguments, nil }

func TestLoopRunsTools(t *testing.T) {
	works, last := tool("echo", echo), tool("last", echo)
	broken := tool("broken", func(string) (string, error) { return "", errors.New("say which one") })
	panics := tool("panics", func(string) (string, error) { panic("boom\nstack") })
	last.Ends, panics.Ends, broken.Ends = true, true, true
	call := func(id, tool, arguments string) llm.Call { return llm.Call{ID: id, Name: tool, Arguments: arguments} }
	named := func(ids ...string) (calls []llm.Call) {
		for _, id := range ids {
			calls = append(calls, call(id, "echo", "1"))
		}
		return calls
	}
	cut := func(arguments string) []llm.Call {
		return []llm.Call{call("a", "echo", "1"), call("b", "echo", arguments)}
	}
	const missing = "Error: the answer reached its limit before this call was complete, so the tool did not run. Call it again with shorter arguments."
	for name, c := range map[string]struct {
		calls   []llm.Call
		tools   []llm.Tool
		cut     bool     // by the limit of the answer
		results []string // id and text of each
		ends    bool
	}{
		"all calls, in their order":             {named("a", "b"), []llm.Tool{works}, false, []string{"a got 1", "b got 1"}, false},
		"a tool that ends the loop":             {[]llm.Call{call("a", "last", "1")}, []llm.Tool{last}, false, []string{"a got 1"}, true},
		"without arguments":                     {[]llm.Call{call("a", "echo", " ")}, []llm.Tool{works}, false, []string{"a got {}"}, false},
		"missing ids":                           {named("", "", ""), []llm.Tool{works}, false, []string{"call_0 got 1", "call_1 got 1", "call_2 got 1"}, false},
		"a repeated id":                         {named("x", "x", "x"), []llm.Tool{works}, false, []string{"x got 1", "call_1 got 1", "call_2 got 1"}, false},
		"a given id that looks like ours":       {named("call_1", "", "call_1"), []llm.Tool{works}, false, []string{"call_1 got 1", "call_2 got 1", "call_3 got 1"}, false},
		"a later id that looks like a new one":  {named("", "call_0", "call_0"), []llm.Tool{works}, false, []string{"call_0 got 1", "call_1 got 1", "call_2 got 1"}, false},
		"an unknown tool":                       {[]llm.Call{call("a", "nope", "1")}, []llm.Tool{works, broken}, false, []string{`a Error: there is no tool named "nope". There are: echo, broken.`}, false},
		"no tools at all":                       {[]llm.Call{call("a", "nope", "1")}, nil, false, []string{`a Error: there is no tool named "nope", and no other now. Answer in text.`}, false},
		"invalid JSON":                          {[]llm.Call{call("a", "echo", `{"n":`)}, []llm.Tool{works}, false, []string{"a Error: the arguments are not valid JSON. Call the tool again with a JSON object."}, false},
		"an error":                              {[]llm.Call{call("a", "broken", "1")}, []llm.Tool{broken}, false, []string{"a Error: say which one"}, false},
		"a panic, of which one line is shown":   {[]llm.Call{call("a", "panics", "1")}, []llm.Tool{panics}, false, []string{"a Error: the tool panics failed (boom)."}, false},
		"a cut call without arguments":          {cut(""), []llm.Tool{works}, true, []string{"a got 1", "b " + missing}, false},
		"a cut call as Anthropic begins it":     {cut("{}"), []llm.Tool{works}, true, []string{"a got 1", "b " + missing}, false},
		"a cut call with a part of a text":      {cut(`{"text":"all`), []llm.Tool{works}, true, []string{"a got 1", "b " + missing}, false},
		"a complete call at the end of the cut": {cut(`{"text":"all"}`), []llm.Tool{works}, true, []string{"a got 1", `b got {"text":"all"}`}, false},
	} {
		first := llmtest.Use(c.calls...)
		if c.cut {
			first.FinishReason = llm.FinishLength
		}
		model, results := script(first, llmtest.Say("done")), []string(nil)
		resp, err := llm.Loop{Model: model, MaxCalls: 5, Request: asking(c.tools...), Record: func(calls llm.Message, got []llm.Message) {
			for i, m := range got {
				results = append(results, m.CallID+" "+m.Text)
				check.That(t, m.Role == llm.RoleTool && m.Tool == c.calls[i].Name && m.CallID == calls.Calls[i].ID, "%s: got %+v", name, m)
			}
		}}.Run(t.Context())
		check.NoError(t, err)
		check.EqualAll(t, name, results, c.results)
		check.That(t, c.ends == (len(model.Requests()) == 1) && c.ends == (resp.Message.Text == ""), "%s: it ended with %+v", name, resp)
	}
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
