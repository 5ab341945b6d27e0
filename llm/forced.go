// How a server says that it cannot be made to call one tool.

package llm

import "errors"

// noForcedTexts are the words that mean it: the choice of a tool is refused, not tools.
var noForcedTexts = compileAll(
	`\btool[_ ]choice\b`,           // DeepSeek, DashScope, OpenAI, vLLM, llama.cpp
	`\bforc\w+ (?:a |the )?tools?`, // Anthropic
	`\bfunction_call\b.{0,60}not support`,
)

// RefusesForced reports whether err, of a request that forced a tool, is a provider's
// refusal because of that: the request may succeed with a free choice.
func RefusesForced(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == KindBadRequest && matchesAny(noForcedTexts, e.Message)
}
