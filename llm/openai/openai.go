// Package openai implements llm.Model for servers with OpenAI's interface, on chat completions and on Responses. From
// go-openai it uses types and names: that client refuses tools of some models by name, accepts a truncated stream as a
// whole answer, and loses encrypted reasoning.
package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"cairn/llm"
	"cairn/llm/provider"
)

// Hosts whose servers prefer Responses: OpenAI's, and xAI's, where chat completions are deprecated.
const (
	openAIHost = "api.openai.com"
	xAIHost    = "api.x.ai"
)

// preferred are OpenAI's small chat models if none is set, best choice first, as of November 2026.
var preferred = []string{"gpt-6-luna", "gpt-5.6-luna", "gpt-5.4-mini", "gpt-5-mini", "gpt-4.1-mini", "gpt-4o-mini"}

// Options configures the server, its timeouts and retries; it is the same type for all providers.
type Options = provider.Options

// Model is an llm.Model behind a server with OpenAI's interface.
type Model struct{ *provider.Client }

// New returns a model that has sent nothing yet. It fails if BaseURL is not a web address.
func New(options Options) (*Model, error) {
	client, err := provider.New(options, provider.Defaults{
		BaseURL: "https://" + openAIHost + "/v1", Example: "http://localhost:11434/v1",
		Preferred: preferred, Efforts: llm.ReasoningEfforts, Optional: optional,
	})
	if err != nil {
		return nil, err
	}
	if key := client.Options.APIKey; key != "" {
		client.Header.Set("Authorization", "Bearer "+key)
	}
	m := &Model{client}
	client.Protocol = m
	return m, nil
}

// Wire returns the wire of the next request: the setting, else the one the server demanded, else Responses for OpenAI
// and xAI, and chat completions for all others.
func (o *Model) Wire() string {
	if o.Options.Wire != "" {
		return o.Options.Wire
	}
	switch wire := o.Learned().Facts().Wire; {
	case wire == llm.WireChat || wire == llm.WireResponses:
		return wire
	case o.Host == openAIHost, o.Host == xAIHost, strings.HasSuffix(o.Host, "."+xAIHost): // which has regional ones
		return llm.WireResponses
	}
	return llm.WireChat
}

// Compose implements provider.Protocol.
func (o *Model) Compose(of provider.Plan) provider.Form {
	p := o.plan(of)
	f := provider.Form{Wire: p.wire, Forced: p.Forced, Effort: p.Effort, Tokens: p.limit, MayReason: !p.Thinks}
	if p.wire == llm.WireResponses {
		f.Address, f.Body = p.Base+"/responses", p.responses()
		f.Reader = &responsesAnswer{Answer: p.Answer, author: p.Author, texts: map[int]int{}}
		return f
	}
	f.Address = p.Base + "/chat/completions"
	f.Body = p.chat()
	f.Unstreamed = "choices"
	f.Reader = &chatAnswer{Answer: p.Answer, author: p.Author, calls: map[*provider.Call]*gathered{}}
	return f
}

// Adapt implements provider.Protocol.
func (o *Model) Adapt(ctx context.Context, p *provider.Plan, refused *llm.Error, form provider.Form) bool {
	switch {
	case refused.Status < http.StatusBadRequest:
		return false
	case routeMissing(refused):
		return p.Wires == 0 && o.findsBase(ctx, form) || o.switchWire(p, form, llm.WireResponses, llm.WireChat)
	case refused.Kind == llm.KindBadRequest && (refused.Status == http.StatusGone || wantsResponses.MatchString(refused.Message)) && o.switchWire(p, form, llm.WireChat, llm.WireResponses):
		return true
	case llm.WantsReasoning(refused):
		o.Learned().Learn(func(f *llm.Facts) { f.WantsReasoning = true })
		return false // the caller has the reasoning
	}
	return o.Client.Adapt(refused, form)
}

// routeMissing reports whether a server has nothing at the address of a request.
func routeMissing(e *llm.Error) bool {
	return e.Kind == llm.KindWrongAddress && e.Status >= http.StatusBadRequest
}

