// Causes of a refusal that only its codes or text reveal: no credit, a filter, an unknown model, a wrong address.

package llm

import (
	"net/http"
	"slices"
	"strings"

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
	said := strings.Join(append(codes, withoutQuotations(text)), "\n")
	page := slices.Contains(codes, "html")
	lost := e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
	switch {
	case e.Status >= 500:
		return e.Kind
	case e.Status == http.StatusPaymentRequired, saysNoCredit().MatchString(said):
		return KindQuota
	case e.Status != http.StatusUnauthorized && e.Kind != KindRateLimited && saysFiltered().MatchString(said):
		return KindFiltered
	case e.Kind == KindRateLimited, e.Kind == KindAuth:
		return e.Kind
	case saysUnknownModel().MatchString(said):
		return KindUnknownModel
	case lost && (page || !saysOfModel().MatchString(text)),
		e.Status < 400 && (page || strings.Contains(text, "Unexpected endpoint")): // LM Studio
		return KindWrongAddress
	}
	return e.Kind
}
