// What a server says about itself, queried once: the model if none is configured, and its window.

package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"cairn/llm"
)

// factsTimeout limits the request for the window: a person waits for the answer to another request.
const factsTimeout = 3 * time.Second

type discovered struct {
	model  string     // the configured or chosen one; "": not known yet
	window llm.Window // Tokens 0: to be queried
	unsaid int        // how often the server was queried for its window in vain
}

func (c *Client) discovered() discovered {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found
}

// Model returns the configured or chosen model; "" if there is none yet.
func (c *Client) Model() string { return c.discovered().model }

// modelID returns the model to request: the configured one, or one chosen from the server's list.
func (c *Client) modelID(ctx context.Context) (string, error) {
	err := c.once(ctx, func() bool { return c.Model() != "" }, func() error {
		offered, err := c.Protocol.Models(ctx)
		if err != nil {
			return err
		}
		chosen, ok := llm.Choose(c.defaults.Preferred, offered)
		if !ok {
			return &llm.Error{Kind: llm.KindUnknownModel, Message: "no model is set, and the server lists no chat model"}
		}
		c.mu.Lock()
		c.found.model = chosen.ID
		c.mu.Unlock()
		c.Options.Log.Info("model_chosen", "hint", "set model to use another", "model", chosen.ID, "listed", len(offered))
		return nil
	})
	return c.Model(), err
}

// Window returns the context window: the setting, else the server's, else llm.DefaultWindow. A smaller limit learned
// from an overflow wins. The server is queried once, for at most factsTimeout, and again after its first answer if it
// reported no window before: Ollama only knows models it has loaded.
func (c *Client) Window(ctx context.Context) llm.Window {
	patient, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	_, _ = c.modelID(patient) // without a model there is no window
	err := c.once(patient, func() bool { return c.discovered().window.Tokens > 0 }, func() error {
		stated := c.Protocol.AskWindow(patient)
		if ctx.Err() == nil { // otherwise the caller has left, and the next one queries
			c.keepWindow(stated)
		}
		return ctx.Err()
	})
	if err != nil {
		c.Options.Log.Debug("request_window_failed", "error", err)
	}
	window := cmp.Or(c.discovered().window, c.assumed)
	if limit := c.Learned().Facts().Window; limit > 0 && limit < window.Tokens {
		return llm.Window{Tokens: limit, Source: "an overflow"}
	}
	return window
}

// answered records that the server answered a request, so it is running and its model is loaded.
func (c *Client) answered(req llm.Request, resp llm.Response) {
	c.Learned().Fits(resp.Usage.Prompt)
	size := promptBytes(req)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, without := c.suspicions[req.CacheKey]; !without { // content
		c.longest = max(c.longest, size)
	}
	if c.found.unsaid == 1 {
		c.found.window = llm.Window{}
	}
}

// keepWindow stores the window that the server stated; Tokens 0: none.
func (c *Client) keepWindow(stated llm.Window) {
	c.mu.Lock()
	found := &c.found
	found.window = stated
	if stated.Tokens == 0 || c.Options.Window > 0 {
		found.window = c.assumed
	}
	found.unsaid++
	if stated.Tokens > 0 {
		found.unsaid = 0
	}
	now := *found
	c.mu.Unlock()
	switch {
	case stated.Tokens > 0 && now.window.Tokens > stated.Tokens:
		c.Options.Log.Warn("window_too_large", "effect", "the server may cut prompts silently",
			"model", now.model, "window", now.window.Tokens, "server", stated.Tokens, "source", stated.Source)
	case now.window == llm.GuessedWindow && now.unsaid == 1:
		c.Options.Log.Warn("window_guessed", "hint", "set context_window", "model", now.model, "window", now.window.Tokens)
	}
}

// ListedWindow returns the window of the model in a server's list; Tokens 0: the list does not say.
func (c *Client) ListedWindow(list []llm.Offered, source string) llm.Window {
	model := c.Model()
	if i := slices.IndexFunc(list, func(o llm.Offered) bool { return o.ID == model && o.Window > 0 }); i >= 0 {
		return llm.Window{Tokens: list[i].Window, Source: source}
	}
	return llm.Window{}
}

// once runs ask unless the answer is known. One caller asks while the others wait, each until its own ctx ends.
func (c *Client) once(ctx context.Context, known func() bool, ask func() error) error {
	if known() {
		return nil
	}
	if err := c.asking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.asking.Release(1)
	if known() {
		return nil
	}
	return ask()
}

// listed is an entry of a list of models, in the fields of various servers.
type listed struct {
	ID               string
	MaxInputTokens   Tokens   `json:"max_input_tokens"`     // Anthropic
	MaxModelLen      Tokens   `json:"max_model_len"`        // vLLM
	ContextLength    Tokens   `json:"context_length"`       // OpenRouter, Together, Fireworks, Moonshot
	ContextWindow    Tokens   `json:"context_window"`       // Groq
	MaxContextLength Tokens   `json:"max_context_length"`   // Mistral
	Parameters       []string `json:"supported_parameters"` // OpenRouter
	Meta             struct {
		Context Tokens `json:"n_ctx"`
	} // llama.cpp
	Architecture struct {
		Input []string `json:"input_modalities"`
	} // OpenRouter
	Capabilities struct {
		Image *struct{ Supported bool } `json:"image_input"`
	} // Anthropic
}

// List returns the models that the server lists at an address.
func (c *Client) List(ctx context.Context, address string) ([]llm.Offered, error) {
	var page struct{ Data []listed }
	if err := c.Ask(ctx, address, &page); err != nil {
		return nil, err
	}
	offered := make([]llm.Offered, len(page.Data))
	for i, l := range page.Data {
		window := cmp.Or(l.MaxInputTokens, l.Meta.Context, l.MaxModelLen, l.ContextLength, l.ContextWindow, l.MaxContextLength)
		offered[i] = llm.Offered{ID: l.ID, Window: int(window)}
		if len(l.Parameters) > 0 {
			offered[i].Tools = yesNo[slices.Contains(l.Parameters, "tools")]
		}
		if len(l.Architecture.Input) > 0 {
			offered[i].Images = yesNo[slices.Contains(l.Architecture.Input, "image")]
		}
		if image := l.Capabilities.Image; image != nil {
			offered[i].Images = yesNo[image.Supported]
		}
	}
	return offered, nil
}

var yesNo = map[bool]string{true: "yes", false: "no"}

// maxCounted is the largest count that is accepted. No window is as large.
const maxCounted = 100_000_000

// Tokens is a count of tokens. An invalid or impossible value counts as missing.
type Tokens int

// UnmarshalJSON never fails.
func (n *Tokens) UnmarshalJSON(raw []byte) error {
	var v float64
	if json.Unmarshal(raw, &v) == nil && v > 0 && v <= maxCounted {
		*n = Tokens(v)
	}
	return nil
}
