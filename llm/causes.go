// Causes of a refusal that only its text reveals: no credit, a filter, an unknown model, a wrong
// address.

package llm

import (
	"net/http"
	"slices"
	"strings"
)

// quotaCodes and quotaTexts match errors of an account without credit.
var (
	quotaCodes = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error", "insufficient_balance", "payment_required", "exceeded_current_quota_error", "arrearage"}
	quotaTexts = compileAll(
		`余额不足|欠费`,                                                                  // Zhipu
		`credit balance is too low`,                                                // Anthropic, 400
		`insufficient (?:credits?|balance|quota|funds)`,                            // OpenRouter, DeepSeek
		`balance is insufficient`,                                                  // SiliconFlow
		`used all (?:of )?(?:its )?available credits`,                              // xAI, 403
		`(?:billing|spending|spend) (?:hard )?limit`,                               // OpenAI, xAI
		`(?:out of|not enough|no more) credits?`,                                   // gateways
		`(?:account|billing) (?:is|has been) (?:not active|deactivated|suspended)`, // OpenAI, Moonshot
	)
)

// filterCodes and filterTexts match refusals of what people or the model wrote.
var (
	filterCodes = []string{"content_filter", "content_policy_violation", "data_inspection_failed", "invalid_prompt", "moderation_blocked"}
	filterTexts = compileAll(
		`\b(?:input|prompt|content|request|message) (?:was|has been|is|were) flagged`, // OpenRouter, 403; OpenAI
		`\bcontent (?:filter|management|exists risk)`,                                 // Anthropic, Azure, DeepSeek
		`inappropriate content`, // DashScope
	)
)

// unknownModelCodes and unknownModelTexts match errors about a model that the server does not have.
var (
	unknownModelCodes = []string{"model_not_found", "invalid_model", "deploymentnotfound", "model_not_available"}
	unknownModelTexts = compileAll(
		`\bmodels?\b[:/]? ?['"\x60]?[\w./:@+-]*['"\x60]? ?(?:does not exist|doesn't exist|is not found|not found|not exist)`, // OpenAI, Ollama, vLLM, Gemini, DeepSeek
		`is not a valid model`,                        // OpenRouter
		`invalid model(?: name| id|:|$)`,              // Mistral, LiteLLM
		`(?:no such|unknown|unsupported) model\b`,     // gateways
		`no endpoints found for `,                     // OpenRouter, 404
		`^(?:not_found_error: )?model: ?[\w./:@+-]+$`, // Anthropic, 404
	)
)

// wrongAddressTexts match errors of web servers and model servers about an unknown path.
var wrongAddressTexts = compileAll(
	`^(?:404[: ]*)?(?:page |path |route |resource |url )?(?:is )?not found[.!]?$`,
	`^method not allowed[.!]?$`,
	`page not found`,
	`invalid url`,               // OpenAI
	`unknown request url`,       // Groq
	`unexpected endpoint`,       // LM Studio, with 200
	`cannot (?:post|get) /`,     // Express
	`no (?:matching )?route\b`,  // gateways
	`no static resource`,        // Spring
	`file not found`,            // llama.cpp
	`the requested url .*found`, // Apache, nginx
)

// refine returns the kind of a refusal, which its codes and text may determine more exactly than
// its status.
func refine(e *Error, codes []string, text string) Kind {
	has := func(known []string) bool {
		return slices.ContainsFunc(codes, func(code string) bool { return slices.Contains(known, code) })
	}
	said := withoutQuotations(text)
	lost := e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
	switch {
	case e.Kind == KindUnreachable, e.Kind == KindOverflow, e.Status >= 500:
		return e.Kind
	case e.Status == http.StatusPaymentRequired, has(quotaCodes), e.Kind != KindOverloaded && matchesAny(quotaTexts(), said):
		return KindQuota
	case e.Status != http.StatusUnauthorized && e.Kind != KindRateLimited && (has(filterCodes) || matchesAny(filterTexts(), said)):
		return KindFiltered
	case e.Kind == KindRateLimited, e.Kind == KindAuth:
		return e.Kind
	case has(unknownModelCodes), matchesAny(unknownModelTexts(), said):
		return KindUnknownModel
	case slices.Contains(codes, "html") && (lost || e.Status < 400),
		lost && (strings.TrimSpace(text) == "" || matchesAny(wrongAddressTexts(), said)),
		e.Status < 400 && matchesAny(wrongAddressTexts(), said):
		return KindWrongAddress
	}
	return e.Kind
}
