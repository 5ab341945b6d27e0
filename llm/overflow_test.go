package llm

import (
	"testing"

	"cairn/internal/check"
)

func TestOverflowIsRecognised(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		limit  int
		prompt int
	}{
		"OpenAI by code":                        {400, `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}`, 0, 0},
		"OpenAI, words only":                    {400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (8001 in the messages, 1000 in the completion)."}}`, 8192, 8001},
		"OpenAI, configured limit":              {400, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300,100 tokens."}}`, 272000, 300100},
		"Anthropic":                             {400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 215023 tokens > 200000 maximum"}}`, 200000, 215023},
		"Anthropic, with the answer":            {400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 197000 + 8192 > 200000, decrease input length or ` + "`max_tokens`" + ` and try again"}}`, 200000, 197000},
		"Gemini, a list":                        {400, `[{"error":{"code":400,"message":"The input token count (1200033) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`, 1048575, 1200033},
		"xAI":                                   {400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 140229 tokens."}`, 131072, 140229},
		"Groq":                                  {400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages"}}`, 0, 0},
		"llama.cpp with n_ctx":                  {400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5001,"n_ctx":4096}}`, 4096, 5001},
		"llama.cpp, words only":                 {400, `{"error":"the request (5001 tokens) exceeds the available context size (4096 tokens), try increasing it"}`, 4096, 5001},
		"Ollama":                                {400, `{"error":{"message":"the input length exceeds the context length","type":"invalid_request_error"}}`, 0, 0},
		"Mistral":                               {400, `{"object":"error","message":"Prompt contains 40001 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt"}`, 32768, 40001},
		"vLLM":                                  {400, `{"error":{"message":"You passed 3073 input tokens and requested 128000 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 3072 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=3073)","type":"BadRequestError","param":"input_tokens","code":400}}`, 131072, 0},
		"vLLM, older":                           {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.","type":"BadRequestError","code":400}`, 4096, 5000},
		"SGLang, by its memory":                 {400, `{"object":"error","message":"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate."}`, 59862, 160062},
		"Text Generation Inference":             {422, "{\"error\":\"Input validation error: `inputs` must have less than 4095 tokens. Given: 5000\",\"error_type\":\"validation\"}", 4095, 0},
		"DashScope":                             {400, `{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"}}`, 0, 0},
		"Zhipu":                                 {400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, 0, 0},
		"MiniMax, with a code":                  {400, `{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)","http_code":"400"}}`, 0, 0},
		"OpenRouter, in what its provider said": {400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 201000 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`, 200000, 201000},
		"OpenAI, more than a minute's tokens":   {429, `{"error":{"message":"Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}`, 30000, 0},
		"Groq, more than a minute's tokens":     {413, `{"error":{"message":"Request too large for model ` + "`x`" + ` in organization ` + "`org_1`" + ` service tier ` + "`on_demand`" + ` on tokens per minute (TPM): Limit 12000, Requested 13921, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`, 12000, 0},
		"inside a stream, without a status":     {0, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":2048}}`, 2048, 0},
	} {
		t.Run(name, func(t *testing.T) {
			err := Refused(c.status, nil, []byte(c.body))
			check.Equal(t, "kind of the error", err.Kind, KindOverflow)
			check.Equal(t, "limit", err.Limit, c.limit)
			check.Equal(t, "prompt", PromptOf(err), c.prompt)
			check.That(t, !err.Temporary(), "got a temporary failure, want one that is not retried unchanged")
		})
	}
}

func TestOtherFailuresAreNoOverflow(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		kind   Kind
	}{
		"a deadline of a context":           {500, `{"error":{"message":"context deadline exceeded (Client.Timeout exceeded while awaiting headers)"}}`, KindOverloaded},
		"the length of a field":             {400, `{"error":{"message":"messages.0.name: exceeds the maximum allowed length of 64"}}`, KindBadRequest},
		"a deadline with 400":               {400, `{"error":{"message":"context deadline exceeded"}}`, KindBadRequest},
		"a deadline inside a stream":        {0, `{"error":{"message":"context deadline exceeded"}}`, KindOverloaded},
		"tokens per minute":                 {429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29937, Requested 385. Please try again in 644ms. Please reduce the length of the messages.","code":"rate_limit_exceeded"}}`, KindRateLimited},
		"tokens per minute inside a stream": {0, `{"error":{"message":"Please reduce the length of the messages.","code":"rate_limit_exceeded"}}`, KindRateLimited},
		"a failing server":                  {503, `{"error":{"message":"maximum context length is 10 tokens"}}`, KindOverloaded},
		"max_tokens alone":                  {400, `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.","param":"max_tokens"}}`, KindBadRequest},
		"invalid parameter":                 {400, `{"error":{"code":"InvalidParameter","message":"Range of max_tokens should be [1, 8192]"}}`, KindBadRequest},
		"a filter that speaks of a limit":   {400, `{"error":{"message":"the value exceeds the limit of 100 characters"}}`, KindBadRequest},
		"a wrong key":                       {401, `{"error":{"message":"the prompt is too long ago forgotten key is invalid"}}`, KindAuth},
	} {
		t.Run(name, func(t *testing.T) {
			err := Refused(c.status, nil, []byte(c.body))
			check.Equal(t, "kind of the error", err.Kind, c.kind)
			check.Equal(t, "limit", err.Limit, 0)
		})
	}
}
