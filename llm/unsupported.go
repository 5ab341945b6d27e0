// How servers say what they, or their models, do not support: tools, a forced tool, pictures; or that they demand
// reasoning back. They are recognized by their text, because servers use any status for them.

package llm

import (
	"net/http"
	"regexp"
	"slices"

	"cairn/internal/lazy"
)

// aboutTools matches the names that servers use for tools, for their use and for the choice of one.
// Names of things inside a tool, such as tools[0] or tool_call_id, do not match.
const aboutTools = `(?:tool|function)(?:s|[ _-](?:use|usage|calls?|calling|choice))\b`

// noToolsTexts match refusals of all tools. They must not match complaints about a tool's schema or
// about a message with a call: those are mistakes in the request.
var noToolsTexts = compileAll(
	`do(?:es)?(?: not|n.t) support (?:the |this )?`+aboutTools,                                                            // Ollama, DeepSeek, xAI, Bedrock
	`\b`+aboutTools+`['"\x60]* (?:is|are) (?:currently )?not (?:currently |yet )?(?:supported|enabled|available|allowed)`, // OpenAI, Azure, Groq, Gemini, DeepInfra
	`no endpoints found that support (?:the provided )?'?`+aboutTools,                                                     // OpenRouter, 404
	`requires? --(?:enable-auto-tool-choice|tool-call-parser)`,                                                            // vLLM
	`tool(?:s|_choice) param requires --jinja`,                                                                            // llama.cpp, 500
)

// noForcedTexts match refusals of the choice of a tool, not of tools.
var noForcedTexts = compileAll(
	`\btool[_ ]choice\b`,           // DeepSeek, DashScope, OpenAI, vLLM, llama.cpp
	`\bforc\w+ (?:a |the )?tools?`, // Anthropic
	`\bfunction_call\b.{0,60}not support`,
)

// wantsReasoningTexts match the demand for reasoning.
var wantsReasoningTexts = compileAll(
	`reasoning_content\b.{0,60}(?:must be (?:passed|sent|provided|returned)|is (?:missing|required))`, // DeepSeek, Moonshot
	`missing\W{1,3}(?:the\W{1,3})?reasoning_content\b`,                                                // DeepSeek, older
)

// pictures matches the names that servers use for pictures in a request, but not for what a model
// makes, such as image generation, or for the type of a picture.
const pictures = `(?:images\b|image[ _-](?:inputs?|urls?|content|field|parts?|blocks?|attachments?|data|modality)\b|image(?:['"\x60]|[.,;:!)]|\s*$)|vision\b|multi-?modal\b)`

// noImagesTexts match refusals of all pictures.
var noImagesTexts = compileAll(
	`(?:not|n.t) (?:currently )?(?:support|accept|allow)\w* (?:any |the |this )?[\[{'"\x60]*`+pictures,
	pictures+`[\w ]{0,20}['"\x60]* (?:is|are) (?:currently )?not (?:currently |yet )?(?:support|enabled|accept|allow)`,
	`(?:that support|required for) `+pictures,                             // OpenRouter, Ollama
	`is not a `+pictures,                                                  // vLLM
	`image_url.{0,20} only supported|variant .image|image input detected`, // OpenAI, DeepSeek, llama-cpp-python
)

// RefusesTools reports whether a provider refused a request because the server or its model
// supports no tools, or cannot be forced to call one: the request may succeed without them.
func RefusesTools(err error) bool { return takesNoTools(of(err).Message) }

// RefusesForced reports whether a provider refused a request because it forced a tool: the request
// may succeed with a free choice.
func RefusesForced(err error) bool { return says(err, noForcedTexts()) }

// WantsReasoning reports whether a provider refused a request because the reasoning of earlier
// messages with tool calls was not sent back: the request may succeed with it.
func WantsReasoning(err error) bool { return says(err, wantsReasoningTexts()) }

func says(err error, texts []*regexp.Regexp) bool {
	e := of(err)
	return e.Kind == KindBadRequest && matchesAny(texts, e.Message)
}

// RefusesImages reports whether a provider may have refused a request with pictures because of them:
// the server or its model accepts none, not these, or not so many, and says so in any words. The
// request may succeed if they are described in text.
func RefusesImages(err error) bool {
	e := of(err)
	return e.Kind == KindBadRequest || e.Status == http.StatusRequestEntityTooLarge
}

// TakesNoImages reports whether a refusal is of all pictures.
func TakesNoImages(err error) bool { return takesNoImages(of(err).Message) }

func takesNoTools(text string) bool { return matchesAny(noToolsTexts(), withoutQuotations(text)) }

func takesNoImages(text string) bool { return matchesAny(noImagesTexts(), withoutQuotations(text)) }

func matchesAny(patterns []*regexp.Regexp, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern *regexp.Regexp) bool { return pattern.MatchString(text) })
}

// quotation matches three or more words in quotes, with which servers repeat what they were sent; its
// group is the text before the quotes. A quoted name has fewer words.
var quotation = lazy.Pattern(`([\w'"]*[\s:=(\[{,]+|^)(?:"[^"]*\s[^"]*\s[^"]*"|'(?:[^'\n]|'\w)*\s(?:[^'\n]|'\w)*\s(?:[^'\n]|'\w)*'|\x60[^\x60]*\s[^\x60]*\s[^\x60]*\x60)`)

// ownKey matches a key whose quoted value is the server's own text.
var ownKey = lazy.Pattern(`(?i)(?:message|msg|error|detail|reason)['"]?\s*[:=]\s*$`)

// withoutQuotations removes what a server only repeats: a chat message may contain the words of a
// refusal, and that a model takes no tools or pictures is remembered.
func withoutQuotations(text string) string {
	return quotation().ReplaceAllStringFunc(text, func(quoted string) string {
		before := quotation().FindStringSubmatch(quoted)[1]
		if ownKey().MatchString(before) {
			return quoted
		}
		return before
	})
}
