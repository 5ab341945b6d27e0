package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
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
	return llm.Tool{Name: name, Run: func(_ context.Context, arguments json.RawMessage) (llm.Result, error) {
		text, err := run(string(arguments))
		return llm.Result{Text: text}, err
	}}
}

func echo(arguments string) (string, error) { return "got " + arguments, nil }

func TestLoopRunsTools(t *testing.T) {
	works := tool("echo", echo)
	last := tool("last", echo)
	broken := tool("broken", func(string) (string, error) { return "", errors.New("say which one") })
	panics := tool("panics", func(string) (string, error) { panic("boom\nstack") })
	last.Ends = true
	panics.Ends = true
	broken.Ends = true
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
		model := script(first, llmtest.Say("done"))
		results := []string(nil)
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

// What comes with the text of a result also comes with an error.
func TestLoopKeepsPicturesAndQuotes(t *testing.T) {
	cat := llm.Result{Text: "a cat", Images: []llm.Image{{Label: "cat"}}, Quotes: llm.Quotes{Messages: []int64{3}, Memories: []int64{7}}}
	for text, failure := range map[string]error{"a cat": nil, "Error: it is blurred": errors.New("it is blurred")} {
		look := llm.Tool{Name: "look", Run: func(context.Context, json.RawMessage) (llm.Result, error) { return cat, failure }}
		_, err := llm.Loop{
			Model: script(llmtest.Use(llmtest.Call("1", "look", 1)), llmtest.Say("done")), MaxCalls: 2, Request: asking(look),
			Record: func(_ llm.Message, results []llm.Message) {
				got := llm.Result{Text: results[0].Text, Images: results[0].Images, Quotes: results[0].Quotes}
				want := cat
				want.Text = text
				check.That(t, reflect.DeepEqual(got, want), "got %+v, want %+v", got, want)
			},
		}.Run(t.Context())
		check.NoError(t, err)
	}
}

func TestLoopCalls(t *testing.T) {
	type outcome struct {
		resp llm.Response
		err  error
	}
	answer := func(text, finish string, prompt int) outcome {
		return outcome{llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Text: text}, FinishReason: finish, Usage: llm.Usage{Prompt: prompt}}, nil}
	}
	broke := errors.New("it broke")
	overflow := &llm.Error{Kind: llm.KindOverflow}
	over := outcome{err: overflow}
	called := outcome{resp: llmtest.Use(llmtest.Call("c", "echo", 1))}
	done := answer("done", llm.FinishStop, 2)
	called.resp.Usage.Prompt = 4096
	for name, c := range map[string]struct {
		outcomes []outcome // of the requests
		left     []int     // calls, by request
		records  int
		counted  []int  // tokens of the prompts, of failures too: they are billed
		want     string // the answer; "": an error
		err      error
	}{
		"no more calls than allowed":                        {[]outcome{called, called, called}, []int{3, 2, 1}, 3, []int{4096, 4096, 4096}, "", llm.ErrTooManyCalls},
		"a call, and an answer":                             {[]outcome{called, done}, []int{3, 2}, 1, []int{4096, 2}, "done", nil},
		"two failures that the caller can fix":              {[]outcome{over, over, done}, []int{3, 3, 3}, 0, []int{2}, "done", nil},
		"one failure more":                                  {[]outcome{over, over, over}, []int{3, 3, 3}, 0, nil, "", overflow},
		"another failure":                                   {[]outcome{{llm.Response{Usage: llm.Usage{Prompt: 7}}, broke}}, []int{3}, 0, []int{7}, "", broke},
		"an empty answer to a prompt that fills the window": {[]outcome{answer(" \n", llm.FinishStop, 4096), done}, []int{3, 3}, 0, []int{4096, 2}, "done", nil},
		"an answer cut off behind such a prompt":            {[]outcome{answer("I th", llm.FinishLength, 4100), done}, []int{3, 3}, 0, []int{4100, 2}, "done", nil},
		"an empty answer to a short prompt":                 {[]outcome{answer(" ", llm.FinishStop, 4095)}, []int{3}, 0, []int{4095}, " ", nil},
		"an answer cut off at max_tokens":                   {[]outcome{answer("I th", llm.FinishLength, 3000)}, []int{3}, 0, []int{3000}, "I th", nil},
	} {
		var left, counted []int
		records := 0
		retries := 0
		resp, err := llm.Loop{
			Model: &llmtest.Model{Tokens: 4096, Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
				return c.outcomes[n-1].resp, c.outcomes[n-1].err
			}},
			MaxCalls: 3,
			Request: func(_ context.Context, n int) (llm.Request, error) {
				left = append(left, n)
				return llm.Request{Tools: []llm.Tool{tool("echo", echo)}}, nil
			},
			Record: func(llm.Message, []llm.Message) { records++ },
			Retry: func(_ context.Context, err error) bool {
				retries++
				return llm.KindOf(err) == llm.KindOverflow && retries <= 2
			},
			Count: func(u llm.Usage) { counted = append(counted, u.Prompt) },
		}.Run(t.Context())
		check.Error(t, err, c.err)
		check.That(t, resp.Message.Text == c.want && records == c.records, "%s: got %q, %d records", name, resp.Message.Text, records)
		check.EqualAll(t, name+": left", left, c.left)
		check.EqualAll(t, name+": counted", counted, c.counted)
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
