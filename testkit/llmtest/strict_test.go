package llmtest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// post sends messages, and more fields, which win, on a wire. It returns the status and the body.
func post(t *testing.T, server *llmtest.Server, wire, messages, more string) (int, string) {
	t.Helper()
	path := "/chat/completions"
	request := `{"model":"m","messages":[`
	switch wire {
	case llm.WireResponses:
		path = "/responses"
		request = `{"model":"m","stream":true,"store":false,"input":[`
	case llm.WireMessages:
		path = "/messages"
		request = `{"model":"claude-sonnet-4-6","stream":true,"max_tokens":2000,"messages":[`
	}
	resp := check.Must(http.Post(server.URL+path, "application/json", strings.NewReader(request+messages+`]`+more+`}`)))(t)
	defer resp.Body.Close()
	return resp.StatusCode, string(check.Must(io.ReadAll(resp.Body))(t))
}

const (
	user   = `{"role":"user","content":"hi"}`
	system = `{"role":"system","content":"be kind"}`
	calls  = `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	a      = `{"role":"tool","tool_call_id":"a","content":""}`
	b      = `{"role":"tool","tool_call_id":"b","content":"2"}`
	reply  = `{"role":"assistant","content":"hello"}`

	input     = `{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`
	output    = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}`
	reasoning = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`
	called    = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
	result    = `{"type":"function_call_output","call_id":"a","output":"1"}`
	function  = `,"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{}},"strict":false}]`

	blocksUser   = `{"role":"user","content":[{"type":"text","text":"hi"}]}`
	blocksCall   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	blocksResult = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`
	blocksTool   = `,"tools":[{"name":"f","input_schema":{"type":"object"}}]`
)

func parts(role string, parts ...string) string {
	return `{"role":"` + role + `","content":[` + strings.Join(parts, ",") + `]}`
}

// demand is a request, and what a strict provider says of it; "": it answers.
type demand struct{ name, messages, more, want string }

var demands = map[string][]demand{
	llm.WireChat: {
		{"ids that come again in another message", user + "," + calls + "," + a + "," + b + "," + reply + "," + user + "," + calls + "," + a + "," + b, "", ""},
		{"an unknown field", user, `,"novelty":1`, "unknown field novelty"},
		{"no messages", "", "", "messages is empty"},
		{"two system messages", system + "," + system + "," + user, "", "only the first"},
		{"an empty user message", `{"role":"user","content":""}`, "", "it is empty"},
		{"content that is missing", user + `,{"role":"assistant","tool_calls":[]},` + user, "", "content is missing"},
		{"two users in a row", user + "," + user, "", "two in a row"},
		{"an assistant at the end", user + "," + reply, "", "nothing to answer"},
		{"a result without a call", user + "," + a, "", "no call before it"},
		{"a call without a result", user + "," + calls + "," + a + "," + user, "", "have no result"},
		{"one id twice", user + "," + strings.ReplaceAll(calls, `"b"`, `"a"`) + "," + a, "", "there twice"},
		{"arguments that are broken", user + "," + strings.ReplaceAll(calls, `"{}"`, `"{"`) + "," + a + "," + b, "", "JSON arguments"},
		{"a picture on the web", parts("user", `{"type":"image_url","image_url":{"url":"https://example.org/cat.png"}}`), "", "no data URL"},
		{"a schema without properties", user, `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`, "missing properties"},
	},
	llm.WireResponses: {
		{"an unknown field", input, `,"max_tokens":5`, "unknown field max_tokens"},
		{"an unknown field of an item", `{"type":"message","role":"user","content":"hi","name":"Ada"}`, "", "unknown field name"},
		{"parts of the other wire", `{"type":"message","role":"user","content":[{"type":"text","text":"hi"}]}`, "", "no part of type input_text"},
		{"a breakpoint of an assistant", strings.Join([]string{input, strings.Replace(output, `"text":"hello"`, `"text":"hello","prompt_cache_breakpoint":{"mode":"explicit"}`, 1), input}, ","), "", "prompt_cache_breakpoint"},
		{"a call without a result", strings.Join([]string{input, called, input}, ","), function, "have no result"},
		{"a result without a call", input + "," + result, function, "no call before it"},
		{"text behind a call", strings.Join([]string{input, called, output, result}, ","), function, "behind its calls"},
		{"reasoning before nothing", strings.Join([]string{input, called, result, reasoning}, ","), function, "required following item"},
		{"reasoning before a user", strings.Join([]string{input, reasoning, input}, ","), "", "required following item"},
		{"reasoning that is not there", strings.Join([]string{input, `{"type":"reasoning","id":"rs_1","summary":[]}`, called, result}, ","), function, "was not found"},
		{"a strict tool", input, strings.Replace(function, `,"strict":false`, "", 1), "strict schema"},
		{"a tool that is not there", input, function + `,"tool_choice":{"type":"function","name":"g"}`, "no tool g"},
		{"too small an answer", input, `,"max_output_tokens":15`, "max_output_tokens is 15"},
		{"a long key", input, `,"prompt_cache_key":"` + strings.Repeat("k", 65) + `"`, "longer than 64"},
		{"stored and encrypted", input, `,"store":true,"include":["reasoning.encrypted_content"]`, "store false"},
	},
	llm.WireMessages: {
		{"no messages", "", "", "empty"},
		{"blank text", strings.Replace(blocksUser, "hi", " ", 1), "", "non-whitespace"},
		{"no max_tokens", blocksUser, `,"max_tokens":0`, "max_tokens"},
		{"an unknown field", blocksUser, `,"prompt_cache_key":"k"`, "unknown field prompt_cache_key"},
		{"an unknown field of a block", strings.Replace(blocksUser, `"hi"`, `"hi","id":"1"`, 1), "", "unknown field id"},
		{"a call without a result", blocksUser + "," + blocksCall + "," + blocksUser, blocksTool, "have no result"},
		{"a result without a call", blocksResult, "", "no call before it"},
		{"a result behind text", blocksUser + "," + blocksCall + "," + strings.Replace(blocksResult, `[{`, `[{"type":"text","text":"x"},{`, 1), blocksTool, "must come before"},
		{"arguments that are no object", blocksUser + "," + strings.Replace(blocksCall, "{}", "[]", 1) + "," + blocksResult, blocksTool, "an object as input"},
		{"five marks", strings.Replace(blocksUser, `"hi"}`, `"hi"}`+strings.Repeat(`,{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`, 5), 1), "", "maximum of 4 blocks"},
		{"a forced tool while thinking", blocksUser, blocksTool + `,"tool_choice":{"type":"tool","name":"f"},"thinking":{"type":"adaptive"}`, "forces tool use"},
		{"a forced tool that is not there", blocksUser, blocksTool + `,"tool_choice":{"type":"tool","name":"g"}`, "no tool g"},
		{"a forced tool of the newest", blocksUser, blocksTool + `,"model":"claude-opus-5-5","tool_choice":{"type":"tool","name":"f"}`, "tool_choice"},
		{"adaptive thinking of old models", blocksUser, `,"model":"claude-haiku-4-5","thinking":{"type":"adaptive"}`, "adaptive"},
		{"a schema of alternatives", blocksUser, `,"tools":[{"name":"f","input_schema":{"type":"object","anyOf":[{"required":["a"]}]}}]`, "at the top level"},
		{"a budget beyond max_tokens", blocksUser, `,"thinking":{"type":"enabled","budget_tokens":4096}`, "budget_tokens"},
		{"no thinking of models that do", blocksUser, `,"model":"claude-fable-5-1","thinking":{"type":"disabled"}`, "disabled"},
		{"a forged signature", blocksUser + "," + strings.Replace(blocksCall, `[`, `[{"type":"thinking","thinking":"hm","signature":"forged"},`, 1) + "," + blocksResult, blocksTool, "signature"},
	},
}

func TestServersAreAsStrictAsProviders(t *testing.T) {
	for wire, all := range demands {
		server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("ok") })
		accepted := 0
		for _, d := range all {
			t.Run(wire+", "+d.name, func(t *testing.T) {
				status, body := post(t, server, wire, d.messages, d.more)
				want := http.StatusBadRequest
				if d.want == "" {
					want = http.StatusOK
					accepted++
				}
				check.That(t, status == want && strings.Contains(body, d.want), "got %d %s, want %q", status, body, d.want)
				got := server.Requests()
				check.That(t, len(got) == accepted && (accepted == 0 || got[accepted-1].Wire == wire), "%d requests are shown: %+v", len(got), got)
			})
		}
		check.Equal(t, wire+": refusals", len(server.Refusals()), len(all)-accepted)
	}
}

func TestProfilesRefuse(t *testing.T) {
	const tools = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]`
	for name, c := range map[string]struct {
		model, messages, more string
		status                int
		want                  string
	}{
		"another model":        {"gpt-6-astra", user, `,"model":"gpt-4"`, 404, "does not exist"},
		"tools on chat":        {"gpt-6-astra", user, tools, 400, "/v1/responses"},
		"tools that think":     {"gpt-5.6-terra", user, tools, 400, "/v1/responses"},
		"tools of gemma":       {"gemma", user, tools, 400, "does not support tools"},
		"more than the window": {"qwen3", parts("user", `{"type":"text","text":"`+strings.Repeat("word ", 200_000)+`"}`), "", 400, "maximum context length is 128000"},
	} {
		server := llmtest.Serve(t, nil)
		server.Behave(llmtest.ProfileOf(c.model))
		status, body := post(t, server, llm.WireChat, c.messages, `,"model":"`+c.model+`"`+c.more) // the last model counts
		check.Equal(t, name, status, c.status)
		check.Contains(t, name, body, c.want)
		check.Len(t, name+": refusals", server.Refusals(), 1)
	}
}

func TestARequestThatDoesNotExtendIsSeen(t *testing.T) {
	differs := ""
	server := llmtest.Serve(t, func(x *llmtest.Exchange) { differs = x.Differs(); x.Say("ok") })
	server.Behave(llmtest.ProfileOf("qwen3"))
	m := check.Must(openai.New(server.Options(openai.Options{Model: "qwen3"})))(t)
	for i, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"s", "a"}, ""},
		{[]string{"s", "a", "b", "c"}, ""},
		{[]string{"s", "a", "b", "c and more"}, ""}, // neighbours that were joined
		{[]string{"other", "x"}, ""},                // another conversation
		{[]string{"s", "a", "changed", "c and more"}, "part 3 of 4"},
		{[]string{"s", "a"}, "part 3 of 4"},
	} {
		messages := []llm.Message{{Role: llm.RoleSystem, Text: c.texts[0]}}
		for i, text := range c.texts[1:] {
			messages = append(messages, llm.Message{Role: []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2], Text: text})
		}
		check.Must(m.Generate(t.Context(), llm.Request{Messages: messages}, nil))(t)
		check.That(t, (differs == "") == (c.want == "") && strings.Contains(differs, c.want), "request %d: %q, want %q", i, differs, c.want)
	}
}

func TestThinkingIsBoundToWhatPrecedesIt(t *testing.T) {
	for claim, c := range map[string]struct {
		change func(req *llm.Request)
		want   string // in the refusal; "": there is none
	}{
		"an exchange may grow":                     {func(*llm.Request) {}, ""},
		"another choice of a tool changes nothing": {func(req *llm.Request) { req.MaxTokens++ }, ""},
		"fewer tools are a change":                 {func(req *llm.Request) { req.Tools = req.Tools[:1] }, "bound to a different conversation"},
		"another system prompt is":                 {func(req *llm.Request) { req.Messages[0].Text = "other" }, "bound to a different conversation"},
		"an earlier message with other words is":   {func(req *llm.Request) { req.Messages[1].Text = "other" }, "bound to a different conversation"},
		"without the thinking nothing is compared": {func(req *llm.Request) {
			req.Tools = req.Tools[:1]
			req.Messages[2].Native = nil
		}, ""},
		"a new exchange has no thinking to compare": {func(req *llm.Request) {
			req.Tools = req.Tools[:1]
			req.Messages = req.Messages[:2]
		}, ""},
	} {
		server := llmtest.Serve(t, llmtest.Once(func(x *llmtest.Exchange) { x.Use("a", "f", "{}") }))
		server.Behave(llmtest.ProfileOf("claude-fable-5-1"))
		m := check.Must(anthropic.New(server.Options(anthropic.Options{Model: "claude-fable-5-1"})))(t)
		req := llm.Request{
			Messages: []llm.Message{{Role: llm.RoleSystem, Text: "s"}, {Role: llm.RoleUser, Text: "q"}},
			Tools:    []llm.Tool{{Name: "f"}, {Name: "g"}}, MaxTokens: 100,
		}
		resp := check.Must(m.Generate(t.Context(), req, nil))(t)
		req.Messages = append(req.Messages, resp.Message, llm.Message{Role: llm.RoleTool, CallID: "a", Tool: "f", Text: "1"})
		c.change(&req)
		_, _ = m.Generate(t.Context(), req, nil) // after a refusal the client leaves the thinking out
		refusals := strings.Join(server.Refusals(), "\n")
		check.That(t, (refusals == "") == (c.want == "") && strings.Contains(refusals, c.want), "%s: refusals %q", claim, refusals)
	}
}
