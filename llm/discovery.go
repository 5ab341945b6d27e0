// What a server says about itself, queried once: the model if none is configured, and its window.

package llm

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cairn/internal/lazy"
)

// factsTimeout limits the request for the window: a person waits for the answer to another
// request.
const factsTimeout = 3 * time.Second

// sourceDefault marks a window that came from no setting and no server.
const sourceDefault = "default"

// Discovery caches a server's model and window. One caller queries the server while the others
// wait. It is safe for concurrent use.
type Discovery struct {
	preferred []string // models to choose from if none is configured
	setting   int      // window; 0: none
	log       *slog.Logger
	asking    chan struct{} // contains a token while one caller queries

	mu          sync.Mutex // guards the fields below
	model       string     // "": not known yet
	window      Window     // Tokens 0: not queried yet
	windowKnown bool       // the server reported its window
	queries     int        // how often the server was queried
}

// NewDiscovery returns a Discovery that has queried nothing yet. model and window are the settings,
// "" and 0 for none; for preferred see Choose.
func NewDiscovery(model string, window int, preferred []string, log *slog.Logger) *Discovery {
	return &Discovery{model: model, setting: window, preferred: preferred, log: log, asking: make(chan struct{}, 1)}
}

// Model returns the configured or chosen model; "" if there is none yet.
func (d *Discovery) Model() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.model
}

// ModelID returns the model to request: the configured one, or one chosen from list.
func (d *Discovery) ModelID(ctx context.Context, list func(context.Context) ([]Offered, error)) (string, error) {
	err := d.once(ctx, func() bool { return d.Model() != "" }, func() error {
		offered, err := list(ctx)
		if err != nil {
			return err
		}
		return d.ChooseFrom(offered)
	})
	return d.Model(), err
}

// ChooseFrom chooses the model from a server's list, unless it is known.
func (d *Discovery) ChooseFrom(offered []Offered) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.model != "" {
		return nil
	}
	chosen, ok := Choose(d.preferred, offered)
	if !ok {
		return &Error{Kind: KindUnknownModel, Message: "no model is set, and the server lists no chat model"}
	}
	d.model = chosen.ID
	d.log.Info("model_chosen", "hint", "set model to use another", "model", chosen.ID, "listed", len(offered))
	return nil
}

// Window returns the window: the setting, else the result of ask (Tokens 0: none), else
// DefaultWindow. limit is a smaller one learned from an overflow; 0: none. The server is queried
// once, for at most factsTimeout, and again after its first answer if it reported no window
// before: Ollama only knows models it has loaded.
func (d *Discovery) Window(ctx context.Context, limit int, ask func(context.Context) Window) Window {
	patient, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	err := d.once(patient, func() bool { return d.knownWindow().Tokens > 0 }, func() error {
		stated := ask(patient)
		if ctx.Err() == nil { // otherwise the caller has left, and the next one queries
			d.keep(stated)
		}
		return ctx.Err()
	})
	if err != nil {
		d.log.Debug("request_window_failed", "error", err)
	}
	window := d.knownWindow()
	if window.Tokens == 0 {
		window = d.unasked()
	}
	if limit > 0 && limit < window.Tokens {
		return Window{Tokens: limit, Source: "an overflow"}
	}
	return window
}

// Answered records that the server answered a request, so it is running and its model is loaded:
// the next Window queries a second time if the server reported no window before.
func (d *Discovery) Answered() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queries == 1 && !d.windowKnown {
		d.window = Window{}
	}
}

// unasked returns the window if the server reports none.
func (d *Discovery) unasked() Window {
	if d.setting > 0 {
		return Window{Tokens: d.setting, Source: "setting"}
	}
	return Window{Tokens: DefaultWindow, Source: sourceDefault}
}

// keep stores the window that the server stated; Tokens 0: none.
func (d *Discovery) keep(stated Window) {
	window := stated
	if stated.Tokens == 0 || d.setting > 0 {
		window = d.unasked()
	}
	d.mu.Lock()
	d.window = window
	d.queries++
	d.windowKnown = stated.Tokens > 0
	first, model := d.queries == 1, d.model
	d.mu.Unlock()
	switch {
	case stated.Tokens > 0 && window.Tokens > stated.Tokens:
		d.log.Warn("window_too_large", "effect", "the server may cut prompts silently",
			"model", model, "window", window.Tokens, "server", stated.Tokens, "source", stated.Source)
	case window.Source == sourceDefault && first:
		d.log.Warn("window_guessed", "hint", "set context_window", "model", model, "window", window.Tokens)
	}
}

func (d *Discovery) knownWindow() Window {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.window
}

// once runs ask unless the answer is known. One caller asks while the others wait, each until its
// own ctx ends.
func (d *Discovery) once(ctx context.Context, known func() bool, ask func() error) error {
	if known() {
		return nil
	}
	select {
	case d.asking <- struct{}{}:
		defer func() { <-d.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if known() {
		return nil
	}
	return ask()
}

// notChat matches the ids of models that are not for conversations.
var notChat = lazy.Pattern(`(?i)embed|rerank|tts|audio|whisper|transcri|image|dall-e|sora|moderation|realtime|search|codex|computer-use|` +
	`instruct-2|davinci|babbage|\bflux\b|diffusion|\bocr\b|\bveo\b|\b(?:bge|e5|gte)-|minilm|paraphrase|\bclip\b|guard`)

// dated matches the ids of snapshots: gpt-4o-2024-08-06, gpt-4-0613, claude-3-5-haiku-20241022.
var dated = lazy.Pattern(`-(?:20\d\d-?\d\d-?\d\d|[01]\d[0-3]\d)(?:-preview)?$`)

// Choose returns the first model of preferred that is offered. If none is, it returns the first
// offered one that looks like a chat model, a dated snapshot only if there is nothing else. ok is
// false if no chat model is offered.
func Choose(preferred []string, offered []Offered) (chosen Offered, ok bool) {
	for _, id := range preferred {
		if i := slices.IndexFunc(offered, func(o Offered) bool { return o.ID == id }); i >= 0 {
			return offered[i], true
		}
	}
	for _, o := range offered {
		if o.ID == "" || notChat().MatchString(o.ID) {
			continue
		}
		if !dated().MatchString(o.ID) {
			return o, true
		}
		if !ok {
			chosen, ok = o, true // unless there is more than snapshots
		}
	}
	return chosen, ok
}
