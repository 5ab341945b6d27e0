// The models a server offers, and the context window that one really has.

package openai

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

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
	model, root := o.Model(), strings.TrimSuffix(o.base(), "/v1")
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
