package llm

import (
	"errors"
	"fmt"
	"testing"
)

func TestRefusalsOfToolsAreRecognised(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"Ollama":                    {400, `{"error":{"message":"registry.ollama.ai/library/gemma3:12b does not support tools","type":"api_error","param":null,"code":null}}`},
		"OpenRouter":                {404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection","code":404}}`},
		"OpenRouter, one is a must": {404, `{"error":{"message":"No endpoints found that support the provided 'tool_choice' value.","code":404}}`},
		"vLLM":                      {400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`},
		"llama.cpp":                 {500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`},
		"llama.cpp, one is a must":  {500, `{"error":{"code":500,"message":"tool_choice param requires --jinja flag","type":"server_error"}}`},
		"OpenAI":                    {400, `{"error":{"message":"tools is not supported in this model. For a list of supported models, refer to https://platform.openai.com/docs/guides/function-calling#models-supporting-function-calling.","type":"invalid_request_error","param":"tools"}}`},
		"OpenAI, by parameter":      {400, `{"error":{"message":"Unsupported parameter: 'tools' is not supported with this model."}}`},
		"Azure":                     {400, `{"error":{"code":400,"message":"Functions are not supported for this API version or this model version."}}`},
		"Azure, older":              {400, `{"error":{"message":"Unrecognized request arguments supplied: tool_choice, tools","type":"invalid_request_error"}}`},
		"Groq":                      {400, "{\"error\":{\"message\":\"`tool calling` is not supported with this model\"}}"},
		"Gemini":                    {400, `[{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`},
		"xAI":                       {400, `{"code":"Client specified an invalid argument","error":"The model does not support tool use or function calling but tools or tool_choice have been specified on the request."}`},
		"DeepSeek":                  {400, `{"error":{"message":"deepseek-reasoner does not support Function Calling"}}`},
		"DeepInfra":                 {405, `{"error":{"message":"Tool calling is not supported for model: mistralai/Mistral-Small-24B-Instruct-2501"}}`},
		"Bedrock":                   {400, `{"message":"This model doesn't support tool use in streaming mode."}`},
		"LiteLLM":                   {400, `{"error":{"message":"litellm.UnsupportedParamsError: bedrock does not support parameters: {'tool_choice': {'type': 'function'}}, for model=x"}}`},
		"inside a stream":           {0, `{"error":{"message":"stablelm2:latest does not support tools"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			err := Refused(c.status, nil, []byte(c.body))
			if !RefusesTools(fmt.Errorf("the turn failed: %w", err)) || err.Temporary() {
				t.Errorf("%q is not seen, or would be tried again unchanged", err)
			}
		})
	}
	for _, kind := range []Kind{KindBadRequest, KindOverloaded} {
		if !RefusesTools(&Error{Kind: kind, Message: "it does not support tools"}) {
			t.Errorf("not seen when it is sorted as %s", kind)
		}
	}
}

func TestRefusalsOfToolsAreNotSeenInOtherFailures(t *testing.T) {
	for name, message := range map[string]string{
		"a schema":                  "Invalid schema for function 'recall': In context=('properties', 'query'), 'format' is not supported.",
		"a part of a tool":          "Invalid value: 'tools[0].function.strict' is not supported",
		"a name":                    "Invalid 'tools[0].function.name': string does not match pattern",
		"an unknown call":           "tool_call_id call_7 was not found in the messages before it",
		"a result without a call":   "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
		"a call without a result":   "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
		"calls side by side":        "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
		"pictures":                  "this model does not support image input",
		"a limit of the answer":     "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
		"OpenRouter about pictures": "No endpoints found that support image input",
		"a template":                "custom chat templates require --jinja flag",
		"a tool that failed":        "the tool server is not available",
	} {
		t.Run(name, func(t *testing.T) {
			if RefusesTools(Refused(400, nil, []byte(message))) {
				t.Errorf("%q is taken for a refusal of tools", message)
			}
		})
	}
	for _, err := range []error{nil, errors.New("it does not support tools")} {
		if RefusesTools(err) {
			t.Errorf("%v is no provider's refusal", err)
		}
	}
	if got := Refused(500, nil, []byte("a tool server failed")).Kind; got != KindOverloaded {
		t.Errorf("a failing server is sorted as %q", got)
	}
}
