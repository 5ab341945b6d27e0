// How a server says that a prompt is too long, and for which window.

package llm

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// overflowCodes are the codes and types of errors that mean it.
var overflowCodes = []string{
	"context_length_exceeded",   // OpenAI and many others
	"exceed_context_size_error", // llama.cpp
	"request_too_large",         // Anthropic
	"context_window_exceeded",
}

// overflowTexts are the words that mean it. A group holds the window in tokens
// where the words tell it. They must not match what only sounds like it: "context
// deadline exceeded", or a max_tokens the model does not support.
var overflowTexts = compileAll(
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
	`greater than the context length`, // LM Studio
	`input is too long`,               // Bedrock
)

// compileAll compiles patterns when they are first asked for: most programs never are refused
// anything, and all of them start.
func compileAll(patterns ...string) func() []*regexp.Regexp {
	return sync.OnceValue(func() []*regexp.Regexp {
		compiled := make([]*regexp.Regexp, len(patterns))
		for i, pattern := range patterns {
			compiled[i] = regexp.MustCompile(`(?i)` + pattern)
		}
		return compiled
	})
}

// overflow reports whether an error of these codes and words says that the prompt
// is too long; limit is the window in tokens, 0 if the text does not name it. Whether the
// error's status allows it is the caller's to judge.
func overflow(codes []string, text string) (limit int, ok bool) {
	ok = slices.ContainsFunc(codes, func(code string) bool { return slices.Contains(overflowCodes, code) })
	for _, pattern := range overflowTexts() {
		found := pattern.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		ok = true
		for _, group := range found[1:] {
			if n, err := strconv.Atoi(strings.ReplaceAll(group, ",", "")); err == nil && n > 0 {
				return n, true
			}
		}
	}
	return 0, ok
}

// promptTexts tell how many tokens the prompt of an overflow had. What was asked for
// the answer must not count among them.
var promptTexts = compileAll(
	`\(([\d,]+) in (?:the messages|your prompt|the prompt)`,             // OpenAI, vLLM
	`messages resulted in ([\d,]+) tokens`,                              // OpenAI
	`prompt is too long: ([\d,]+) tokens`,                               // Anthropic
	`exceeds? context limit: ([\d,]+) \+`,                               // Anthropic
	`input token count \(?([\d,]+)\)? exceeds`,                          // Gemini
	`maximum prompt length is [\d,]+ but the request contains ([\d,]+)`, // xAI
	`prompt contains ([\d,]+) tokens`,                                   // Mistral
	`(?:prompt|request) \((?:length )?([\d,]+)(?: tokens)?\)`,           // vLLM, llama.cpp
	`your request has ([\d,]+) input tokens`,                            // vLLM
	`keep the first ([\d,]+) tokens`,                                    // LM Studio
)

// promptOf is how many tokens the prompt had, as the words of an overflow or a number
// beside them tell; 0: they do not.
func promptOf(text string, said complaint) int {
	for _, pattern := range promptTexts() {
		if found := pattern.FindStringSubmatch(text); found != nil {
			if n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", "")); err == nil {
				return n
			}
		}
	}
	return said.prompt
}
