package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/llmtest"
)

// Where a fault occurs.
const (
	inTurn    = "in the turn"
	afterTool = "after a tool"
	inSummary = "in the summary"
)

var positions = []string{inTurn, afterTool, inSummary}

// provider is a model on a server that misbehaves on demand.
type provider struct {
	fault     llmtest.Fault
	server    *llmtest.Server
	patient   llm.Model
	impatient llm.Model // with short timeouts, for faults that last as long as a client waits
	position  atomic.Value
	met       atomic.Int64 // requests that met the fault since it was switched on
	turns     atomic.Int64 // requests of turns since then
}

var (
	_ llm.Model   = (*provider)(nil)
	_ llm.Learner = (*provider)(nil)
)

// fine is the answer of a healthy provider.
const fine = "All is well at the pier, thank you."

func newProvider(fault llmtest.Fault) (*provider, error) {
	p := &provider{fault: fault}
	p.server = llmtest.NewServer(p.answer)
	p.on("")
	options := openai.Options{
		BaseURL: p.server.URL, Model: "test-model", Window: 32_000, RetryDelay: time.Millisecond,
		HTTPClient: &http.Client{Transport: p},
	}
	var err error
	p.patient, err = openai.New(options)
	if err != nil {
		return nil, err
	}
	options.IdleTimeout = 400 * time.Millisecond
	options.MaxTime = 800 * time.Millisecond
	p.impatient, err = openai.New(options)
	return p, err
}

// on switches the fault on at a position; "" switches it off.
func (p *provider) on(position string) {
	p.met.Store(0)
	p.turns.Store(0)
	p.position.Store(position)
}

func (p *provider) Name() string                          { return p.patient.Name() }
func (p *provider) Window(ctx context.Context) llm.Window { return p.patient.Window(ctx) }
func (p *provider) Learned() *llm.Learned                 { return p.patient.(llm.Learner).Learned() }

func (p *provider) Generate(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	if p.fault.Slow && p.meets(isSummary([]byte(req.Messages[len(req.Messages)-1].Text))) {
		req.Alive = nil // the limits of the model should apply, not the worker's
		return p.impatient.Generate(ctx, req, show)
	}
	return p.patient.Generate(ctx, req, show)
}

// isSummary reports whether the text of a request comes from a worker.
func isSummary(text []byte) bool { return bytes.Contains(text, []byte("Summarize messages #")) }

// meets reports whether a request meets the fault.
func (p *provider) meets(summary bool) bool {
	switch p.position.Load() {
	case inTurn, afterTool:
		return !summary
	case inSummary:
		return summary
	}
	return false
}

// RoundTrip counts the requests, and fails those that must not reach a server.
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return http.DefaultTransport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	summary := isSummary(body)
	if summary {
		r.Header.Set(summaryHeader, "yes")
	}
	if !p.meets(summary) {
		return http.DefaultTransport.RoundTrip(r)
	}
	if n := p.turns.Add(1); p.fault.NoServer && (n > 1 || p.position.Load() != afterTool) {
		r.URL.Host = "127.0.0.1:1"
	}
	return http.DefaultTransport.RoundTrip(r)
}

const summaryHeader = "Bench-Summary"

// answer handles a request to the server.
func (p *provider) answer(x *llmtest.Exchange) {
	summary := x.Request.Header.Get(summaryHeader) != ""
	if p.meets(summary) {
		n := int(p.met.Add(1)) - 1
		if p.position.Load() == afterTool {
			n--
			if n < 0 {
				x.Use("look", "recall", `{"query":"tea"}`)
				return
			}
		}
		if p.fault.Do(x, n) {
			return
		}
	}
	if summary {
		x.Use("sum", "summarize", fmt.Sprintf(`{"summary":%q}`, shortSummary(x.Request.Messages[1].Text())))
		return
	}
	x.Say(fine)
}
