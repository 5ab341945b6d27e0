// One attempt: a request, and the other forms that are tried if the server refuses one.

package openai

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// attempt is a request that is changed as long as the server refuses its form.
type attempt struct {
	*Model
	model string
	req   llm.Request

	wires  int  // switches of the wire
	sought bool // the right address was sought
}

// Compose implements provider.Attempt.
func (a *attempt) Compose() provider.Form {
	p := a.plan()
	f := provider.Form{
		Wire: p.wire, Forced: p.forced, Effort: p.effort, Efforts: llm.ReasoningEfforts, Tokens: p.limit, Fields: optional, MayReason: !p.Thinks,
	}
	if p.wire == llm.WireResponses {
		f.Address, f.Body = p.Base+"/responses", p.responses()
		f.Read = func(to *provider.Answer) provider.Reader {
			return &responsesAnswer{Answer: to, author: p.author, texts: map[int]int{}}
		}
		return f
	}
	f.Address, f.Body = p.Base+"/chat/completions", p.chat()
	f.Read = func(to *provider.Answer) provider.Reader {
		return &chatAnswer{Answer: to, author: p.author, calls: map[*provider.Call]gathered{}}
	}
	return f
}

// Adapt implements provider.Attempt.
func (a *attempt) Adapt(ctx context.Context, refused *llm.Error, form provider.Form) bool {
	switch {
	case refused.Status < http.StatusBadRequest:
		return false
	case routeMissing(refused):
		return a.seekBase(ctx, form) || a.switchWire(form, llm.WireResponses, llm.WireChat)
	case refused.Kind == llm.KindBadRequest && wantsResponses.MatchString(refused.Message) && a.switchWire(form, llm.WireChat, llm.WireResponses):
		return true
	case llm.WantsReasoning(refused):
		a.Learnt().NeedReasoning()
		return false // the caller has the reasoning
	}
	return a.Model.Adapt(refused, form)
}

// routeMissing reports whether a server has nothing at the address of a request.
func routeMissing(e *llm.Error) bool {
	return e.Kind == llm.KindWrongAddress && e.Status >= http.StatusBadRequest
}

// seekBase reports whether there is a list of models at another address: see Models.
func (a *attempt) seekBase(ctx context.Context, sent provider.Form) bool {
	if a.sought {
		return false
	}
	a.sought = true
	_, _ = a.Models(ctx) // it keeps an address that is right
	return !strings.HasPrefix(sent.Address, a.base()+"/")
}

// wantsResponses matches OpenAI's refusal, on chat completions, of models whose tools need the
// other wire.
var wantsResponses = regexp.MustCompile(`(?i)/v1/responses|\bResponses API\b|tools? with reasoning_effort`)

// switchWire makes the next request use another wire, at most once each way.
func (a *attempt) switchWire(sent provider.Form, from, to string) bool {
	if a.Options.Wire != "" || sent.Wire != from || a.wires >= 2 {
		return false
	}
	a.wires++
	a.Learnt().Demand(to)
	a.Options.Log.Info("wire_changed", "model", a.model, "wire", to)
	return true
}

// The names of the optional fields.
const (
	fieldStream       = "stream_options"
	fieldCacheKey     = "prompt_cache_key"
	fieldRetention    = "prompt_cache_retention"
	fieldBreakpoint   = "prompt_cache_breakpoint"
	fieldCacheControl = "cache_control"
	fieldInclude      = "include"
	fieldLimit        = "max_tokens"
)

// optional are the optional fields. OpenAI refuses include, for models that do not reason, with words
// about encrypted content; its message about content that it cannot read is different.
var optional = []provider.Field{
	about(fieldStream, fieldStream), about(fieldCacheKey, fieldCacheKey), about(fieldRetention, fieldRetention),
	about(fieldBreakpoint, fieldBreakpoint), about(fieldCacheControl, fieldCacheControl),
	about(fieldInclude, "encrypted content is not supported"),
	about(fieldLimit, "max_completion_tokens"), // which is sent instead
}

func about(name, pattern string) provider.Field {
	return provider.Field{Name: name, About: regexp.MustCompile("(?i)" + pattern)}
}
