package llmtest_test

import (
	"net/http"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/llmtest"
)

// postResponses sends input items, and more fields, and returns the status and the body.
func postResponses(t *testing.T, server *llmtest.Server, input, more string) (int, string) {
	t.Helper()
	return postTo(t, server, "/responses", `{"model":"m","stream":true,"store":false,"input":[`+input+`]`+more+`}`)
}

const (
	input     = `{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`
	output    = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}`
	reasoning = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`
	called    = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
	result    = `{"type":"function_call_output","call_id":"a","output":"1"}`
	function  = `,"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":false}]`
)

func TestResponsesTakesWhatAStrictProviderTakes(t *testing.T) {
	server := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say("ok") })
	defer server.Close()
	for name, c := range map[string]struct{ input, more string }{
		"a message":                {input, ""},
		"a message as a string":    {`{"role":"user","content":"hi"}`, `,"instructions":"be kind"`},
		"a call and its result":    {strings.Join([]string{input, reasoning, called, result}, ","), function},
		"text beside a call":       {strings.Join([]string{input, output, called, result, output, input}, ","), function},
		"reasoning before text":    {strings.Join([]string{input, reasoning, output, input}, ","), ""},
		"a forced tool":            {input, function + `,"tool_choice":{"type":"function","name":"f"}`},
		"a breakpoint":             {`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi","prompt_cache_breakpoint":{"mode":"explicit"}}]}`, `,"prompt_cache_key":"k"`},
		"a breakpoint in a result": {strings.Join([]string{input, called, `{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"1","prompt_cache_breakpoint":{"mode":"explicit"}}]}`}, ","), function},
		"encrypted reasoning":      {input, `,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low"}`},
	} {
		if status, body := postResponses(t, server, c.input, c.more); status != http.StatusOK {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	for _, r := range server.Requests() {
		if r.Wire != llm.WireResponses || r.Messages[0].Role != llm.RoleUser && r.Messages[0].Text() != "be kind" {
			t.Errorf("shown as %+v", r)
		}
	}
}

func TestResponsesRefusesWhatAStrictProviderRefuses(t *testing.T) {
	server := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say("ok") })
	defer server.Close()
	for name, c := range map[string]struct{ input, more, want string }{
		"no JSON":                      {"{", "", "not what the protocol says"},
		"nothing":                      {"", "", "messages is empty"},
		"an unknown field":             {input, `,"max_tokens":5`, "unknown field max_tokens"},
		"an unknown field of an item":  {`{"type":"message","role":"user","content":"hi","name":"Ada"}`, "", "unknown field name"},
		"an unknown item":              {`{"type":"thought"}`, "", "unknown type"},
		"parts of the other wire":      {`{"type":"message","role":"user","content":[{"type":"text","text":"hi"}]}`, "", "no part of type input_text"},
		"an assistant's input":         {strings.Join([]string{input, strings.Replace(output, "output_text", "input_text", 1), input}, ","), "", "no part of type output_text"},
		"a breakpoint of an assistant": {strings.Join([]string{input, strings.Replace(output, `"text":"hello"`, `"text":"hello","prompt_cache_breakpoint":{"mode":"explicit"}`, 1), input}, ","), "", "prompt_cache_breakpoint"},
		"a breakpoint of another form": {`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi","prompt_cache_breakpoint":true}]}`, "", "prompt_cache_breakpoint"},
		"two users":                    {input + "," + input, "", "two in a row"},
		"an assistant first":           {output + "," + input, "", "roles must alternate"},
		"a call without a result":      {strings.Join([]string{input, called, input}, ","), function, "have no result"},
		"a result without a call":      {input + "," + result, function, "no call before it"},
		"text behind a call":           {strings.Join([]string{input, called, output, result}, ","), function, "behind its calls"},
		"reasoning before nothing":     {strings.Join([]string{input, called, result, reasoning}, ","), function, "required following item"},
		"reasoning before a user":      {strings.Join([]string{input, reasoning, input}, ","), "", "required following item"},
		"reasoning that is not there":  {strings.Join([]string{input, `{"type":"reasoning","id":"rs_1","summary":[]}`, called, result}, ","), function, "was not found"},
		"a strict tool":                {input, strings.Replace(function, `,"strict":false`, "", 1), "strict schema"},
		"a tool that is not there":     {input, function + `,"tool_choice":{"type":"function","name":"g"}`, "no tool g"},
		"the choice of the other wire": {input, function + `,"tool_choice":{"type":"function","function":{"name":"f"}}`, "tool_choice"},
		"too small an answer":          {input, `,"max_output_tokens":15`, "max_output_tokens is 15"},
		"a long key":                   {input, `,"prompt_cache_key":"` + strings.Repeat("k", 65) + `"`, "longer than 64"},
		"a retention and a ttl":        {input, `,"prompt_cache_retention":"24h","prompt_cache_options":{"ttl":"30m"}`, "exclude each other"},
		"stored and encrypted":         {input, `,"store":true,"include":["reasoning.encrypted_content"]`, "store false"},
		"a picture that is a link":     {`{"type":"message","role":"user","content":[{"type":"input_image","image_url":"https://example.org/cat.png"}]}`, "", "no data URL"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := postResponses(t, server, c.input, c.more)
			if status != http.StatusBadRequest || !strings.Contains(body, c.want) {
				t.Errorf("got %d %s, want %q", status, body, c.want)
			}
		})
	}
	if got := server.Requests(); len(got) != 0 {
		t.Errorf("took %d", len(got))
	}
}

func TestAServerSpeaksTheWiresItIsToldTo(t *testing.T) {
	server := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say("ok") })
	defer server.Close()
	if status, _ := postResponses(t, server, input, ""); status != http.StatusOK {
		t.Errorf("at first: %d", status)
	}
	server.Speak(llm.WireChat)
	if status, _ := postResponses(t, server, input, ""); status != http.StatusNotFound {
		t.Errorf("Responses without it: %d", status)
	}
	if status, _ := post(t, server, user, ""); status != http.StatusOK {
		t.Errorf("chat: %d", status)
	}
	if status, body := post(t, server, user, `,"novelty":1`); status != http.StatusBadRequest || !strings.Contains(body, "unknown field novelty") {
		t.Errorf("an unknown field: %d %s", status, body)
	}
}
