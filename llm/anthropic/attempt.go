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
	sent  composed

	noThinking bool // nor is the thinking of earlier steps returned
}

// Send composes the request and sends it.
func (a *attempt) Send(ctx context.Context, show func(delta string)) (llm.Response, error) {
	c := a.compose()
	a.sent = c
	received := provider.NewAnswer(show, c.MaxTokens, a.Options.MaxAnswer)
	resp, err := a.Exchange(ctx, a.Options.BaseURL+"/v1/messages", c.body, a.req, &answer{Answer: received, identity: a.identity()})
	if err != nil || c.Thinking != nil || c.room > 0 {
		return resp, err
	}
	if a.LacksRoom(a.req, resp, received.Reasoned, func() bool { return a.compose().room > 0 }) {
		return a.Send(ctx, show)
	}
	return resp, nil
}

// identity identifies the author of thinking.
func (a *attempt) identity() string { return a.Host + " " + a.model }

// Patterns of refusals.
var (
	aboutThoughts = regexp.MustCompile("(?i)signature|thinking. (?:or .redacted_thinking. )?blocks? .{0,80}cannot be modified|expected .thinking. or .redacted_thinking.")
	aboutThinking = regexp.MustCompile(`(?i)adaptive|budget_tokens|disabled|thinking\.type|\bthinking. (?:is|may|can|must|does|do)|\bthinking: `)

	marks = provider.Field{Name: "cache_control", About: regexp.MustCompile("(?i)cache_control")}
)

// Adapt learns from the refusal of a request.
func (a *attempt) Adapt(_ context.Context, refused *llm.Error) bool {
	if refused.Kind == llm.KindBadRequest && !a.noThinking && aboutThoughts.MatchString(refused.Message) {
		a.noThinking = true
		return true
	}
	return a.Model.Adapt(refused, a.sent.refusable())
}

// refusable returns the part of the request that a server may refuse.
func (c composed) refusable() provider.Sent {
	s := provider.Sent{Model: c.Model, Forced: c.ToolChoice != nil, Efforts: efforts, Tokens: c.MaxTokens}
	if c.Output != nil {
		s.Effort = c.Output.Effort
	}
	if c.Thinking != nil {
		s.Fields = append(s.Fields, provider.Field{Name: refusedThinking(c.Thinking.Type), About: aboutThinking})
	}
	if c.control != nil {
		s.Fields = append(s.Fields, marks)
	}
	return s
}
