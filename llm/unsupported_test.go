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
	{"tools, OpenRouter, one is a must", 404, `{"error":{"message":"No endpoints found that support the provided 'tool_choice' value.","code":404}}`, "tools"},
	{"tools, vLLM", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`, "tools"},
	{"tools, llama.cpp", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, "tools"},
	{"tools, llama.cpp, one is a must", 500, `{"error":{"code":500,"message":"tool_choice param requires --jinja flag","type":"server_error"}}`, "tools"},
	{"tools, OpenAI", 400, `{"error":{"message":"tools is not supported in this model. For a list of supported models, refer to https://platform.openai.com/docs/guides/function-calling#models-supporting-function-calling.","type":"invalid_request_error","param":"tools"}}`, "tools"},
	{"tools, OpenAI, by parameter", 400, `{"error":{"message":"Unsupported parameter: 'tools' is not supported with this model."}}`, "tools"},
	{"tools, Azure", 400, `{"error":{"code":400,"message":"Functions are not supported for this API version or this model version."}}`, "tools"},
	{"tools, Azure, older", 400, `{"error":{"message":"Unrecognized request arguments supplied: tool_choice, tools","type":"invalid_request_error"}}`, "tools"},
	{"tools, Groq", 400, "{\"error\":{\"message\":\"`tool calling` is not supported with this model\"}}", "tools"},
	{"tools, Gemini", 400, `[{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`, "tools"},
	{"tools, xAI", 400, `{"code":"Client specified an invalid argument","error":"The model does not support tool use or function calling but tools or tool_choice have been specified on the request."}`, "tools"},
	{"tools, DeepSeek", 400, `{"error":{"message":"deepseek-reasoner does not support Function Calling"}}`, "tools"},
	{"tools, DeepInfra", 405, `{"error":{"message":"Tool calling is not supported for model: mistralai/Mistral-Small-24B-Instruct-2501"}}`, "tools"},
	{"tools, Bedrock", 400, `{"message":"This model doesn't support tool use in streaming mode."}`, "tools"},
	{"tools, LiteLLM", 400, `{"error":{"message":"litellm.UnsupportedParamsError: bedrock does not support parameters: {'tool_choice': {'type': 'function'}}, for model=x"}}`, "tools"},
	{"tools, inside a stream", 0, `{"error":{"message":"stablelm2:latest does not support tools"}}`, "tools"},
	{"images, OpenAI", 400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error","param":"messages.[0].content.[1].type","code":null}}`, "images"},
	{"images, OpenAI, a reasoning model", 400, `{"error":{"message":"Invalid value: 'image_url'. Supported values are: 'text'.","type":"invalid_request_error","param":"messages[0].content[1].type","code":"invalid_value"}}`, "images"},
	{"images, OpenAI, an audio model", 400, `{"error":{"message":"This model does not support image_url content.","type":"invalid_request_error"}}`, "images"},
	{"images, OpenRouter", 404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, "images"},
	{"images, vLLM", 400, `{"object":"error","message":"Qwen/Qwen3-8B is not a multimodal model","type":"BadRequestError","param":null,"code":400}`, "images"},
	{"images, vLLM, inside a stream", 0, `{"error":{"message":"DeepSeek-V4-Flash is not a multimodal model","type":"BadRequestError","code":400}}`, "images"},
	{"images, llama.cpp", 500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, "images"},
	{"images, llama.cpp, older", 500, `{"error":{"code":500,"message":"image input is not supported by this server","type":"server_error"}}`, "images"},
	{"images, llama.cpp, oldest", 400, `{"error":{"code":400,"message":"unsupported content[].type","type":"invalid_request_error"}}`, "images"},
	{"images, llama-cpp-python", 500, `{"error":{"message":"Image input detected, but the loaded model is not configured with a mmproj module."}}`, "images"},
	{"images, Ollama", 400, `{"error":{"message":"this model does not support image input (ref: b8bd630e)","type":"api_error"}}`, "images"},
	{"images, Ollama, local", 400, `{"error":{"code":400,"message":"Multimodal data provided, but model does not support multimodal requests."}}`, "images"},
	{"images, Ollama, a part is missing", 500, `{"error":{"message":"Failed to create new sequence: failed to process inputs: this model is missing data required for image input","type":"api_error"}}`, "images"},
	{"images, LM Studio", 400, `{"error":"Model does not support images. Please use a model that does."}`, "images"},
	{"images, DeepSeek", 400, "{\"error\":{\"message\":\"Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 746109\",\"type\":\"invalid_request_error\"}}", "images"},
	{"images, DeepSeek, older", 422, `{"error":{"message":"Failed to deserialize the JSON body into the target type: messages[2]: invalid type: sequence, expected a string at line 1 column 2901"}}`, "images"},
	{"images, DeepSeek, oldest", 422, `{"error":{"message":"Failed to deserialize the JSON body into the target type: messages[2]: data did not match any variant of untagged enum ChatCompletionRequestContent at line 1 column 15700"}}`, "images"},
	{"images, Groq", 400, `{"error":{"message":"message[4].content must be a string","type":"invalid_request_error"}}`, "images"},
	{"images, Groq, longer", 400, `{"error":{"message":"'messages.0' : for 'role:user' the following must be satisfied[('messages.0.content' : value must be a string)]","type":"invalid_request_error"}}`, "images"},
	{"images, Mistral", 400, `{"object":"Error","message":"Image input is not enabled for this model","type":"invalid_request_error","code":3051}`, "images"},
	{"images, Gemini", 400, `[{"error":{"code":400,"message":"Image input modality is not enabled for models/gemma-3-1b-it","status":"INVALID_ARGUMENT"}}]`, "images"},
	{"images, xAI", 400, `{"code":"Client specified an invalid argument","error":"Invalid request content: Image inputs are not supported by this model."}`, "images"},
	{"images, Bedrock", 400, `{"message":"This model doesn't support the image content block that you provided. Update the content block and try again."}`, "images"},
	{"images, Bedrock, another model", 400, `{"message":"This model doesn't support the image field for user messages. Remove image and try again."}`, "images"},
	{"images, LiteLLM, of Bedrock", 400, `{"error":{"message":"litellm.BadRequestError: BedrockException - {\"message\":\"This model doesn't support the image content block that you provided.\"}","type":null}}`, "images"},
	{"images, a gateway in Python", 400, `{"error":{"message":"Error code: 400 - {'error': {'message': 'Invalid content type. image_url is only supported by certain models.', 'type': 'invalid_request_error'}}"}}`, "images"},
	{"images, mlx-lm", 404, `{"error":"Only 'text' content type is supported."}`, "images"},
	{"images, Zhipu", 400, `{"error":{"code":"1210","message":"messages.content.type 参数非法，取值范围 ['text']"}}`, "images"},
	{"images, DashScope", 400, `{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Unexpected item type in content.","type":"invalid_request_error"}}`, "images"},
	{"images, a server of text alone", 422, `{"detail":"Validation Error","errors":[{"loc":"body -> messages -> 0 -> content","msg":"Input should be 'text'","type":"literal_error"}]}`, "images"},
	{"images, xLLM", 400, `{"error":{"message":"Non-text content requires multimodal endpoint"}}`, "images"},
	{"images, in general words", 400, `{"error":{"message":"Vision is not supported by this model"}}`, "images"},
	{"images, one picture", 400, `{"error":{"message":"the selected model does not support image."}}`, "images"},
	{"images, too many for a route", 400, `{"error":{"message":"Too many images in request: 54 > 30"}}`, "images"},
	{"images, too many for Claude", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Too much media: 0 document pages + 102 images > 100"}}`, "images"},
	{"images, too many for vLLM", 400, `{"object":"error","message":"At most 1 image(s) may be provided in one request.","type":"BadRequestError","code":400}`, "images"},
	{"images, none for vLLM", 400, `{"object":"error","message":"At most 0 image(s) may be provided in one prompt.","type":"BadRequestError","code":400}`, "images"},
	{"images, too large for Claude", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"}}`, "images"},
	{"images, too many pixels for Claude", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"}}`, "images"},
	{"images, broken, Claude", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}`, "images"},
	{"images, broken, Gemini", 400, `{"error":{"code":400,"message":"Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting","status":"INVALID_ARGUMENT"}}`, "images"},
	{"images, broken, Gemini, other words", 400, `[{"error":{"code":400,"message":"Provided image is not valid","status":"INVALID_ARGUMENT"}}]`, "images"},
	{"images, broken, OpenAI", 400, `{"error":{"message":"You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].","type":"invalid_request_error","code":"invalid_image_format"}}`, "images"},
	{"images, a proxy's limit", 413, `<html><head><title>413 Request Entity Too Large</title></head></html>`, "images"},
	{"not of images, what somebody said, as input", 422, `{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required","input":{"content":"my model does not support image input"}}]}`, ""},
	{"not of images, what somebody said, by pydantic", 422, `{"detail":"1 validation error for Request\nmessages.3.name\n  String should match pattern [type=string_pattern, input_value='it does not support images', input_type=str]"}`, ""},
	{"not of images, what somebody said, quoted", 400, `{"error":{"message":"Invalid value for 'messages[3].content': \"why is image input not supported? it does not support images\" was filtered"}}`, ""},
	{"not of images, what somebody said, in backticks", 400, "{\"error\":{\"message\":\"template failed at `the model does not support images` on line 3\"}}", ""},
	{"not of images, what somebody said, apostrophes", 400, `{"error":{"message":"cannot parse 'that's how it is: my model doesn't support images, it's blind' as JSON"}}`, ""},
	{"not of images, the making of pictures", 400, `{"error":{"message":"This model does not support image generation."}}`, ""},
	{"not of images, pictures as output", 404, `{"error":{"message":"No endpoints found that support the requested output modalities: image, text","code":404}}`, ""},
	{"not of images, tools", 400, `{"error":{"message":"gemma3:12b does not support tools"}}`, "tools"},
	{"not of images, sound", 400, `{"error":{"message":"Audio input modality is not enabled for this model"}}`, ""},
	{"not of images, a revision", 400, `{"error":{"message":"The revision does not support this"}}`, ""},
	{"not of images, an overflow", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens, images included. However, you requested 9001 tokens."}}`, ""},
	{"not of images, a wrong value", 400, `{"error":{"message":"Invalid value: 'image'. Supported values are: 'text' and 'image_url'."}}`, ""},
	{"not of images, a wrong key", 401, `{"error":{"message":"Incorrect API key provided"}}`, ""},
	{"not of images, a failing server", 500, `{"error":{"message":"the image of the container is not available"}}`, ""},
	{"not of images, a name", 404, `{"error":{"message":"The model 'vision-1' does not exist"}}`, ""},
	{"not of images, another part", 400, `{"error":{"message":"tool content must be a list"}}`, ""},
	{"not of tools, a schema", 400, "Invalid schema for function 'recall': In context=('properties', 'query'), 'format' is not supported.", ""},
	{"not of tools, a part of a tool", 400, "Invalid value: 'tools[0].function.strict' is not supported", ""},
	{"not of tools, a name", 400, "Invalid 'tools[0].function.name': string does not match pattern", ""},
	{"not of tools, an unknown call", 400, "tool_call_id call_7 was not found in the messages before it", ""},
	{"not of tools, a result without a call", 400, "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", ""},
	{"not of tools, a call without a result", 400, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.", ""},
	{"not of tools, calls side by side", 400, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.", ""},
	{"not of tools, pictures", 400, "this model does not support image input", "images"},
	{"not of tools, a limit of the answer", 400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", ""},
	{"not of tools, OpenRouter about pictures", 400, "No endpoints found that support image input", "images"},
	{"not of tools, a template", 400, "custom chat templates require --jinja flag", ""},
	{"not of tools, a tool that failed", 400, "the tool server is not available", ""},
}

func TestUnsupportedFieldsAreRecognized(t *testing.T) {
	check.SkipUnderRace(t)
	for _, c := range unsupported {
		t.Run(c.name, func(t *testing.T) {
			err := Refused(c.status, nil, []byte(c.body))
			wrapped := fmt.Errorf("the turn failed: %w", err)
			tools, images := RefusesTools(wrapped), RefusesImages(wrapped)
			check.Equal(t, fmt.Sprintf("%q: classified as a refusal of tools", err), tools, c.says == "tools")
			check.Equal(t, fmt.Sprintf("%q: classified as a refusal of pictures", err), images, c.says == "images")
			if c.says != "" && err.Temporary() {
				t.Errorf("%q: retried unchanged", err)
			}
		})
	}
	for _, err := range []error{nil, errors.New("it does not support tools"), errors.New("it does not support images")} {
		if RefusesTools(err) || RefusesImages(err) || WantsReasoning(err) {
			t.Errorf("%v: got a refusal, want none", err)
		}
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
