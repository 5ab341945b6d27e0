// One attempt: a request, and the other forms that are tried if the server refuses one.

package openai

import (
	"context"
	"net/http"
	"regexp"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// attempt is a request that is changed as long as the server refuses its form.
type attempt struct {
	*Model
	model string
	req   llm.Request
	sent  plan

	wires  int  // switches of the wire
	sought bool // the right address was sought
}

// Send plans the request and sends it.
func (a *attempt) Send(ctx context.Context, show func(delta string)) (llm.Response, error) {
	p := a.plan(a.model)
	a.sent = p
	answer := provider.NewAnswer(show, p.answerTokens(a.req), a.Options.MaxAnswer)
	var resp llm.Response
	var err error
	if p.wire == llm.WireResponses {
		read := responsesAnswer{Answer: answer, provider: p.provider, texts: map[int]int{}}
		resp, err = a.Exchange(ctx, p.Base+"/responses", p.responses(a.req), a.req, &read)
	} else {
		read := chatAnswer{Answer: answer, provider: p.provider, calls: map[*provider.Call]gathered{}}
		resp, err = a.Exchange(ctx, p.Base+"/chat/completions", p.chat(a.req), a.req, &read)
	}
	if err != nil || p.Thinks {
		return resp, err
	}
	if a.LacksRoom(a.req, resp, answer.Reasoned, func() bool { return a.plan(a.model).answerTokens(a.req) > p.answerTokens(a.req) }) {
		return a.Send(ctx, show)
	}
	return resp, nil
}

// Adapt learns from the refusal of a request.
func (a *attempt) Adapt(ctx context.Context, refused *llm.Error) bool {
	p := a.sent
	if refused.Status < http.StatusBadRequest {
		return false
	}
	if routeMissing(refused) {
		return a.seekBase(ctx) || a.switchWire(llm.WireResponses, llm.WireChat)
	}
	switch {
	case refused.Kind == llm.KindBadRequest && wantsResponses.MatchString(refused.Message) && a.switchWire(llm.WireChat, llm.WireResponses):
		return true
	case llm.WantsReasoning(refused):
		a.Learnt().NeedReasoning()
		return false // the caller has the reasoning
	}
	return a.Model.Adapt(refused, p.refusable(a.req))
}

// routeMissing reports whether a server has nothing at the address of a request.
func routeMissing(e *llm.Error) bool {
	return e.Kind == llm.KindWrongAddress && e.Status >= http.StatusBadRequest
}

// seekBase reports whether there is a list of models at another address: see Models.
func (a *attempt) seekBase(ctx context.Context) bool {
	if a.sought {
		return false
	}
	a.sought = true
	_, _ = a.Models(ctx) // it keeps an address that is right
	return a.base() != a.sent.Base
}

// wantsResponses matches OpenAI's refusal, on chat completions, of models whose tools need the
// other wire.
var wantsResponses = regexp.MustCompile(`(?i)/v1/responses|\bResponses API\b|tools? with reasoning_effort`)

// switchWire makes the next request use another wire, at most once each way.
func (a *attempt) switchWire(from, to string) bool {
	if a.Options.Wire != "" || a.sent.wire != from || a.wires >= 2 {
		return false
	}
	a.wires++
	a.Learnt().Demand(to)
	a.Options.Log.Info("wire_changed", "model", a.model, "wire", to)
	return true
}

// The optional fields. OpenAI refuses include, for models that do not reason, with words about
// encrypted content; its message about content that it cannot read is different.
var (
	fieldStream       = optional("stream_options", "stream_options")
	fieldCacheKey     = optional("prompt_cache_key", "prompt_cache_key")
	fieldRetention    = optional("prompt_cache_retention", "prompt_cache_retention")
	fieldBreakpoint   = optional("prompt_cache_breakpoint", "prompt_cache_breakpoint")
	fieldCacheControl = optional("cache_control", "cache_control")
	fieldInclude      = optional("include", "encrypted content is not supported")
	fieldLimit        = optional("max_tokens", "max_completion_tokens") // which is sent instead
)

func optional(name, about string) provider.Field {
	return provider.Field{Name: name, About: regexp.MustCompile("(?i)" + about)}
}

// refusable returns the part of the request that a server may refuse.
func (p plan) refusable(req llm.Request) provider.Sent {
	s := provider.Sent{
		Model: p.model, Forced: req.ForceTool != "" && p.forced, Effort: p.effort(req.Reasoning), Efforts: llm.ReasoningEfforts,
		Tokens: p.answerTokens(req),
	}
	chat := p.wire == llm.WireChat
	for _, f := range []struct {
		provider.Field
		sent bool
	}{
		{fieldStream, chat},
		{fieldCacheKey, p.cacheKey(req) != ""},
		{fieldRetention, p.retention},
		{fieldBreakpoint, p.breakpoints},
		{fieldCacheControl, p.claude},
		{fieldInclude, !chat},
		{fieldLimit, chat && req.MaxTokens > 0 && p.host != openAIHost},
	} {
		if f.sent && !p.Refused[f.Name] {
			s.Fields = append(s.Fields, f.Field)
		}
	}
	return s
}
