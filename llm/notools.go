// How a server says that it, or its model, takes no tools.

package llm

import (
	"errors"
	"regexp"
	"slices"
)

// aboutTools are the names servers have for tools, for their use and for the choice
// of one. What lies inside a tool, as tools[0] or tool_call_id, is not among them.
const aboutTools = `(?:tool|function)(?:s|[ _-](?:use|usage|calls?|calling|choice))\b`

// noToolsTexts are the words that mean it. They must not match complaints of a tool's
// schema or of a message about a call: those are mistakes in the request.
var noToolsTexts = compileAll(
	`do(?:es)?(?: not|n.t) support (?:the |this )?(?:parameters: )?[\[{'"]*`+aboutTools,                                   // Ollama, DeepSeek, xAI, Bedrock, LiteLLM
	`\b`+aboutTools+`['"\x60]* (?:is|are) (?:currently )?not (?:currently |yet )?(?:supported|enabled|available|allowed)`, // OpenAI, Azure, Groq, Gemini, DeepInfra
	`no endpoints found that support (?:the provided )?'?`+aboutTools,                                                     // OpenRouter, 404
	`requires? --(?:enable-auto-tool-choice|tool-call-parser)`,                                                            // vLLM
	`tool(?:s|_choice) param requires --jinja`,                                                                            // llama.cpp, 500
	`unrecognized request arguments? supplied: [\w, ]*\btools\b`,                                                          // Azure, older
)

// RefusesTools reports whether err is a provider's refusal of a request because the
// server or its model takes no tools, or cannot be made to call one: the request may
// succeed without them. The words tell, for servers say it with 400, 404 and 500.
func RefusesTools(err error) bool {
	var e *Error
	return errors.As(err, &e) && takesNoTools(e.Message)
}

func takesNoTools(text string) bool { return matchesAny(noToolsTexts, text) }

func matchesAny(patterns []*regexp.Regexp, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern *regexp.Regexp) bool { return pattern.MatchString(text) })
}
