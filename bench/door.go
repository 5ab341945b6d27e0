package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
)

// door is a place where replies arrive and are timed.
type door struct {
	name string

	mu      sync.Mutex           // guards everything below
	sent    map[string]time.Time // by the id of the message that was answered
	open    map[string]bool      // conversations in which a compaction runs
	ended   map[string]int       // how many compactions have ended, or had nothing to do
	failure error
	changed chan struct{}
}

var (
	_ channel.Door     = (*door)(nil)
	_ channel.Observer = (*door)(nil)
)

func newDoor() *door {
	return &door{name: "bench", sent: map[string]time.Time{}, open: map[string]bool{}, ended: map[string]int{}, changed: make(chan struct{})}
}

func (d *door) Name() string                          { return d.name }
func (d *door) Split(text string) []string            { return []string{text} }
func (d *door) Reply(string, []string) channel.Writer { return writer{d} }

func (d *door) Accepted(string, string, int64)           {}
func (d *door) Remembered(string, int64, string, string) {}

// Compaction notes whether one runs. One that fails spoils the numbers.
func (d *door) Compaction(conversation string, e channel.Event) {
	d.note(func() {
		switch e.State {
		case compactor.EventStarted:
			d.open[conversation] = true
		case compactor.EventLanded:
			d.open[conversation] = false
			d.ended[conversation]++
		case compactor.EventNoop: // nothing was old enough
			d.ended[conversation]++
		case compactor.EventFailed:
			d.open[conversation] = false
			d.failure = fmt.Errorf("a compaction failed: %s", e.Error)
		}
	})
}

func (d *door) note(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	close(d.changed)
	d.changed = make(chan struct{})
}

// until waits until ok, asked under the lock, is true.
func (d *door) until(ctx context.Context, ok func() bool) error {
	for {
		d.mu.Lock()
		done, failure, changed := ok(), d.failure, d.changed
		d.mu.Unlock()
		if done || failure != nil {
			return failure
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *door) running(conversation string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[conversation]
}

func (d *door) endings(conversation string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended[conversation]
}

type writer struct{ d *door }

func (writer) Show(string) {}
func (writer) Cancel()     {}

// Send notes when the reply went out.
func (w writer) Send(_ context.Context, piece channel.Piece) (string, error) {
	now := time.Now()
	w.d.note(func() {
		if piece.Failure {
			w.d.failure = fmt.Errorf("a turn failed: %s", piece.Text)
		}
		for _, id := range piece.To {
			w.d.sent[id] = now
		}
	})
	return fmt.Sprint("p", piece.Row), nil
}

// parrot is a model that says the same after a while: a reply, or a summary if one
// is asked for.
type parrot struct{ takes time.Duration }

var _ llm.Model = parrot{}

func (parrot) Name() string { return "scripted" }

func (parrot) Window(context.Context) llm.Window {
	return llm.Window{Tokens: llm.DefaultWindow, Source: "script"}
}

func (p parrot) Generate(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	timer := time.NewTimer(p.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return llm.Response{}, ctx.Err()
	}
	const reply = "It will rain, I think."
	for _, tool := range req.Tools {
		if tool.Name == "summarize" {
			call := llm.Call{ID: "call", Name: tool.Name, Arguments: fmt.Sprintf(`{"summary":%q}`, shortSummary(req.Messages[1].Text))}
			return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Calls: []llm.Call{call}}, FinishReason: llm.FinishToolCalls}, nil
		}
	}
	if show != nil {
		show(reply)
	}
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Text: reply}, FinishReason: llm.FinishStop}, nil
}
