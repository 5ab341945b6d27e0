package openai_test

import (
	"bytes"
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// useResponses is OpenAI's refusal of tools on chat completions.
const useResponses = "Function tools with reasoning_effort are not supported for gpt-5.6-terra in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."

func TestProtocolIsLearnedFromRefusal(t *testing.T) {
	onChat := func(text string) func(*llmtest.Exchange) {
		return llmtest.Refusing(text, func(r llmtest.Request) bool { return r.Wire == llm.WireChat })
	}
	gone := func(x *llmtest.Exchange) { // xAI, for some accounts
		if x.Request.Wire == llm.WireChat {
			x.Reject(http.StatusGone, "gone", "This endpoint is deprecated.")
			return
		}
		x.Say("ok")
	}
	for name, c := range map[string]struct {
		answer  func(*llmtest.Exchange)
		options openai.Options
		speaks  []string // nil: all
		known   string   // the demand known before
		asked   string   // in two requests
		changes int
		kind    llm.Kind
	}{
		"a chat that names the path":                  {onChat(useResponses), openai.Options{}, nil, "", "chat responses responses", 1, ""},
		"a chat that names the interface":             {onChat("This model requires the Responses API."), openai.Options{}, nil, "", "chat responses responses", 1, ""},
		"a chat that refuses tools":                   {onChat("Function tools with reasoning_effort are not supported."), openai.Options{}, nil, "", "chat responses responses", 1, ""},
		"a chat that is gone":                         {gone, openai.Options{}, nil, "", "chat responses responses", 1, ""},
		"a server without Responses is asked on chat": {ok, openai.Options{}, []string{llm.WireChat}, llm.WireResponses, "chat chat", 1, ""},
		"back again, and no further":                  {onChat(useResponses), openai.Options{MaxRetries: 3}, []string{llm.WireChat}, llm.WireChat, "chat chat chat chat", 4, llm.KindBadRequest},
		"not from the protocol that is set":           {onChat(useResponses), openai.Options{Wire: llm.WireChat}, []string{llm.WireChat}, llm.WireChat, "chat chat", 0, llm.KindBadRequest},
	} {
		server := llmtest.Serve(t, c.answer)
		server.Speak(c.speaks...)
		options, log := logged(c.options)
		options.Notebook = new(llm.Notebook)
		model := connect(t, server, options)
		model.Learned().Learn(func(f *llm.Facts) { f.Wire = c.known })
		check.Equal(t, name+": first protocol", model.Wire(), cmp.Or(c.known, llm.WireChat))
		for range 2 {
			check.Equal(t, name, llm.KindOf(check.ErrorOf(model.Generate(t.Context(), hello, nil))), c.kind)
		}
		var asked []string // in valid requests
		for _, r := range server.Requests() {
			asked = append(asked, r.Wire)
		}
		check.Equal(t, name+": asked", strings.Join(asked, " "), c.asked)
		check.Equal(t, name+": log lines", strings.Count(log.String(), "wire_changed"), c.changes)
		check.Equal(t, name+": protocol after a restart", connect(t, server, options).Wire(), asked[len(asked)-1])
	}
}

func TestAddressWithoutV1(t *testing.T) {
	server := llmtest.Serve(t, ok)
	for _, model := range []string{"m", ""} {
		options, log := logged(openai.Options{BaseURL: strings.TrimSuffix(server.URL, "/v1"), Model: model, MaxRetries: -1})
		m := check.Must(openai.New(options))(t)
		twice(t, m, hello)
		check.Equal(t, "warnings", strings.Count(log.String(), "level=WARN"), 1)
		check.Contains(t, "log", log.String(), "works="+server.URL)
		check.Len(t, "the models", check.Must(m.Models(t.Context()))(t), 1)
	}
	// The other form is used only where it exists, and its error tells more.
	for unauthorized, c := range map[string]struct {
		kind  llm.Kind
		posts []string
	}{
		"none": {llm.KindWrongAddress, []string{"/chat/completions", "/chat/completions"}},
		"/v1/": {llm.KindAuth, []string{"/chat/completions", "/v1/chat/completions", "/v1/chat/completions"}},
	} {
		var posts []string
		locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				posts = append(posts, r.URL.Path)
			}
			if strings.HasPrefix(r.URL.Path, unauthorized) {
				http.Error(w, `{"error":{"message":"wrong key","code":"invalid_api_key"}}`, http.StatusUnauthorized)
				return
			}
			http.NotFound(w, r)
		}))
		m := check.Must(openai.New(openai.Options{BaseURL: locked.URL, Model: "m", MaxRetries: -1}))(t)
		for range 2 {
			check.Equal(t, "error kind", llm.KindOf(check.ErrorOf(m.Generate(t.Context(), hello, nil))), c.kind)
		}
		check.EqualAll(t, "requests", posts, c.posts)
		locked.Close()
	}
}

