// How servers say that a prompt is too long, and for which window.

package llm

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cairn/internal/lazy"
)

// overflowCodes are the error codes and types for a prompt that is too long.
var overflowCodes = []string{
	"context_length_exceeded",   // OpenAI and many others
	"exceed_context_size_error", // llama.cpp
	"request_too_large",         // Anthropic
	"context_window_exceeded",
}

// minuteExceeded matches a request with more tokens than the account may use in a minute, OpenAI's
// and Groq's limit of small accounts: it never succeeds, however often it is retried. In other
// refusals because of that limit the used tokens stand between the two numbers.
const minuteExceeded = `tokens per min(?:ute)? \(tpm\): limit ([\d,]+), requested`

var exceedsMinute = lazy.Pattern(`(?i)` + minuteExceeded)

// overflowTexts match messages that the prompt is too long. A group captures the window in tokens
// if the message contains it. They must not match similar messages: "context deadline exceeded", or
// a max_tokens that the model does not support.
var overflowTexts = compileAll(
	minuteExceeded,
	`maximum context length (?:is|of) ([\d,]+)`,                                                                        // OpenAI, vLLM, DeepSeek, OpenRouter
	`with ([\d,]+) maximum context length`,                                                                             // Mistral
	`maximum model length of ([\d,]+)`,                                                                                 // vLLM
	`exceeds? the configured limit of ([\d,]+) tokens`,                                                                 // OpenAI
	`prompt is too long(?:: [\d,]+ tokens > ([\d,]+))?`,                                                                // Anthropic
	`exceeds? context limit: [\d,]+ \+ [\d,]+ > ([\d,]+)`,                                                              // Anthropic
	`input token count \(?[\d,]+\)? exceeds the maximum number of tokens allowed \(?([\d,]+)`,                          // Gemini
	`maximum prompt length is ([\d,]+)`,                                                                                // xAI
	`number of tokens in the prompt cannot exceed ([\d,]+)`,                                                            // Cohere
	`context length of only ([\d,]+)`,                                                                                  // LM Studio
	`exceeded model token limit:? ?([\d,]+)?`,                                                                          // Moonshot
	`reduce the length of the (?:messages|prompt|input)`,                                                               // Groq
	`exceed\w*(?: the| this)? available context size(?: \(([\d,]+))?`,                                                  // llama.cpp
	`exceed\w*(?: the| this| your)?(?: model'?s?)?(?: max\w*)? context (?:window|length|size)(?: (?:of|is) ([\d,]+))?`, // OpenAI, Ollama
	`context (?:window|length|size) (?:was |is |has been )?exceeded`,
	`longer than the model's context length \(([\d,]+)`,                                     // SGLang
	`exceeds the maximum allowed length \(([\d,]+)`,                                         // SGLang
	`inputs['\x60]? (?:tokens \+ .max_new_tokens. )?must (?:be <=|have less than) ([\d,]+)`, // Text Generation Inference
	`range of input length should be \[1, ([\d,]+)`,                                         // DashScope
	`prompt token count of [\d,]+ exceeds the limit of ([\d,]+)`,                            // GitHub
	`request body too large for .{1,100} max size: ([\d,]+) tokens`,                         // GitHub
	`model maximum context length: ([\d,]+)`,                                                // Fireworks
	`current length is [\d,]+ while limit is ([\d,]+)`,                                      // Cerebras
	`prompt exceeds max length`,                                                             // Zhipu
	`context window exceeds limit`,                                                          // MiniMax; the number behind it is a code
	`greater than the context length`,                                                       // LM Studio
	`input is too long`,                                                                     // Bedrock
)

// compileAll compiles patterns on first use: most runs of the program never see a refusal, and
// compiling takes time at every start.
func compileAll(patterns ...string) func() []*regexp.Regexp {
	return sync.OnceValue(func() []*regexp.Regexp {
		compiled := make([]*regexp.Regexp, len(patterns))
		for i, pattern := range patterns {
			compiled[i] = regexp.MustCompile(`(?i)` + pattern)
		}
		return compiled
	})
}

// overflow reports whether an error's codes or text say that the prompt is too long; limit is the
// window in tokens, 0 if the text does not contain it. The caller decides whether the error's
// status fits.
func overflow(codes []string, text string) (limit int, ok bool) {
	limit, ok = numberIn(overflowTexts(), text)
	return limit, ok || slices.ContainsFunc(codes, func(code string) bool { return slices.Contains(overflowCodes, code) })
}

// numberIn returns the first number that patterns capture in text, 0 if none; matches reports whether
// one of them matches.
func numberIn(patterns []*regexp.Regexp, text string) (n int, matches bool) {
	for _, pattern := range patterns {
		found := pattern.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		matches = true
		for _, group := range found[1:] {
			if n, err := strconv.Atoi(strings.ReplaceAll(group, ",", "")); err == nil && n > 0 {
				return n, true
			}
		}
	}
	return 0, matches
}

// promptTexts capture the number of tokens of a prompt that was too long. They must not include the
// tokens requested for the answer.
var promptTexts = compileAll(
	`\(([\d,]+) in (?:the messages|your prompt|the prompt)`,             // OpenAI, vLLM
	`messages resulted in ([\d,]+) tokens`,                              // OpenAI
	`prompt is too long: ([\d,]+)`,                                      // Anthropic, Fireworks
	`exceeds? context limit: ([\d,]+) \+`,                               // Anthropic
	`input token count \(?([\d,]+)\)? exceeds`,                          // Gemini
	`maximum prompt length is [\d,]+ but the request contains ([\d,]+)`, // xAI
	`prompt contains ([\d,]+) tokens`,                                   // Mistral
	`\binput (?:length )?\(([\d,]+) tokens\)`,                           // SGLang
	`Given: ([\d,]+)`,                                                   // Text Generation Inference
	`prompt token count of ([\d,]+)`,                                    // GitHub
	`current length is ([\d,]+)`,                                        // Cerebras
	`(?:prompt|request) \((?:length )?([\d,]+)(?: tokens)?\)`,           // vLLM, llama.cpp
	`your request has ([\d,]+) input tokens`,                            // vLLM
	`keep the first ([\d,]+) tokens`,                                    // LM Studio
)
