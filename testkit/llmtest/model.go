// Package llmtest has test doubles of a model: Model, which is scripted in Go, and Server, a strict
// server that speaks the providers' protocols and misbehaves on demand.
package llmtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/llm"
	"cairn/testkit/loopback"
)

// Model is a scripted llm.Model. The zero value answers every request with an error.
type Model struct {
	Label  string // Name; empty: "scripted"
	Tokens int    // Window; 0: llm.DefaultWindow

	// Func responds to the n-th request, counted from 1. It must be safe for concurrent use if the
	// model is used concurrently. Usage returned with an error is that of a failed attempt, and text is shown before it.
	Func func(ctx context.Context, n int, req llm.Request) (llm.Response, error)
	// Delay is waited before the response, and again between the pieces in which it is shown.
	Delay time.Duration

	mu       sync.Mutex // guards the fields below
	requests []llm.Request
}

var _ llm.Model = (*Model)(nil)

// Name returns Label, or its default.
func (m *Model) Name() string { return cmp.Or(m.Label, "scripted") }

// Window returns Tokens, or its default.
func (m *Model) Window(context.Context) llm.Window {
	if m.Tokens == 0 {
		return llm.GuessedWindow
	}
	return llm.Window{Tokens: m.Tokens, Source: "script"}
}

// Generate records req and responds as Func does; the text is shown word by word.
func (m *Model) Generate(ctx context.Context, req llm.Request, show func(delta string)) (llm.Response, error) {
	if err := req.Charge(); err != nil {
		return llm.Response{}, err
	}
	m.mu.Lock()
	req.Messages = joined(req.Messages)
	m.requests = append(m.requests, req)
	n := len(m.requests)
	m.mu.Unlock()

	loopback.Sleep(ctx, nil, m.Delay)
	if ctx.Err() != nil {
		return llm.Response{}, ctx.Err()
	}
	if m.Func == nil {
		return llm.Response{}, fmt.Errorf("llmtest: nobody expected request %d", n)
	}
	resp, err := m.Func(ctx, n, req)
	resp.Message.Calls = slices.Clone(resp.Message.Calls) // a client decodes each answer anew
	if err != nil {
		req.ReportFailed(resp.Usage)
	}
	if show == nil {
		return resp, err
	}
	if alive := req.Alive; alive != nil {
		shown := show
		show = func(delta string) { alive(); shown(delta) }
	}
	for i, piece := range strings.SplitAfter(resp.Message.Text, " ") {
		if i > 0 {
			loopback.Sleep(ctx, nil, m.Delay)
			if ctx.Err() != nil {
				return llm.Response{}, ctx.Err()
			}
		}
		if piece != "" {
			show(piece)
		}
	}
	return resp, err
}

// Requests returns the requests so far, oldest first, with consecutive user messages joined.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Say returns a response with text.
func Say(text string) llm.Response {
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Text: text}, FinishReason: llm.FinishStop}
}

// Use returns a response that calls tools.
func Use(calls ...llm.Call) llm.Response {
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Calls: calls}, FinishReason: llm.FinishToolCalls}
}

// Call returns a tool call with arguments as JSON. It panics if they cannot be encoded.
func Call(id, tool string, arguments any) llm.Call {
	return llm.Call{ID: id, Name: tool, Arguments: encode(arguments)}
}

// joined returns messages with neighbours in user role merged, their texts separated by a blank line, as wires and
// templates join them.
func joined(messages []llm.Message) (all []llm.Message) {
	for len(messages) > 0 {
		m := messages[0]
		n := 1
		texts := []string{m.Text}
		for ; n < len(messages) && m.Role == llm.RoleUser && messages[n].Role == llm.RoleUser; n++ {
			texts = append(texts, messages[n].Text) // thousands, where the bot was only listening
			m.Images = append(slices.Clip(m.Images), messages[n].Images...)
		}
		m.Text = strings.Join(texts, "\n\n")
		all = append(all, m)
		messages = messages[n:]
	}
	return all
}
