package llm

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"
)

// unsupported are real refusals of servers, and what they reject: "tools", "images", or "" for
// other failures.
var unsupported = []struct {
	name   string
	status int
	body   string
	says   string
}{
	{"tools, Ollama", 400, `{"error":{"message":"registry.ollama.ai/library/gemma3:12b does not support tools","type":"api_error","param":null,"code":null}}`, "tools"},
	{"tools, OpenRouter", 404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection","code":404}}`, "tools"},
	{"tools, vLLM", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`, "tools"},
	{"tools, llama.cpp", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, "tools"},
	{"tools, Gemini", 400, `[{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`, "tools"},
	{"tools, Groq", 400, "{\"error\":{\"message\":\"`tool calling` is not supported with this model\"}}", "tools"},
	{"tools, DeepInfra", 405, `{"error":{"message":"Tool calling is not supported for model: mistralai/Mistral-Small-24B-Instruct-2501"}}`, "tools"},
	{"images, OpenAI", 400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error","param":"messages.[0].content.[1].type","code":null}}`, "images"},
	{"images, OpenRouter", 404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, "images"},
	{"images, vLLM", 400, `{"object":"error","message":"Qwen/Qwen3-8B is not a multimodal model","type":"BadRequestError","param":null,"code":400}`, "images"},
	{"images, llama.cpp", 500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, "images"},
	{"images, Ollama", 400, `{"error":{"message":"this model does not support image input (ref: b8bd630e)","type":"api_error"}}`, "images"},
	{"images, DeepSeek", 400, "{\"error\":{\"message\":\"Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 746109\",\"type\":\"invalid_request_error\"}}", "images"},
	{"images, Gemini", 400, `[{"error":{"code":400,"message":"Image input modality is not enabled for models/gemma-3-1b-it","status":"INVALID_ARGUMENT"}}]`, "images"},
	{"not of images, pictures as output", 404, `{"error":{"message":"No endpoints found that support the requested output modalities: image, text","code":404}}`, ""},
	{"not of images, too many", 400, `{"object":"error","message":"At most 1 image(s) may be provided in one request.","type":"BadRequestError","code":400}`, ""},
	{"not of images, a broken one", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}`, ""},
	{"images, in a gateway's words", 400, `{"error":{"message":"Error code: 400 - {'error': {'message': 'this model does not support image input', 'type': 'api_error'}}"}}`, "images"},
	{"not of images, several", 400, `{"error":{"message":"This model does not support multiple images"}}`, ""},
	{"not of images, a format", 400, `{"error":{"message":"The type image/gif is not supported"}}`, ""},
	{"not of images, the making of pictures", 400, `{"error":{"message":"This model does not support image generation."}}`, ""},
	{"not of images, what somebody said", 400, `{"error":{"message":"Invalid value for 'messages[3].content': \"why? it does not support images\" was filtered"}}`, ""},
	{"not of tools, what somebody said", 422, `{"detail":"1 validation error for Request\nmessages.3.name [type=string_pattern, input_value='it does not support tools', input_type=str]"}`, ""},
	{"not of images, an overflow", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens, images included. However, you requested 9001 tokens."}}`, ""},
	{"not of tools, a schema", 400, "Invalid schema for function 'recall': In context=('properties', 'query'), 'format' is not supported.", ""},
	{"not of tools, a name", 400, "Invalid 'tools[0].function.name': string does not match pattern", ""},
	{"not of tools, a tool that failed", 400, "the tool server is not available", ""},
}

func TestUnsupportedFieldsAreRecognized(t *testing.T) {
	check.SkipUnderRace(t)
	for _, c := range unsupported {
		t.Run(c.name, func(t *testing.T) {
			err := Refused(c.status, nil, []byte(c.body))
			wrapped := fmt.Errorf("the turn failed: %w", err)
			tools, images := RefusesTools(wrapped), TakesNoImages(wrapped)
			check.Equal(t, fmt.Sprintf("%q: classified as a refusal of tools", err), tools, c.says == "tools")
			check.Equal(t, fmt.Sprintf("%q: classified as a refusal of pictures", err), images, c.says == "images")
			if c.says != "" && err.Temporary() || images && !RefusesImages(wrapped) {
				t.Errorf("%q: retried unchanged", err)
			}
		})
	}
	for _, err := range []error{nil, errors.New("it does not support tools"), errors.New("it does not support images")} {
		check.That(t, !RefusesTools(err) && !RefusesImages(err) && !WantsReasoning(err), "%v: got a refusal, want none", err)
	}
	if !RefusesTools(&Error{Kind: KindOverloaded, Message: "it does not support tools"}) {
		t.Error("not recognized when it is classified as overloaded")
	}
	check.Equal(t, "a failing server is classified", Refused(500, nil, []byte("a tool server failed")).Kind, KindOverloaded)
}

func TestRequiredFieldsAreRecognized(t *testing.T) {
	for text, want := range map[string]string{
		"The `reasoning_content` in the thinking mode must be passed back to the API.":                                                             "reasoning",
		"Missing `reasoning_content` field in the assistant message at message index 2. For more information, please refer to https://example.org": "reasoning",
		"thinking is enabled but reasoning_content is missing in assistant tool call message at index 3":                                           "reasoning",
		"Unknown field: reasoning_content":                                                            "",
		"Extra inputs are not permitted: messages.2.reasoning_content":                                "",
		"Unsupported value: 'reasoning_effort' does not support 'minimal'":                            "",
		"Thinking mode does not support this tool_choice":                                             "free choice",
		"The tool_choice parameter does not support being set to required or object in thinking mode": "free choice",
		"tool_choice: type tool is not supported for this model":                                      "free choice",
		"messages.2: tool results are missing":                                                        "",
		"this model does not support tools":                                                           "",
		"tools[0].function.parameters is not a schema":                                                "",
	} {
		var got []string
		err := Refused(400, nil, []byte(text))
		if WantsReasoning(err) {
			got = append(got, "reasoning")
		}
		if RefusesForced(err) {
			got = append(got, "free choice")
		}
		check.Equal(t, text, strings.Join(got, ", "), want)
	}
	if WantsReasoning(Refused(503, nil, []byte("reasoning_content is missing"))) || RefusesForced(Refused(500, nil, []byte("tool_choice crashed"))) {
		t.Error("a temporary failure counts as a refusal")
	}
}
