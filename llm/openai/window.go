// What a server says about itself: its models, and how much context it really has.

package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"cairn/llm"
)

// preferred are OpenAI's small chat models for the case that no model is set, the best
// choice first, as of November 2026.
var preferred = []string{
	"gpt-6-luna",
	"gpt-5.6-luna",
	"gpt-5.4-mini",
	"gpt-5-mini",
	"gpt-4.1-mini",
	"gpt-4o-mini",
}

// Window returns the context window: the setting, else what the server says, else
// llm.DefaultWindow. A smaller limit learnt from an overflow wins.
func (o *Model) Window(ctx context.Context) llm.Window {
	return o.discovery.Window(ctx, o.Learnt().Facts().Window, o.ask)
}

// ask returns what the server says of the model's window, Tokens 0 for nothing. The
// order is that of trust: what Ollama has loaded, what is listed, what llama.cpp runs.
func (o *Model) ask(ctx context.Context) llm.Window {
	// A server that lists no models may still answer the rest.
	models, _ := o.Models(ctx)
	_ = o.discovery.ChooseFrom(models)
	model := o.discovery.Model()
	root := strings.TrimSuffix(o.base(), "/v1")
	var running struct {
		Models []struct {
			Name          string
			ContextLength int `json:"context_length"`
		}
	}
	if o.host != openAIHost && o.get(ctx, root+"/api/ps", &running) == nil {
		for _, m := range running.Models {
			if m.ContextLength > 0 && (m.Name == model || m.Name == model+":latest") {
				return llm.Window{Tokens: m.ContextLength, Source: "GET /api/ps"}
			}
		}
	}
	for _, m := range models {
		if m.ID == model && m.Window > 0 {
			return llm.Window{Tokens: m.Window, Source: "GET /models"}
		}
	}
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if o.host != openAIHost && o.get(ctx, root+"/props", &props) == nil && props.Settings.Context > 0 {
		return llm.Window{Tokens: props.Settings.Context, Source: "GET /props"}
	}
	return llm.Window{}
}

// listed is an entry of GET /models, with what servers add to it.
type listed struct {
	ID            string
	ContextLength int `json:"context_length"` // OpenRouter
	MaxModelLen   int `json:"max_model_len"`  // vLLM
	Meta          struct {
		Context int `json:"n_ctx"` // llama.cpp
	}
	Parameters   []string `json:"supported_parameters"` // OpenRouter
	Architecture struct {
		Input []string `json:"input_modalities"`
	} // OpenRouter
	Capabilities []string // Ollama: completion, tools, vision
}

// Models lists what the server offers, see llm.Lister.
func (o *Model) Models(ctx context.Context) ([]llm.Offered, error) {
	var list struct{ Data []listed }
	base := o.base()
	err := o.get(ctx, base+"/models", &list)
	var refused *llm.Error
	if errors.As(err, &refused) && routeMissing(refused) && !strings.HasSuffix(base, "/v1") && o.get(ctx, base+"/v1/models", &list) == nil {
		a := adaptation{base: base + "/v1"}
		o.demand(func(d *demands) { d.base = a.base })
		o.confirm(&a)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	offered := make([]llm.Offered, 0, len(list.Data))
	for _, m := range list.Data {
		offered = append(offered, llm.Offered{
			ID:     m.ID,
			Window: cmp.Or(max(m.Meta.Context, 0), max(m.MaxModelLen, 0), max(m.ContextLength, 0)),
			Tools:  cmp.Or(says(m.Parameters, "tools"), says(m.Capabilities, "tools")),
			Images: cmp.Or(says(m.Architecture.Input, "image"), says(m.Capabilities, "vision", "multimodal")),
		})
	}
	return offered, nil
}

// says returns "yes" if list holds one of names, "no" if it does not, "" if there is
// no list.
func says(list []string, names ...string) string {
	switch {
	case len(list) == 0:
		return ""
	case slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, name) }):
		return "yes"
	}
	return "no"
}

func (o *Model) base() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.demands.base
}

// get asks the server for JSON. Its errors are like Generate's.
func (o *Model) get(ctx context.Context, address string, into any) error {
	const maxList = 4 << 20 // bytes; OpenRouter's list has 1 MB
	watched, silence := llm.WatchSilence(ctx, o.options.IdleTimeout)
	defer silence.Stop()
	req, err := http.NewRequestWithContext(watched, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", address, err)
	}
	if o.options.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+o.options.APIKey)
	}
	resp, err := o.options.HTTPClient.Do(req)
	if err == nil {
		defer func() { _ = resp.Body.Close() }() // it is read or lost
		var body []byte
		if body, err = io.ReadAll(io.LimitReader(silence.Body(resp.Body), maxList)); err == nil {
			if resp.StatusCode != http.StatusOK {
				return llm.Refused(resp.StatusCode, resp.Header, body)
			}
			if err = json.Unmarshal(body, into); err != nil {
				err = fmt.Errorf("ask %s: %w", address, err)
				return &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
			}
			return nil
		}
	}
	return silence.Translate(&llm.Error{Kind: llm.KindUnreachable, Message: err.Error(), Err: err})
}
