// What a server tells of itself: its models, and how much context it really has.

package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// patienceForFacts bounds the questions after the window: they are asked while
// somebody waits for an answer to something else.
const patienceForFacts = 3 * time.Second

// sourceDefault marks a window that nobody set and no server told.
const sourceDefault = "default"

// Window tells the context window: the setting, else what the server says, else
// DefaultWindow. A limit learnt from an overflow holds when it is smaller. The
// server is asked once, for at most patienceForFacts, and once more after its
// first answer if it did not tell before: Ollama knows only of models it loaded.
func (o *OpenAI) Window(ctx context.Context) Window {
	patient, cancel := context.WithTimeout(ctx, patienceForFacts)
	defer cancel()
	err := o.once(patient, func() bool { return o.knownWindow().Tokens > 0 }, func() error {
		told := o.ask(patient)
		if ctx.Err() == nil { // else the one who asked has left, and the next one asks
			o.keep(told)
		}
		return ctx.Err()
	})
	if err != nil {
		o.options.Log.Debug("the server was not asked for its window", "error", err)
	}
	window := o.knownWindow()
	if window.Tokens == 0 {
		window = o.unasked()
	}
	if limit := o.Learnt().Facts().Window; limit > 0 && limit < window.Tokens {
		return Window{Tokens: limit, Source: "an overflow"}
	}
	return window
}

// unasked is what holds when the server says nothing.
func (o *OpenAI) unasked() Window {
	if o.options.Window > 0 {
		return Window{Tokens: o.options.Window, Source: "setting"}
	}
	return Window{Tokens: DefaultWindow, Source: sourceDefault}
}

// keep settles the window by what the server told, Tokens 0 for nothing.
func (o *OpenAI) keep(told Window) {
	window := told
	if told.Tokens == 0 || o.options.Window > 0 {
		window = o.unasked()
	}
	o.mu.Lock()
	o.window = window
	o.looks++
	o.told = told.Tokens > 0
	first := o.looks == 1
	o.mu.Unlock()
	switch {
	case told.Tokens > 0 && window.Tokens > told.Tokens:
		o.options.Log.Warn("context_window is larger than the server's: it may cut prompts silently",
			"model", o.Name(), "window", window.Tokens, "server", told.Tokens, "source", told.Source)
	case window.Source == sourceDefault && first:
		o.options.Log.Warn("the context window is a guess: set context_window",
			"model", o.Name(), "window", window.Tokens)
	}
}

// lookAgain makes the next Window ask a second time if the server has not told. It
// is called when the server has answered, so it is there and its model is loaded.
func (o *OpenAI) lookAgain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.looks == 1 && !o.told {
		o.window = Window{}
	}
}

func (o *OpenAI) knownWindow() Window {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.window
}

func (o *OpenAI) knownModel() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.model
}

// once runs ask unless the answer is known. One caller asks while the others
// wait, each for as long as its own ctx lives.
func (o *OpenAI) once(ctx context.Context, known func() bool, ask func() error) error {
	if known() {
		return nil
	}
	select {
	case o.asking <- struct{}{}:
		defer func() { <-o.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if known() {
		return nil
	}
	return ask()
}

// modelID is the model to ask for: the one that was set, or the server's first.
func (o *OpenAI) modelID(ctx context.Context) (string, error) {
	err := o.once(ctx, func() bool { return o.knownModel() != "" }, func() error {
		models, err := o.models(ctx)
		if err != nil {
			return err
		}
		return o.takeFirst(models)
	})
	return o.knownModel(), err
}

// takeFirst settles the model, if none is known yet, by the server's list.
func (o *OpenAI) takeFirst(models []servedModel) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.model != "":
		return nil
	case len(models) == 0 || models[0].ID == "":
		return &Error{Kind: KindBadRequest, Message: "no model was named, and the server names none"}
	}
	o.model = models[0].ID
	return nil
}

// ask tells what the server says of the model's window, Tokens 0 when nothing. The
// order is that of trust: what Ollama loaded, what is listed, what llama.cpp runs.
func (o *OpenAI) ask(ctx context.Context) Window {
	// A server that lists no models may still be asked the rest.
	models, _ := o.models(ctx)
	_ = o.takeFirst(models)
	model := o.knownModel()
	root := strings.TrimSuffix(o.options.BaseURL, "/v1")
	var running struct {
		Models []struct {
			Name          string
			ContextLength int `json:"context_length"`
		}
	}
	if o.host != openAIHost && o.get(ctx, root+"/api/ps", &running) == nil {
		for _, m := range running.Models {
			if m.ContextLength > 0 && (m.Name == model || m.Name == model+":latest") {
				return Window{Tokens: m.ContextLength, Source: "GET /api/ps"}
			}
		}
	}
	for _, m := range models {
		if tokens := m.window(); m.ID == model && tokens > 0 {
			return Window{Tokens: tokens, Source: "GET /models"}
		}
	}
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if o.host != openAIHost && o.get(ctx, root+"/props", &props) == nil && props.Settings.Context > 0 {
		return Window{Tokens: props.Settings.Context, Source: "GET /props"}
	}
	return Window{}
}

// servedModel is an entry of GET /models, with what servers add to it.
type servedModel struct {
	ID            string
	ContextLength int `json:"context_length"` // OpenRouter
	MaxModelLen   int `json:"max_model_len"`  // vLLM
	Meta          struct {
		Context int `json:"n_ctx"` // llama.cpp
	}
}

func (m servedModel) window() int {
	return cmp.Or(max(m.Meta.Context, 0), max(m.MaxModelLen, 0), max(m.ContextLength, 0))
}

// models lists what the server offers. The library does the same but drops what
// servers say of the window.
func (o *OpenAI) models(ctx context.Context) ([]servedModel, error) {
	var list struct{ Data []servedModel }
	err := o.get(ctx, o.options.BaseURL+"/models", &list)
	return list.Data, err
}

// get asks the server for JSON. Its errors are like Generate's.
func (o *OpenAI) get(ctx context.Context, address string, into any) error {
	const maxList = 4 << 20 // bytes; OpenRouter's list has 1 MB
	limited, cancel := context.WithTimeoutCause(ctx, o.options.IdleTimeout, errSilent)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, address, nil)
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
		if body, err = io.ReadAll(io.LimitReader(resp.Body, maxList)); err == nil {
			if resp.StatusCode != http.StatusOK {
				return refusal(resp.StatusCode, resp.Header, body)
			}
			if err = json.Unmarshal(body, into); err != nil {
				err = fmt.Errorf("ask %s: %w", address, err)
				return &Error{Kind: KindBadRequest, Message: err.Error(), Err: err}
			}
			return nil
		}
	}
	if errors.Is(context.Cause(limited), errSilent) {
		return o.silent()
	}
	return &Error{Kind: KindUnreachable, Message: err.Error(), Err: err}
}