// findsBase reports whether there is a list of models at another address, which Models keeps.
func (o *Model) findsBase(ctx context.Context, sent provider.Form) bool {
	_, _ = o.Models(ctx)
	return !strings.HasPrefix(sent.Address, o.base()+"/")
}

// wantsResponses matches OpenAI's refusal, on chat completions, of models whose tools need the other wire.
var wantsResponses = regexp.MustCompile(`(?i)/v1/responses|\bResponses API\b|tools? with reasoning_effort`)

// switchWire makes the next request use another wire, at most once each way.
func (o *Model) switchWire(p *provider.Plan, sent provider.Form, from, to string) bool {
	if o.Options.Wire != "" || sent.Wire != from || p.Wires >= 2 {
		return false
	}
	p.Wires++
	o.Learned().Learn(func(f *llm.Facts) { f.Wire = to })
	o.Options.Log.Info("wire_changed", "model", p.Model, "wire", to)
	return true
}

// unnamedField matches the end of a refusal of a field that the server does not know and does not name.
const unnamedField = `(?:unknown|unrecogni[sz]ed|unexpected|additional|extra) (?:request )?(?:fields?|parameters?|arguments?|propert(?:y|ies)|inputs?|keys?)\b[^'"\x60:(]*$`

// optional are the optional fields. OpenAI refuses include, for models that do not reason, with words about encrypted
// content; its message about content that it cannot read is different.
var optional = []provider.Field{
	{Name: "stream_options"},
	{Name: "prompt_cache_retention"},
	{Name: "prompt_cache_breakpoint"},
	{Name: "cache_control"},
	{Name: "include", About: regexp.MustCompile("(?i)encrypted content is not supported")},
	{Name: "max_tokens", About: regexp.MustCompile("(?i)max_completion_tokens")}, // which is sent instead
	{Name: "prompt_cache_key", About: regexp.MustCompile("(?i)prompt_cache_key|" + unnamedField)},
}

// Models lists what the server offers. If there is nothing at its address, but under /v1, it keeps that address.
func (o *Model) Models(ctx context.Context) ([]llm.Offered, error) {
	base := o.base()
	offered, err := o.List(ctx, base+"/models")
	if refused, ok := errors.AsType[*llm.Error](err); ok && routeMissing(refused) && !strings.HasSuffix(base, "/v1") {
		if there, other := o.List(ctx, base+"/v1/models"); other == nil || llm.KindOf(other) == llm.KindAuth {
			o.Demand(func(d *provider.Demands) { d.Base = base + "/v1" })
			o.Options.Log.Warn("base_url_without_v1", "base_url", o.Options.BaseURL, "works", base+"/v1")
			return there, other
		}
	}
	return offered, err
}

// base returns the address of OpenAI's interface.
func (o *Model) base() string { return cmp.Or(o.Demands().Base, o.Options.BaseURL) }

// AskWindow returns the window that the server reports; Tokens 0: none. In order of reliability: what Ollama has
// loaded, what is listed, what llama.cpp runs.
func (o *Model) AskWindow(ctx context.Context) llm.Window {
	models, _ := o.Models(ctx) // a server that lists none may still answer the other requests
	listed := o.ListedWindow(models, "GET /models")
	if o.Host == openAIHost {
		return listed
	}
	model := o.Model()
	root := strings.TrimSuffix(o.base(), "/v1")
	var running struct {
		Models []struct {
			Name          string
			ContextLength provider.Tokens `json:"context_length"`
		}
	}
	_ = o.Ask(ctx, root+"/api/ps", &running) // other servers have none
	for _, m := range running.Models {
		if m.ContextLength > 0 && (m.Name == model || m.Name == model+":latest") {
			return llm.Window{Tokens: int(m.ContextLength), Source: "GET /api/ps"}
		}
	}
	if listed.Tokens > 0 {
		return listed
	}
	var props struct {
		Settings struct {
			Context provider.Tokens `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	_ = o.Ask(ctx, root+"/props", &props) // other servers have none
	if props.Settings.Context > 0 {
		return llm.Window{Tokens: int(props.Settings.Context), Source: "GET /props"}
	}
	return llm.Window{}
}
