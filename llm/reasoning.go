// How a server says that it demands a model's reasoning back.

package llm

import "errors"

// wantsReasoningTexts are the words that mean it.
var wantsReasoningTexts = compileAll(
	`reasoning_content\b.{0,60}(?:must be (?:passed|sent|provided|returned)|is (?:missing|required))`, // DeepSeek, Moonshot
	`missing\W{1,3}(?:the\W{1,3})?reasoning_content\b`,                                                // DeepSeek, older
)

// WantsReasoning reports whether err is a provider's refusal because the reasoning of
// earlier messages with tool calls was not sent back: the request may succeed with it.
func WantsReasoning(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == KindBadRequest && matchesAny(wantsReasoningTexts, e.Message)
}
