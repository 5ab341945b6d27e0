// The models a server offers, how it describes them, and the context window that one really has.

package openai

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// preferred are OpenAI's small chat models if none is set, best choice first, as of November 2026.
var preferred = []string{
	"gpt-6-luna",
	"gpt-5.6-luna",
	"gpt-5.4-mini",
	"gpt-5-mini",
	"gpt-4.1-mini",
	"gpt-4o-mini",
}

// listed is an entry of GET /models, with fields that servers add.
type listed struct {
	provider.Listed
	ID           string
	Parameters   []string `json:"supported_parameters"` // OpenRouter
	Architecture struct {
		Input []string `json:"input_modalities"`
	} // OpenRouter
}

// Models lists what the server offers.
func (o *Model) Models(ctx context.Context) ([]llm.Offered, error) {
	var answer struct{ Data []listed }
	base := o.base()
	err := o.Ask(ctx, base+"/models", &answer)
	if refused, ok := errors.AsType[*llm.Error](err); ok && routeMissing(refused) && !strings.HasSuffix(base, "/v1") {
		if there := o.Ask(ctx, base+"/v1/models", &answer); there == nil || llm.KindOf(there) == llm.KindAuth {
			o.Demand(func(d *provider.Demands) { d.Base = base + "/v1" })
			o.Options.Log.Warn("base_url_without_v1", "base_url", o.Options.BaseURL, "works", base+"/v1")
			err = there
		}
	}
	if err != nil {
		return nil, err
	}
	offered := make([]llm.Offered, 0, len(answer.Data))
	for _, m := range answer.Data {
		offered = append(offered, llm.Offered{
			ID: m.ID, Window: m.Window(), Tools: says(m.Parameters, "tools"), Images: says(m.Architecture.Input, "image"),
		})
	}
	return offered, nil
}

// says returns "yes" if list contains name, "no" if it does not, "" if there is no list.
func says(list []string, name string) string {
	switch {
	case len(list) == 0:
		return ""
	case slices.Contains(list, name):
		return "yes"
	}
	return "no"
}

// base returns the address of OpenAI's interface, root that of what servers offer outside of it.
func (o *Model) base() string { return cmp.Or(o.Demands().Base, o.Options.BaseURL) }
func (o *Model) root() string { return strings.TrimSuffix(o.base(), "/v1") }

// AskWindow returns the window that the server reports; Tokens 0: none. In order of reliability:
// what Ollama has loaded, what is listed, what llama.cpp runs.
func (o *Model) AskWindow(ctx context.Context) llm.Window {
	// A server that lists no models may still answer the other requests.
	models, _ := o.Models(ctx)
	listed := o.ListedWindow(models, "GET /models")
	model := o.Model()
	root := o.root()
	var running struct {
		Models []struct {
			Name          string
			ContextLength int `json:"context_length"`
		}
	}
	if o.Host != openAIHost && o.Ask(ctx, root+"/api/ps", &running) == nil {
		for _, m := range running.Models {
			if m.ContextLength > 0 && (m.Name == model || m.Name == model+":latest") {
				return llm.Window{Tokens: m.ContextLength, Source: "GET /api/ps"}
			}
		}
	}
	if listed.Tokens > 0 {
		return listed
	}
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if o.Host != openAIHost && o.Ask(ctx, root+"/props", &props) == nil && props.Settings.Context > 0 {
		return llm.Window{Tokens: props.Settings.Context, Source: "GET /props"}
	}
	return llm.Window{}
}
