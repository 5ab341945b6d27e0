// How servers say why they refuse a request: recognized by text, because they use any status for many causes.

package llm

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cairn/internal/lazy"
)

// saysNoCredit matches errors of an account without credit.
var saysNoCredit = lazy.Pattern(`(?i)insufficient_quota|billing_|payment_required|` +
	`(?:insufficient|out of|not enough|no more)[ _](?:credits?|balance|quota|funds)|balance is (?:too low|insufficient)|` +
	`all (?:of )?(?:its )?available credits|(?:billing|spend|spending) (?:hard )?limit|` +
	`exceeded_current_quota|\baccount .{0,60}(?:not active|deactivated|suspended)|arrearage|余额不足|欠费`) // Moonshot, OpenAI, DashScope, Zhipu

// saysFiltered matches refusals of what people or the model wrote.
var saysFiltered = lazy.Pattern(`(?i)content_filter|content_policy|moderation_|data_inspection|invalid_prompt|` +
	`\b(?:input|prompt|content|request|message) (?:was|has been|is|were) flagged|\bcontent (?:filter|management|exists risk)`)

// saysUnknownModel matches errors about a model that the server does not have.
var saysUnknownModel = lazy.Pattern(`(?im)model_not_found|invalid_model|deploymentnotfound|` +
	`\bmodels?\b[:/]? ?['"\x60]?[\w./:@+-]*['"\x60]? ?(?:does not exist|doesn't exist|is not found|not found|not exist)|` +
	`not a valid model|(?:no such|unknown|unsupported) model\b|invalid model(?: name| id|:|$)|no endpoints found for |` +
	`^(?:not_found_error: )?model: ?\S+$`) // Anthropic

// saysOfModel matches errors of a server at the right address: about a model, or about its providers.
var saysOfModel = lazy.Pattern(`(?i)model|no endpoints found`) // OpenRouter

// refine returns the kind of a refusal, which its codes and text may determine more exactly than its status.
func refine(e *Error, codes []string, text string) Kind {
	all := strings.Join(append(codes, withoutQuotations(text)), "\n")
	page := slices.Contains(codes, "html")
	lost := e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
	switch {
	case e.Status >= 500:
		return e.Kind
	case e.Status == http.StatusPaymentRequired, saysNoCredit().MatchString(all):
		return KindQuota
	case e.Status != http.StatusUnauthorized && e.Kind != KindRateLimited && saysFiltered().MatchString(all):
		return KindFiltered
	case e.Kind == KindRateLimited, e.Kind == KindAuth:
		return e.Kind
	case saysUnknownModel().MatchString(all):
		return KindUnknownModel
	case lost && (page || !saysOfModel().MatchString(text)),
		e.Status < 400 && (page || strings.Contains(text, "Unexpected endpoint")): // LM Studio
		return KindWrongAddress
	}
	return e.Kind
}

// exceedsMinute matches a request with more tokens than a small account may use in a minute (OpenAI, Groq): it never
// succeeds. In other refusals because of that limit the used tokens are between the two numbers.
var exceedsMinute = lazy.Pattern(`(?i)tokens per min(?:ute)? \(tpm\): limit ([\d,]+), requested`)

// overflowTexts match codes and messages of a prompt that is too long, not "context deadline exceeded", nor a max_tokens
// that the model does not support.
var overflowTexts = compileAll(
	`(?m:^(?:context_length_exceeded|exceed_context_size_error|request_too_large)$)`,                                                      // OpenAI, llama.cpp, Anthropic
	`max\w* (?:context|prompt|model|input) (?:length|window)|max\w* allowed (?:length \(|input length)`,                                   // OpenAI, vLLM, xAI, Mistral, SGLang and others
	`(?:exceed|longer than|greater than|only|available)\W?.{0,40}\bcontext (?:window|length|size|limit)`,                                  // OpenAI, Anthropic, Ollama, llama.cpp, SGLang
	`context (?:window|length|size) (?:of only|(?:was |is |has been )?exceed)|configured context size`,                                    // LM Studio, MiniMax
	`(?:prompt|input|request body) (?:is )?too (?:long|large)`,                                                                            // Anthropic, Bedrock, GitHub
	`(?:input|prompt) tokens? (?:count .{0,60})?exceed|(?:prompt|input) exceeds max|prompt 超长`,                                            // Gemini, OpenAI, GitHub, Zhipu
	`reduce the length of the (?:messages|prompt|input)|exceeded model token limit|tokens in request more than max|too many tokens: `,     // Groq, Cerebras, Moonshot, Zhipu, Cohere
	`input \([\d,]+ tokens\) is too large|too big compared to kv|(?:greater than|exceeds?) (?:the )?(?:max )?(?:max_seq_len|session_len)`, // llama.cpp, llama-box, TabbyAPI, LMDeploy
	`larger than the model input|input token count is [\d,]+ but|input tokens [\d,]+ cannot exceed`,                                       // MLC, Vertex, watsonx
	`prompt tokens too long|exceed max message tokens`,                                                                                    // Baidu, Volcano Engine
	`\binputs['\x60] .{0,30}must (?:be|have)|input length (?:should|must) be`,                                                             // Text Generation Inference, DashScope
)

// limitTexts capture the numbers of which the smallest that is not the prompt's is the window.
var limitTexts = compileAll(
	`(?:length|size|window|allowed)(?: (?:is|of|only)){0,2}[ :(]+([\d,]+)`,
	`(?:limit(?: (?:is|of))?|<=|>|less than):? ([\d,]+)`,
	`with ([\d,]+) max`, // Mistral
	`(?:window limit|session_len) \(([\d,]+)|max_seq_len ([\d,]+)|supports up to ([\d,]+)`, // Cloudflare, LMDeploy, TabbyAPI, Vertex
)

