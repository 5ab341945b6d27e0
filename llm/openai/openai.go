// Package openai implements llm.Model for servers with OpenAI's interface, on chat completions and
// on Responses. It uses only the names of events from go-openai: that client refuses tools of some
// models by name, accepts a truncated stream as a whole answer, and loses encrypted reasoning.
package openai

import (
	"bytes"
	"context"
	"net/http"
	"sync"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

const openAIHost = "api.openai.com"

// Options configures the server, its timeouts and retries; it is the same type for all providers.
type Options = provider.Options

// Model is an llm.Model behind a server with OpenAI's interface.
type Model struct {
	*provider.Client

	mu      sync.Mutex // guards the fields below
	demands demands    // what the server has turned out to demand
}

// New returns a model that has sent nothing yet. It fails if BaseURL is not a web address or Wire
// is unknown.
func New(options Options) (*Model, error) {
	client, err := provider.New(options, provider.Defaults{
		BaseURL: "https://" + openAIHost + "/v1", Example: "http://localhost:11434/v1",
		Wires: []string{llm.WireChat, llm.WireResponses}, Preferred: preferred,
	})
	if err != nil {
		return nil, err
	}
	return &Model{Client: client, demands: demands{base: client.Options.BaseURL}}, nil
}

// Wire returns the wire of the next request: the setting, else the one the server demanded, else
// Responses for OpenAI and chat completions for all others.
func (o *Model) Wire() string {
	if o.Options.Wire != "" {
		return o.Options.Wire
	}
	switch wire := o.Learnt().Facts().Wire; {
	case wire == llm.WireChat || wire == llm.WireResponses:
		return wire
	case o.Host == openAIHost:
		return llm.WireResponses
	}
	return llm.WireChat
}

// Generate answers req, see llm.Model and llm.Retry.
func (o *Model) Generate(ctx context.Context, req llm.Request, show func(delta string)) (llm.Response, error) {
	return o.Retry(ctx, req, show, func(ctx context.Context, show func(string)) (llm.Response, error) {
		return o.try(ctx, req, show)
	})
}

// try makes one attempt, and repeats it as long as the server refuses something that adapt can
// change.
func (o *Model) try(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	model, err := o.Discovery.ModelID(ctx, o.list)
	if err != nil {
		return llm.Response{}, err
	}
	var changes adaptation
	shown := false
	if show != nil {
		showTo := show
		show = func(delta string) {
			shown = true
			showTo(delta)
		}
	}
	for {
		p := o.plan(model)
		p.noRoom = changes.noRoom
		resp, err := o.send(ctx, p, req, show)
		if err == nil {
			o.confirm(&changes)
			if len(resp.Message.Native) > 0 && !p.thinks {
				o.demand(func(d *demands) { d.thinks = true })
			}
			return resp, nil
		}
		if shown || !o.adapt(&changes, p, req, err) || req.Charge() != nil {
			return resp, err
		}
	}
}

// send makes one request and reads the whole answer. With an error the response contains what the
// server counted, if anything.
func (o *Model) send(ctx context.Context, p plan, req llm.Request, show func(string)) (llm.Response, error) {
	body, err := p.encode(req)
	if err != nil {
		return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
	}
	answer := p.answer(show, llm.NewBounds(p.answerTokens(req), o.Options.MaxAnswer))
	return o.Exchange(ctx, req.Alive, answer, func(ctx context.Context, t *provider.Transport) (*http.Response, error) {
		req, err := o.request(ctx, http.MethodPost, p.address(), body)
		if err != nil {
			return nil, &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
		return t.Do(req)
	})
}

// request returns a request with the API key.
func (o *Model) request(ctx context.Context, method, address string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err == nil && o.Options.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+o.Options.APIKey)
	}
	return req, err
}
