// What a server says about itself, queried once: the model if none is configured, and its window.

package provider

import (
	"context"
	"time"

	"cairn/llm"
)

// factsTimeout limits the request for the window: a person waits for the answer to another
// request.
const factsTimeout = 3 * time.Second

type discovered struct {
	model       string     // the configured or chosen one; "": not known yet
	window      llm.Window // Tokens 0: not queried yet
	windowKnown bool       // the server reported its window
	queries     int        // how often the server was queried for the window
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
		return c.choose(offered)
	})
	return c.Model(), err
}

// choose chooses the model from a server's list, unless it is known.
func (c *Client) choose(offered []llm.Offered) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found.model != "" {
		return nil
	}
	chosen, ok := llm.Choose(c.preferred, offered)
	if !ok {
		return &llm.Error{Kind: llm.KindUnknownModel, Message: "no model is set, and the server lists no chat model"}
	}
	c.found.model = chosen.ID
	c.Options.Log.Info("model_chosen", "hint", "set model to use another", "model", chosen.ID, "listed", len(offered))
	return nil
}

// Window returns the context window: the setting, else the server's, else llm.DefaultWindow. A smaller
// limit learned from an overflow wins. The server is queried once, for at most factsTimeout, and again
// after its first answer if it reported no window before: Ollama only knows models it has loaded.
func (c *Client) Window(ctx context.Context) llm.Window {
	patient, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
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
	window := c.discovered().window
	if window.Tokens == 0 {
		window = c.unasked()
	}
	if limit := c.Learnt().Facts().Window; limit > 0 && limit < window.Tokens {
		return llm.Window{Tokens: limit, Source: "an overflow"}
	}
	return window
}

// answered records that the server answered a request, so it is running and its model is loaded.
func (c *Client) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found.queries == 1 && !c.found.windowKnown {
		c.found.window = llm.Window{}
	}
}

// unasked returns the window if the server reports none.
func (c *Client) unasked() llm.Window {
	if c.Options.Window > 0 {
		return llm.Window{Tokens: c.Options.Window, Source: "setting"}
	}
	return llm.GuessedWindow
}

// keepWindow stores the window that the server stated; Tokens 0: none.
func (c *Client) keepWindow(stated llm.Window) {
	window := stated
	if stated.Tokens == 0 || c.Options.Window > 0 {
		window = c.unasked()
	}
	c.mu.Lock()
	c.found.window, c.found.windowKnown = window, stated.Tokens > 0
	c.found.queries++
	now := c.found
	c.mu.Unlock()
	switch {
	case stated.Tokens > 0 && window.Tokens > stated.Tokens:
		c.Options.Log.Warn("window_too_large", "effect", "the server may cut prompts silently",
			"model", now.model, "window", window.Tokens, "server", stated.Tokens, "source", stated.Source)
	case window == llm.GuessedWindow && now.queries == 1:
		c.Options.Log.Warn("window_guessed", "hint", "set context_window", "model", now.model, "window", window.Tokens)
	}
}

// ListedWindow returns the window of the model in a server's list; Tokens 0: the list does not say. It
// chooses the model if none is set.
func (c *Client) ListedWindow(list []llm.Offered, source string) llm.Window {
	_ = c.choose(list) // without a model there is no window
	model := c.Model()
	for _, o := range list {
		if o.ID == model && o.Window > 0 {
			return llm.Window{Tokens: o.Window, Source: source}
		}
	}
	return llm.Window{}
}

// once runs ask unless the answer is known. One caller asks while the others wait, each until its
// own ctx ends.
func (c *Client) once(ctx context.Context, known func() bool, ask func() error) error {
	if known() {
		return nil
	}
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if known() {
		return nil
	}
	return ask()
}
