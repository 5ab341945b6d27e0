// How servers say that a prompt is too long, and for which window.

package llm

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"cairn/internal/lazy"
)

// exceedsMinute matches a request with more tokens than the account may use in a minute, OpenAI's
// and Groq's limit of small accounts: it never succeeds, however often it is retried. In other
// refusals because of that limit the used tokens stand between the two numbers.
var exceedsMinute = lazy.Pattern(`(?i)tokens per min(?:ute)? \(tpm\): limit ([\d,]+), requested`)

// overflowTexts match codes and messages that the prompt is too long. They must not match similar
// messages: "context deadline exceeded", or a max_tokens that the model does not support.
var overflowTexts = compileAll(
	`(?m:^(?:context_length_exceeded|exceed_context_size_error|request_too_large)$)`,                     // OpenAI, llama.cpp, Anthropic
	`max\w* (?:context|prompt|model) (?:length|window)|max\w* allowed length \(`,                         // OpenAI, vLLM, xAI, Mistral, SGLang and others
	`(?:exceed|longer than|greater than|only|available)\W?.{0,40}\bcontext (?:window|length|size|limit)`, // OpenAI, Anthropic, Ollama, llama.cpp, SGLang
	`context (?:window|length|size) (?:of only|(?:was |is |has been )?exceed)`,                           // LM Studio, MiniMax
	`(?:prompt|input|request body) (?:is )?too (?:long|large)`,                                           // Anthropic, Bedrock, GitHub
	`(?:input|prompt) tokens? (?:count .{0,60})?exceed|(?:prompt|input) exceeds max`,                     // Gemini, OpenAI, GitHub, Zhipu
	`reduce the length of the (?:messages|prompt|input)`,                                                 // Groq, Cerebras
	`\binputs['\x60] .{0,30}must (?:be|have)|input length (?:should|must) be`,                            // Text Generation Inference, DashScope
)

// limitTexts capture the numbers of which the smallest that is not the prompt's is the window.
var limitTexts = compileAll(
	`(?:length|size|window|allowed)(?: (?:is|of|only)){0,2}[ :(]+([\d,]+)`,
	`(?:limit(?: (?:is|of))?|<=|>|less than):? ([\d,]+)`,
	`with ([\d,]+) max`, // Mistral
)

// promptTexts capture the number of tokens of a prompt that was too long. They must not include the
// tokens requested for the answer.
var promptTexts = compileAll(
	`\(([\d,]+) in (?:the messages|your prompt|the prompt)`,                                           // OpenAI, vLLM
	`(?:resulted in|request contains|request has|prompt contains) ([\d,]+)`,                           // OpenAI, xAI, vLLM, Mistral
	`prompt is too long: ([\d,]+)`,                                                                    // Anthropic
	`exceeds? context limit: ([\d,]+) \+`,                                                             // Anthropic
	`(?:count|request|prompt|input)(?: length| of)? \(?([\d,]+)(?: tokens)?\)? (?:exceeds|is longer)`, // Gemini, llama.cpp, SGLang
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

// saysOverflow reports whether an error's codes or text say that the prompt is too long. The caller
// decides whether the error's status fits.
func saysOverflow(codes []string, text string) bool {
	return exceedsMinute().MatchString(text) || matchesAny(overflowTexts(), strings.Join(append(codes, text), "\n"))
}

// leastNumber returns the smallest number except one that patterns capture in text; 0 if none.
func leastNumber(patterns []*regexp.Regexp, text string, except int) (least int) {
	for _, pattern := range patterns {
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
			if err == nil && n > 0 && n != except && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}
