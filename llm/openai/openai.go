// Package openai implements llm.Model for servers with OpenAI's interface, on chat completions and
// on Responses. From go-openai it uses types and names: that client refuses tools of some models by
// name, accepts a truncated stream as a whole answer, and loses encrypted reasoning.
package openai

import (
	"cairn/llm"
	"cairn/llm/internal/provider"
)

const openAIHost = "api.openai.com"

// Options configures the server, its timeouts and retries; it is the same type for all providers.
type Options = provider.Options

// Model is an llm.Model behind a server with OpenAI's interface.
type Model struct{ *provider.Client }

// New returns a model that has sent nothing yet. It fails if BaseURL is not a web address.
func New(options Options) (*Model, error) {
	client, err := provider.New(options, provider.Defaults{
		BaseURL: "https://" + openAIHost + "/v1", Example: "http://localhost:11434/v1",
		Preferred: preferred,
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

// Begin implements provider.Protocol.
func (o *Model) Begin(model string, req llm.Request) provider.Attempt {
	return &attempt{Model: o, model: model, req: req}
}
