package llm

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"
)

// failures are real refusals of servers, and their meanings. want is a part of the sentence for the
// person and a part of the log line.
var failures = []struct {
	name       string
	err        error
	kind       Kind
	said, todo string
}{
	{"OpenAI: no quota", refusedBy(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`), KindQuota, "has no credit", "add credit to the account of TEST_KEY, or raise its spending limit"},
	{"Anthropic: no credit", refusedBy(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`), KindQuota, "has no credit", "add credit"},
	{"Moonshot: no balance", refusedBy(429, `{"error":{"message":"Your account org-1<ak-1> is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}`), KindQuota, "has no credit", "add credit"},
	{"Zhipu: no balance", refusedBy(429, `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`), KindQuota, "has no credit", "add credit"},
	{"DashScope: no balance", refusedBy(400, `{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}`), KindQuota, "has no credit", "add credit"},
	{"xAI: no credit", refusedBy(403, `{"code":"denied","error":"Your team has either used all available credits or reached its monthly budget."}`), KindQuota, "has no credit", "add credit"},
	{"OpenAI: a spending limit", refusedBy(400, `{"error":{"message":"Billing hard limit has been reached"}}`), KindQuota, "has no credit", "add credit"},
	{"Gemini: a limit of a minute", refusedBy(429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 34s.","status":"RESOURCE_EXHAUSTED"}}]`), KindRateLimited, "overloaded right now", "raise the account's rate limit"},
	{"a long wait", &Error{Kind: KindRateLimited, Status: 429, RetryAfter: 30 * 60e9}, KindRateLimited, "ask again in 30 minutes", "wait for 30 minutes"},
	{"overloaded", refusedBy(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), KindOverloaded, "overloaded right now", "ask again later"},
	{"a broken server", refusedBy(500, "panic: nil"), KindOverloaded, "server has problems", "look at the log or the status page of the server"},
	{"too late", &Error{Kind: KindUnreachable, Message: "no whole answer", Err: ErrLate}, KindUnreachable, "took too long", "smaller model"},
	{"nothing listens", &Error{Kind: KindUnreachable, Message: "dial tcp: connection refused"}, KindUnreachable, "cannot reach the model", "start the server at http://there.test/v1"},
	{"half an answer", &Error{Kind: KindTruncated, Message: "EOF"}, KindTruncated, "answer was incomplete", "closed the connection"},
	{"a filtered answer", Located(&Error{Kind: KindFiltered, Message: "the answer has no text"}, Where{Model: "test-model", Address: "http://there.test/v1"}), KindFiltered, "provider's filter", "change the content filter"},
	{"OpenRouter: moderation", refusedBy(403, `{"error":{"message":"Your chosen model requires moderation and your input was flagged","code":403,"metadata":{"reasons":["violence"],"flagged_input":"x"}}}`), KindFiltered, "provider's filter", "change the content filter"},
	{"Anthropic: blocked output, in a stream", refusedBy(0, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`), KindFiltered, "provider's filter", "change the content filter"},
	{"Azure: filtered", refusedBy(400, `{"error":{"code":"content_filter","message":"The response was filtered due to the prompt triggering a policy."}}`), KindFiltered, "provider's filter", "change the content filter"},
	{"DashScope: filtered", refusedBy(400, `{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate words."}}`), KindFiltered, "provider's filter", "change the content filter"},
	{"DeepSeek: filtered", refusedBy(400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}`), KindFiltered, "provider's filter", "change the content filter"},
	{"a wrong key", refusedBy(401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`), KindAuth, "rejects my API key, so I cannot answer. Your message is saved; the bot's operator must check TEST_KEY.", "check TEST_KEY"},
	{"no key", Located(refusedBy(401, `{"error":{"message":"You didn't provide an API key."}}`), Where{Model: "test-model", Address: "http://there.test/v1", Key: "TEST_KEY", NoKey: true}), KindAuth, "requires an API key and I have none, so I cannot answer. Your message is saved; the bot's operator must set TEST_KEY.", "set TEST_KEY"},
	{"OpenAI: unknown model", refusedBy(404, "{\"error\":{\"message\":\"The model `gpt-9` does not exist or you do not have access to it.\",\"code\":\"model_not_found\"}}"), KindUnknownModel, "does not have the model", "set model to one that the server has: near, far"},
	{"Anthropic: unknown model", refusedBy(404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`), KindUnknownModel, "does not have the model", "near, far"},
	{"OpenRouter: unknown model", refusedBy(400, `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`), KindUnknownModel, "does not have the model", "near, far"},
	{"Ollama: unknown model", refusedBy(404, `{"error":{"message":"model \"qwen9\" not found, try pulling it first","type":"api_error"}}`), KindUnknownModel, "does not have the model", "near, far"},
	{"Azure: unknown model", refusedBy(404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource is missing."}}`), KindUnknownModel, "does not have the model", "near, far"},
	{"OpenRouter: a model without providers", refusedBy(404, `{"error":{"message":"No endpoints found for foo/bar.","code":404}}`), KindUnknownModel, "does not have the model", "near, far"},
	{"OpenAI's wrong path", refusedBy(404, `{"error":{"message":"Invalid URL (POST /v1/v1/chat/completions)","type":"invalid_request_error"}}`), KindWrongAddress, "no model at the address", "correct base_url"},
	{"Go's 404", refusedBy(404, "404 page not found\n"), KindWrongAddress, "no model at the address", "correct base_url (http://there.test/v1); most servers have their API under /v1"},
	{"a page with 200", refusedBy(200, "<!doctype html><title>Open WebUI</title>"), KindWrongAddress, "no model at the address", "correct base_url"},
	{"LM Studio's wrong path", refusedBy(200, `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`), KindWrongAddress, "no model at the address", "correct base_url"},
	{"a redirect", refusedBy(301, ""), KindWrongAddress, "no model at the address", "correct base_url"},
	{"no tools", refusedBy(400, `{"error":{"message":"registry/tiny does not support tools"}}`), KindBadRequest, "call tools", "--enable-auto-tool-choice"},
	{"an overflow", refusedBy(400, `{"error":{"message":"This model's maximum context length is 4096 tokens.","code":"context_length_exceeded"}}`), KindOverflow, "too long for the model", "set context_window"},
	{"OpenRouter: no route", refusedBy(404, `{"error":{"message":"No endpoints found that can handle the requested parameters.","code":404}}`), KindBadRequest, "refused my request", "doctor"},
	{"a refusal that quotes a message", refusedBy(400, `{"error":{"message":"bad role in 'what if the prompt was flagged for insufficient funds?'"}}`), KindBadRequest, "refused my request", "doctor"},
	{"a refusal", refusedBy(400, `{"error":{"message":"messages[3]: bad role","type":"invalid_request_error"}}`), KindBadRequest, "refused my request", "doctor"},
}

func refusedBy(status int, body string) error { return Refused(status, http.Header{}, []byte(body)) }

func TestEveryFailureHasARemedy(t *testing.T) {
	where := Where{Model: "test-model", Address: "http://there.test/v1", Key: "TEST_KEY", Offered: []string{"near", "far"}}
	used := map[int]bool{}
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			err := fmt.Errorf("turn 7: %w", Located(f.err, where))
			check.Equal(t, "kind", KindOf(err), f.kind)
			r, ok := RemedyOf(err)
			check.Contains(t, "for people", r.Person, f.said)
			check.That(t, ok && r.Reason != "", "got no reason")
			check.Lacks(t, "sentence for people", r.Person, where.Address, where.Model, "there.test", "HTTP", "near")
			var line bytes.Buffer
			slog.New(slog.NewTextHandler(&line, nil)).Warn("turn_failed", LogAttrs(err)...)
			check.Contains(t, "the log line", strings.ReplaceAll(line.String(), `\"`, `"`),
				"model=test-model", "address=http://there.test/v1", f.todo, string(f.kind))
			var e *Error
			errors.As(err, &e)
			used[slices.IndexFunc(causes, func(c cause) bool { return c.is(e) })] = true
			temporary := []Kind{KindRateLimited, KindOverloaded, KindUnreachable, KindTruncated}
			check.Equal(t, "temporary", e.Temporary(), slices.Contains(temporary, f.kind))
		})
	}
	for i, c := range causes {
		check.That(t, used[i], "no test covers the row %q", c.reason)
	}
}

func TestAFailureIsLocatedOnce(t *testing.T) {
	refused := refusedBy(401, "no")
	first := Located(refused, Where{Model: "a", Address: "http://a"})
	second := Located(first, Where{Model: "b", Address: "http://b"})
	var e *Error
	check.That(t, errors.As(second, &e) && e.Where.Model == "a", "got %v", second)
	check.That(t, errors.As(refused, &e) && e.Where.Model == "", "the input error was changed: %v", refused)
	other := errors.New("other")
	check.Equal(t, "another error was changed", Located(other, Where{Model: "a"}), other)
}

// unsupported are real refusals of servers, and what they reject: "tools", "images", or "" for other failures.
var unsupported = []struct {
	name   string
	status int
	body   string
	says   string
}{
	{"tools, Ollama", 400, `{"error":{"message":"registry.ollama.ai/library/gemma3:12b does not support tools","type":"api_error","param":null,"code":null}}`, "tools"},
	{"tools, OpenRouter", 404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection","code":404}}`, "tools"},
	{"tools, vLLM", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`, "free choice, tools"},
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
	{"images, Ollama, a part is missing", 500, `{"error":{"message":"Failed to create new sequence: failed to process inputs: this model is missing data required for image input","type":"api_error"}}`, "images"},
	{"images, llama-cpp-python", 500, `{"error":{"message":"Image input detected, but the loaded model is not configured with a mmproj module."}}`, "images"},
	{"images, LM Studio", 400, `{"error":"Model does not support images. Please use a model that does."}`, "images"},
	{"images, in general words", 400, `{"error":{"message":"Vision is not supported by this model"}}`, "images"},
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
	{"reasoning", 400, "The `reasoning_content` in the thinking mode must be passed back to the API.", "reasoning"},
	{"reasoning", 400, "Missing `reasoning_content` field in the assistant message at message index 2. For more information, please refer to https://example.org", "reasoning"},
	{"reasoning", 400, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3", "reasoning"},
	{"nothing", 400, "Unknown field: reasoning_content", ""},
	{"nothing", 400, "Extra inputs are not permitted: messages.2.reasoning_content", ""},
	{"nothing", 400, "Unsupported value: 'reasoning_effort' does not support 'minimal'", ""},
	{"free choice", 400, "Thinking mode does not support this tool_choice", "free choice, tools"},
	{"free choice", 400, "The tool_choice parameter does not support being set to required or object in thinking mode", "free choice"},
	{"free choice", 400, "tool_choice: type tool is not supported for this model", "free choice"},
	{"nothing", 400, "messages.2: tool results are missing", ""},
	{"tools, in general words", 400, "this model does not support tools", "tools"},
	{"nothing", 400, "tools[0].function.parameters is not a schema", ""},
}

func TestRejectedFieldsAreRecognized(t *testing.T) {
	check.SkipUnderRace(t)
	for _, c := range unsupported {
		err := Refused(c.status, nil, []byte(c.body))
		wrapped := fmt.Errorf("the turn failed: %w", err)
		check.Equal(t, c.name+": "+err.Message, rejected(wrapped), c.says)
		check.That(t, (c.says == "" || !err.Temporary()) && (!TakesNoImages(err) || RefusesImages(wrapped)), "%s: %q: retried unchanged", c.name, err)
	}
	for _, err := range []error{
		nil, errors.New("it does not support tools"), errors.New("it does not support images"), Refused(500, nil, []byte("a tool server failed")),
		Refused(503, nil, []byte("reasoning_content is missing")), Refused(500, nil, []byte("tool_choice crashed")),
	} {
		check.That(t, rejected(err) == "" && !RefusesImages(err) && (err == nil || KindOf(err) != KindBadRequest), "%v: got a refusal, want none", err)
	}
}

// rejected returns what a refusal is about.
func rejected(err error) string {
	var all []string
	for what, is := range map[string]func(error) bool{"tools": RefusesTools, "images": TakesNoImages, "reasoning": WantsReasoning, "free choice": RefusesForced} {
		if is(err) {
			all = append(all, what)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
