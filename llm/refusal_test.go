package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/internal/check"
)

func TestRefusalsBecomeErrors(t *testing.T) {
	for name, c := range map[string]struct {
		status        int
		body          string
		kind          Kind
		limit, prompt int
		message       string // "": any
	}{
		"a string":                 {404, `{"error":"model 'x' not found, try pulling it first"}`, KindUnknownModel, 0, 0, "model 'x' not found, try pulling it first"},
		"a list":                   {403, `[{"error":{"code":403,"message":"no permission","status":"PERMISSION_DENIED"}}]`, KindAuth, 0, 0, "no permission"},
		"a message that is a list": {400, `{"error":{"message":["one","two"]}}`, KindBadRequest, 0, 0, "one: two"},
		"a detail":                 {422, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"value_error.missing"}]}`, KindBadRequest, 0, 0, "field required (at [body messages])"},
		"JSON in a string":         {502, `{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":\"upstream is down\"}"}}}`, KindOverloaded, 0, 0, "Provider returned error: upstream is down"},
		"a page":                   {502, "<html><head><style>p{}</style><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>", KindOverloaded, 0, 0, "<html><head><style>p{}</style><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"},
		"nothing":                  {500, "", KindOverloaded, 0, 0, "Internal Server Error"},
		"no credit":                {402, `{"error":{"message":"Insufficient credits","code":402}}`, KindQuota, 0, 0, "Insufficient credits"},
		"200 with a code":          {200, `{"error":{"message":"slow down","code":429}}`, KindRateLimited, 0, 0, "slow down"},
		"200 nobody can sort":      {200, `{"error":"something broke"}`, KindOverloaded, 0, 0, "something broke"},

		"OpenAI, words only":                    {400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (8001 in the messages, 1000 in the completion)."}}`, KindOverflow, 8192, 8001, ""},
		"OpenAI, configured limit":              {400, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300,100 tokens."}}`, KindOverflow, 272000, 300100, ""},
		"Anthropic":                             {400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 215023 tokens > 200000 maximum"}}`, KindOverflow, 200000, 215023, ""},
		"Anthropic, with the answer":            {400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 197000 + 8192 > 200000, decrease input length or ` + "`max_tokens`" + ` and try again"}}`, KindOverflow, 200000, 197000, ""},
		"Bedrock":                               {400, `{"message":"Input is too long for requested model."}`, KindOverflow, 0, 0, ""},
		"LM Studio":                             {400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, KindOverflow, 4096, 0, ""},
		"SGLang":                                {400, `{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (8192 tokens).","type":"BadRequestError","code":400}`, KindOverflow, 8192, 9000, ""},
		"GitHub":                                {400, `{"error":{"message":"prompt token count of 138898 exceeds the limit of 64000","code":"model_max_prompt_tokens_exceeded"}}`, KindOverflow, 64000, 138898, ""},
		"Gemini, a list":                        {400, `[{"error":{"code":400,"message":"The input token count (1200033) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`, KindOverflow, 1048575, 1200033, ""},
		"xAI":                                   {400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 140229 tokens."}`, KindOverflow, 131072, 140229, ""},
		"Groq":                                  {400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages"}}`, KindOverflow, 0, 0, ""},
		"llama.cpp with n_ctx":                  {400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5001,"n_ctx":4096}}`, KindOverflow, 4096, 5001, ""},
		"llama.cpp, words only":                 {400, `{"error":"the request (5001 tokens) exceeds the available context size (4096 tokens), try increasing it"}`, KindOverflow, 4096, 5001, ""},
		"Ollama":                                {400, `{"error":{"message":"the input length exceeds the context length","type":"invalid_request_error"}}`, KindOverflow, 0, 0, ""},
		"Mistral":                               {400, `{"object":"error","message":"Prompt contains 40001 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt"}`, KindOverflow, 32768, 40001, ""},
		"vLLM":                                  {400, `{"error":{"message":"You passed 3073 input tokens and requested 128000 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 3072 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=3073)","type":"BadRequestError","param":"input_tokens","code":400}}`, KindOverflow, 131072, 0, ""},
		"vLLM, older":                           {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.","type":"BadRequestError","code":400}`, KindOverflow, 4096, 5000, ""},
		"SGLang, by its memory":                 {400, `{"object":"error","message":"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate."}`, KindOverflow, 59862, 160062, ""},
		"Text Generation Inference":             {422, "{\"error\":\"Input validation error: `inputs` must have less than 4095 tokens. Given: 5000\",\"error_type\":\"validation\"}", KindOverflow, 4095, 0, ""},
		"DashScope":                             {400, `{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"}}`, KindOverflow, 0, 0, ""},
		"Zhipu":                                 {400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, KindOverflow, 0, 0, ""},
		"MiniMax, with a code":                  {400, `{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)","http_code":"400"}}`, KindOverflow, 0, 0, ""},
		"OpenRouter, in what its provider said": {400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 201000 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`, KindOverflow, 200000, 201000, ""},
		"OpenAI, more than a minute's tokens":   {429, `{"error":{"message":"Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}`, KindOverflow, 30000, 0, ""},
		"Groq, more than a minute's tokens":     {413, `{"error":{"message":"Request too large for model ` + "`x`" + ` in organization ` + "`org_1`" + ` service tier ` + "`on_demand`" + ` on tokens per minute (TPM): Limit 12000, Requested 13921, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`, KindOverflow, 12000, 0, ""},
		"inside a stream, without a status":     {0, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":2048}}`, KindOverflow, 2048, 0, ""},

		"a deadline of a context":           {500, `{"error":{"message":"context deadline exceeded (Client.Timeout exceeded while awaiting headers)"}}`, KindOverloaded, 0, 0, ""},
		"the length of a field":             {400, `{"error":{"message":"messages.0.name: exceeds the maximum allowed length of 64"}}`, KindBadRequest, 0, 0, ""},
		"a deadline inside a stream":        {0, `{"error":{"message":"context deadline exceeded"}}`, KindOverloaded, 0, 0, ""},
		"tokens per minute":                 {429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29937, Requested 385. Please try again in 644ms. Please reduce the length of the messages.","code":"rate_limit_exceeded"}}`, KindRateLimited, 0, 0, ""},
		"tokens per minute inside a stream": {0, `{"error":{"message":"Please reduce the length of the messages.","code":"rate_limit_exceeded"}}`, KindRateLimited, 0, 0, ""},
		"a failing server":                  {503, `{"error":{"message":"maximum context length is 10 tokens"}}`, KindOverloaded, 0, 0, ""},
		"max_tokens alone":                  {400, `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.","param":"max_tokens"}}`, KindBadRequest, 0, 0, ""},
		"invalid parameter":                 {400, `{"error":{"code":"InvalidParameter","message":"Range of max_tokens should be [1, 8192]"}}`, KindBadRequest, 0, 0, ""},
		"a filter that speaks of a limit":   {400, `{"error":{"message":"the value exceeds the limit of 100 characters"}}`, KindBadRequest, 0, 0, ""},
		"a wrong key":                       {401, `{"error":{"message":"the prompt is too long ago forgotten key is invalid"}}`, KindAuth, 0, 0, ""},
	} {
		err := Refused(c.status, nil, []byte(c.body))
		check.Equal(t, name, fmt.Sprint(err.Kind, err.Limit, PromptOf(err)), fmt.Sprint(c.kind, c.limit, c.prompt))
		check.That(t, c.message == "" || err.Message == c.message, "%s: got %q, want %q", name, err.Message, c.message)
		check.That(t, c.kind != KindOverflow || !err.Temporary(), "%s: it is retried", name)
	}
}

func TestRetryAfterForms(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"1.5": 1500 * time.Millisecond, "Fri, 01 May 2026 12:00:30 GMT": 30 * time.Second, "Fri, 01 May 2026 11:00:00 GMT": 0,
		"-3": 0, "soon": 0, "NaN": 0, "1e300": mostRetryAfter, "Fri, 01 May 2326 12:00:00 GMT": mostRetryAfter,
	} {
		header := http.Header{"Retry-After": {value}, "Date": {now.Format(http.TimeFormat)}} // the clock here may be wrong
		check.Equal(t, value, retryAfter(header, now.Add(3*time.Hour)), want)
	}
}

func TestRetryAfterInTheBody(t *testing.T) {
	for body, want := range map[string]time.Duration{
		`{"error":{"message":"Limit 30000, Used 29937, Requested 385. Please try again in 644ms."}}`: 644 * time.Millisecond,
		`{"error":{"message":"Rate limit reached. Please try again in 1m26.4s. Visit x"}}`:           86400 * time.Millisecond,
		`{"error":{"message":"Please retry in 34s."}}`:                                               34 * time.Second,
		`{"error":{"message":"Please retry after 20 seconds."}}`:                                     20 * time.Second,
		`{"error":{"message":"slow down; see try again in 1000000h"}}`:                               mostRetryAfter,
		`{"error":{"message":"try again in -5s, in s, in 1.2.3s","retryDelay":-3}}`:                  0,
	} {
		check.Equal(t, body, Refused(429, nil, []byte(body)).RetryAfter, want)
	}
	header := http.Header{"Retry-After": {"7"}}
	check.Equal(t, "header and body", Refused(429, header, []byte(`{"error":"try again in 20s"}`)).RetryAfter, 7*time.Second)
	check.Equal(t, "a bad request", Refused(400, nil, []byte(`{"error":"the tool said: try again in 20s"}`)).RetryAfter, 0)
}

func TestClipKeepsValidText(t *testing.T) {
	for _, text := range []string{strings.Repeat("\x80", 900), strings.Repeat("語", 900), strings.Repeat("a", 499) + "語語"} {
		got := Clip(text)
		check.That(t, len(got) <= 510 && utf8.ValidString(got), "%q…: got %d bytes", text[:6], len(got))
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add(400, `{"error":{"message":"x","code":400}}`)
	f.Add(0, `[[["{\"error\":\"[1,2]\"}"]]]`)
	f.Add(200, "<p>page")
	f.Fuzz(func(t *testing.T, status int, body string) {
		err := Refused(status, nil, []byte(body))
		check.That(t, err.Kind != "" && utf8.ValidString(err.Message) && err.Limit >= 0, "refusal of %q: %#v", body, err)
	})
}

// TestLongRefusalIsClassifiedByItsStart: only the start is searched.
func TestLongRefusalIsClassifiedByItsStart(t *testing.T) {
	check.SkipUnderRace(t)
	var many []string
	for i := range 50_000 {
		many = append(many, fmt.Sprint("word ", i))
	}
	body := check.Must(json.Marshal(map[string]any{"error": many}))(t)
	n := len(strings.Join(parseComplaint(body).words, " "))
	check.That(t, n <= maxExamined+10, "got %d bytes searched", n)
}
