// One attempt: a request, and the other forms that are tried if the server refuses one.

package anthropic

import (
	"context"
	"regexp"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// attempt is a request that is changed as long as the server refuses its form.
type attempt struct {
	*Model
	model string
	req   llm.Request

	noThinking bool // nor is the thinking of earlier steps returned
}

// Compose implements provider.Attempt.
func (a *attempt) Compose() provider.Form {
	c := a.compose()
	return provider.Form{
		Wire: llm.WireMessages, Address: a.Options.BaseURL + "/v1/messages", Body: c.body,
		Read:   func(to *provider.Answer) provider.Reader { return &answer{Answer: to, identity: a.identity()} },
		Forced: c.ToolChoice != nil, Effort: c.Output["effort"], Efforts: efforts, Tokens: c.MaxTokens, Fields: optional,
		MayReason: c.Thinking == nil && c.room == 0,
	}
}

// identity identifies the author of thinking.
func (a *attempt) identity() string { return a.Host + " " + a.model }

var (
	aboutThoughts = regexp.MustCompile("(?i)signature|thinking. (?:or .redacted_thinking. )?blocks? .{0,80}cannot be modified|expected .thinking. or .redacted_thinking.")
	aboutThinking = regexp.MustCompile(`(?i)adaptive|budget_tokens|disabled|thinking\.type|\bthinking. (?:is|may|can|must|does|do)|\bthinking: `)
)

const (
	fieldMarks    = "cache_control"
	fieldThinking = "thinking.type " // and the kind
)

// optional are the optional fields: the kinds of thinking, and the cache marks.
var optional = []provider.Field{
	{Name: fieldThinking + adaptive, About: aboutThinking, In: `"thinking":{"type":"` + adaptive},
	{Name: fieldThinking + budgeted, About: aboutThinking, In: `"thinking":{"type":"` + budgeted},
	{Name: fieldThinking + disabled, About: aboutThinking, In: `"thinking":{"type":"` + disabled},
	{Name: fieldMarks, About: regexp.MustCompile("(?i)cache_control")},
}

// Adapt implements provider.Attempt.
func (a *attempt) Adapt(_ context.Context, refused *llm.Error, form provider.Form) bool {
	if refused.Kind == llm.KindBadRequest && !a.noThinking && aboutThoughts.MatchString(refused.Message) {
		a.noThinking = true
		return true
	}
	return a.Model.Adapt(refused, form)
}
