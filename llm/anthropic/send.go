// Sends one request and reads its answer.

package anthropic

import (
	"context"
	"errors"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/option"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// send makes one request and reads the whole answer. With an error the response contains what the
// server counted, if anything.
func (m *Model) send(ctx context.Context, c composed, extra map[string]any, show func(string)) (llm.Response, error) {
	raw, err := encode(c.body, extra)
	if err != nil {
		return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
	}
	a := answer{Said: provider.Said{Show: show, Bounds: llm.NewBounds(c.MaxTokens, m.Options.MaxAnswer)}, identity: m.Host + " " + c.Model}
	resp, err := m.Exchange(ctx, c.alive, &a, func(ctx context.Context, t *provider.Transport) (resp *http.Response, err error) {
		if err := m.client.Post(ctx, "v1/messages", raw, &resp, option.WithHTTPClient(t)); err != nil {
			return nil, known(err)
		}
		return resp, nil
	})
	if a.stopped && a.thought && c.Thinking == nil && c.room == 0 {
		m.mu.Lock()
		m.limits.thinks = true
		m.mu.Unlock()
	}
	return resp, err
}

// known returns err as an *llm.Error.
func known(err error) error {
	var e *llm.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &llm.Error{Kind: llm.KindUnreachable, Message: err.Error(), Err: err}
	}
	// What the SDK itself refuses to send.
	return &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
}