// promptTexts capture how many tokens a prompt had that was too long, without those requested for the answer.
var promptTexts = compileAll(
	`\(([\d,]+) in (?:the messages|your prompt|the prompt)`,                                                                 // OpenAI, vLLM
	`(?:resulted in|(?:request|prompt) (?:contains|has)) ([\d,]+)`,                                                          // OpenAI, xAI, vLLM, Mistral
	`prompt is too long: ([\d,]+)`,                                                                                          // Anthropic
	`exceeds? context limit: ([\d,]+) \+`,                                                                                   // Anthropic
	`\(([\d,]+) of text input|input tokens ([\d,]+) cannot|token count is ([\d,]+)|requested tokens \(([\d,]+)\)`,           // OpenRouter, watsonx, Vertex, llama-cpp-python
	`(?:count|request|prompt|input)(?: length| of)? \(?([\d,]+)(?: tokens)?\)? (?:exceeds|is (?:longer|greater|too large))`, // Gemini, llama.cpp, SGLang
)

// compileAll compiles patterns on first use: most runs of the program never see a refusal.
func compileAll(patterns ...string) func() []*regexp.Regexp {
	return sync.OnceValue(func() []*regexp.Regexp {
		compiled := make([]*regexp.Regexp, len(patterns))
		for i, pattern := range patterns {
			compiled[i] = regexp.MustCompile(`(?i)` + pattern)
		}
		return compiled
	})
}

// leastNumber returns the smallest number except one that patterns capture in text; 0 if none.
func leastNumber(patterns []*regexp.Regexp, text string, except int) (least int) {
	for _, pattern := range patterns {
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(strings.ReplaceAll(strings.Join(found[1:], ""), ",", "")) // one alternative captured it
			if err == nil && n > 0 && n != except && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}

// aboutTools matches names of tools, of their use and of the choice of one, but not tools[0] or tool_call_id.
const aboutTools = `(?:tool|function)(?:s|[ _-](?:use|usage|calls?|calling|choice))\b`

// noToolsTexts match refusals of all tools, not of a tool's schema or of a message with a call.
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

// pictures matches names of pictures in a request, not of making them, nor the type of a picture.
const pictures = `(?:images\b|image[ _-](?:inputs?|urls?|content|field|parts?|blocks?|attachments?|data|modality)\b|image(?:['"\x60]|[.,;:!)]|\s*$)|vision\b|multi-?modal\b)`

// noImagesTexts match refusals of all pictures.
var noImagesTexts = compileAll(
	`(?:not|n.t) (?:currently )?(?:support|accept|allow)\w* (?:any |the |this )?[\[{'"\x60]*`+pictures,
	pictures+`[\w ]{0,20}['"\x60]* (?:is|are) (?:currently )?not (?:currently |yet )?(?:support|enabled|accept|allow)`,
	`(?:that support|required for) `+pictures,                             // OpenRouter, Ollama
	`is not a `+pictures,                                                  // vLLM
	`image_url.{0,20} only supported|variant .image|image input detected`, // OpenAI, DeepSeek, llama-cpp-python
)

// RefusesTools reports whether a request was refused because the server or its model takes no tools.
func RefusesTools(err error) bool {
	return matchesAny(noToolsTexts(), withoutQuotations(of(err).Message))
}

// RefusesForced reports whether a request was refused because it forced a tool.
func RefusesForced(err error) bool { return says(err, noForcedTexts()) }

// WantsReasoning reports whether a request was refused because reasoning of earlier messages with calls was missing.
func WantsReasoning(err error) bool { return says(err, wantsReasoningTexts()) }

func says(err error, texts []*regexp.Regexp) bool {
	e := of(err)
	return e.Kind == KindBadRequest && matchesAny(texts, e.Message)
}

// RefusesImages reports whether a request with pictures may have been refused because of them, in any words: the model
// accepts none, not these, or not so many.
func RefusesImages(err error) bool {
	e := of(err)
	return e.Kind == KindBadRequest || e.Status == http.StatusRequestEntityTooLarge
}

// TakesNoImages reports whether a refusal is of all pictures.
func TakesNoImages(err error) bool {
	return matchesAny(noImagesTexts(), withoutQuotations(of(err).Message))
}

func matchesAny(patterns []*regexp.Regexp, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern *regexp.Regexp) bool { return pattern.MatchString(text) })
}

// quotation matches three or more words in quotes: servers repeat what they were sent. Its group is the text before.
var quotation = lazy.Pattern(`([\w'"]*[\s:=(\[{,]+|^)(?:"[^"]*\s[^"]*\s[^"]*"|'(?:[^'\n]|'\w)*\s(?:[^'\n]|'\w)*\s(?:[^'\n]|'\w)*'|\x60[^\x60]*\s[^\x60]*\s[^\x60]*\x60)`)

// serverKey matches a key whose quoted value is the server's own text.
var serverKey = lazy.Pattern(`(?i)(?:message|msg|error|detail|reason)['"]?\s*[:=]\s*$`)

// withoutQuotations removes what a server only repeats: a chat message may contain the words of a
// refusal, and that a model takes no tools or pictures is remembered.
func withoutQuotations(text string) string {
	return quotation().ReplaceAllStringFunc(text, func(quoted string) string {
		before := quotation().FindStringSubmatch(quoted)[1]
		if serverKey().MatchString(before) {
			return quoted
		}
		return before
	})
}