func TestRefusedReasoningEffortBecomesNearest(t *testing.T) {
	for name, c := range map[string]struct {
		wanted, refusal, want string
	}{
		"the least":      {"none", "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'low', 'medium', and 'high'.", "low"},
		"the most":       {"max", "Unsupported value: 'max' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.", "high"},
		"not at all":     {"high", "Unsupported parameter: 'reasoning_effort' is not supported with this model.", ""},
		"Mistral":        {"low", `{"detail":[{"type":"extra_forbidden","loc":["body","reasoning_effort"],"msg":"Extra inputs are not permitted","input":"low"}]}`, ""},
		"no list":        {"xhigh", "Invalid value for reasoning effort: must be low, medium or high", "high"},
		"two as near":    {"medium", "Unsupported value: 'medium' is not supported. Supported values are: 'low' and 'high'.", "low"},
		"as in a schema": {"minimal", "reasoning_effort: Input should be 'low', 'medium' or 'high'", "low"},
	} {
		for _, wire := range []string{llm.WireChat, llm.WireResponses} {
			sent := func(r llmtest.Request) string {
				return string(r.Body["reasoning_effort"]) + string(r.Body["reasoning"])
			}
			server := llmtest.Serve(t, llmtest.Refusing(c.refusal, func(r llmtest.Request) bool { return strings.Contains(sent(r), `"`+c.wanted+`"`) }))
			options, log := logged(openai.Options{Wire: wire})
			req := hello
			req.Reasoning = c.wanted
			twice(t, connect(t, server, options), req)
			requests := server.Requests()
			want := `"` + c.want + `"`
			check.Len(t, name+", "+wire+": requests", requests, 3)
			if wire == llm.WireResponses {
				want = `{"effort":` + want + `}`
			}
			got := sent(requests[2])
			check.That(t, got == want || got+c.want == "", "%s, %s: sent %s", name, wire, got)
			check.Equal(t, name+", "+wire+": log lines", strings.Count(log.String(), "reasoning_refused"), 1)
		}
	}
}

func TestRefusedFieldIsOmitted(t *testing.T) {
	for name, c := range map[string]struct{ base, model, refusal string }{
		"stream_options":          {"", "", "Unknown field: stream_options"},
		"max_tokens":              {"", "", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
		"include":                 {atOpenAI, "gpt-4o", "Encrypted content is not supported with this model."},
		"prompt_cache_retention":  {atOpenAI, "gpt-5.1", "prompt_cache_retention is not supported on this model"},
		"prompt_cache_breakpoint": {atOpenAI, "gpt-6-sol", "Unknown parameter: 'input[0].content[1].prompt_cache_breakpoint'."},
		"prompt_cache_key":        {atOpenAI, "gpt-5.1", "Unsupported parameter: prompt_cache_key"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Serve(t, llmtest.Refusing(c.refusal, func(r llmtest.Request) bool { return bytes.Contains(r.Raw, []byte(`"`+name+`"`)) }))
			model := connect(t, server, openai.Options{BaseURL: c.base, Model: c.model})
			before := model.CacheTTL()
			req := conversation(2)
			req.MaxTokens = 100
			twice(t, model, req)
			requests := server.Requests()
			check.Len(t, "requests", requests, 3)
			check.Equal(t, "limit of the answer", requests[2].MaxTokens, requests[0].MaxTokens)
			cache := name == "prompt_cache_retention" || name == "prompt_cache_breakpoint"
			check.That(t, cache == (model.CacheTTL() < before), "the lifetime of the cache is %v, was %v", model.CacheTTL(), before)
		})
	}
	const demand = "The `reasoning_content` in the thinking mode must be passed back to the API." // of what the caller has
	model := connect(t, llmtest.Serve(t, llmtest.Refusing(demand, func(llmtest.Request) bool { return true })), openai.Options{})
	err := check.ErrorOf(model.Generate(t.Context(), hello, nil))
	check.That(t, llm.WantsReasoning(err) && model.Learned().Facts().WantsReasoning, "got %v, %+v", err, model.Learned().Facts())
}

// TestRefusedCacheKeyIsOmitted: it goes to every server, and servers refuse a field in many words.
func TestRefusedCacheKeyIsOmitted(t *testing.T) {
	for refusal, requests := range map[string]int{
		`Invalid JSON payload received. Unknown name "prompt_cache_key": Cannot find field.`:                                             3, // Gemini
		"property 'prompt_cache_key' is unsupported":                                                                                     3, // Groq
		`{"detail":[{"type":"extra_forbidden","loc":["body","prompt_cache_key"],"msg":"Extra inputs are not permitted","input":"key"}]}`: 3, // FastAPI
		"Unrecognized request argument supplied: prompt_cache_key":                                                                       3,
		"The request has unknown fields.":                                                                                                3,
		"Unknown field: 'temperature'":                                                                                                   2, // not this one
	} {
		server := llmtest.Serve(t, llmtest.Refusing(refusal, func(r llmtest.Request) bool { return r.Body["prompt_cache_key"] != nil }))
		model := connect(t, server, openai.Options{})
		req := conversation(1)
		for range 2 {
			err := check.ErrorOf(model.Generate(t.Context(), req, nil))
			check.Equal(t, refusal+": refused", err != nil, requests == 2)
		}
		check.Len(t, refusal+": requests", server.Requests(), requests)
	}
}

// TestReasoningHasExtraTokens: providers count it as answer.
func TestReasoningHasExtraTokens(t *testing.T) {
	for name, c := range map[string]struct {
		options openai.Options
		req     llm.Request
		thinks  bool
		bounds  []int // of the answers, by request
	}{
		"on chat once the model has reasoned": {openai.Options{}, llm.Request{}, true, []int{100, 100 + 8192}},
		"no more than the window has":         {openai.Options{}, llm.Request{Spare: 50, Reasoning: "high"}, false, []int{150, 150}},
		"none without reasoning":              {onResponses, llm.Request{Reasoning: "none"}, false, []int{100, 100}},
		"no less than Responses accepts":      {onResponses, llm.Request{Reasoning: "none", MaxTokens: 5}, false, []int{16, 16}},
	} {
		server := llmtest.Serve(t, func(x *llmtest.Exchange) {
			if c.thinks {
				x.Think("so")
			}
			x.Say("ok")
		})
		c.req.Messages, c.req.MaxTokens = hello.Messages, cmp.Or(c.req.MaxTokens, 100)
		twice(t, connect(t, server, c.options), c.req)
		var bounds []int
		for _, r := range server.Requests() {
			bounds = append(bounds, r.MaxTokens)
		}
		check.EqualAll(t, name, bounds, c.bounds)
	}
}
