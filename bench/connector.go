package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cairn/channel"
	"cairn/compactor"
)

// connector records replies and when they arrived.
type connector struct {
	name     string
	tolerant bool // failures are expected

	// Called instead of recording; nil: record.
	replied   func(conversation string, piece channel.Piece)
	compacted func(conversation string, e channel.Event)
	saved     func() // called for each new memory

	mu      sync.Mutex       // guards everything below
	replies map[string]reply // by the id of the answered message
	open    map[string]bool  // conversations with a running compaction
	ended   map[string]int   // compactions that have ended or had nothing to do
	failure error
	changed chan struct{}
}

// reply is a piece and when it was sent.
type reply struct {
	channel.Piece
	at time.Time
}

var (
	_ channel.Connector = (*connector)(nil)
	_ channel.Observer  = (*connector)(nil)
)

func newConnector() *connector {
	return &connector{name: "bench", replies: map[string]reply{}, open: map[string]bool{}, ended: map[string]int{}, changed: make(chan struct{})}
}

func (d *connector) Name() string                   { return d.name }
func (d *connector) Split(text string) []string     { return []string{text} }
func (d *connector) Accepted(string, string, int64) {}

func (d *connector) Reply(conversation string, _ []string) channel.Writer {
	return writer{d, conversation}
}

func (d *connector) Remembered(string, int64, string, string) {
	if d.saved != nil {
		d.saved()
	}
}

// Compaction records whether a compaction is running. A failed one distorts the results, so it is
// an error.
func (d *connector) Compaction(conversation string, e channel.Event) {
	if d.compacted != nil {
		d.compacted(conversation, e)
		return
	}
	d.note(func() {
		switch e.State {
		case compactor.EventStarted:
			d.open[conversation] = true
		case compactor.EventApplied:
			d.open[conversation] = false
			d.ended[conversation]++
		case compactor.EventNoop: // nothing was old enough
			d.ended[conversation]++
		case compactor.EventFailed:
			d.open[conversation] = false
			d.failLocked(fmt.Errorf("a compaction failed: %s", e.Error))
		}
	})
}

func (d *connector) failLocked(err error) {
	if !d.tolerant {
		d.failure = err
	}
}

func (d *connector) note(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	close(d.changed)
	d.changed = make(chan struct{})
}

// until waits until ok, which is called with the lock held, returns true.
func (d *connector) until(ctx context.Context, ok func() bool) error {
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

// await waits for the reply to a message.
func (d *connector) await(ctx context.Context, id string) (r reply, err error) {
	err = d.until(ctx, func() (there bool) {
		r, there = d.replies[id]
		return there
	})
	if err != nil {
		err = fmt.Errorf("wait for the reply to %s: %w", id, err)
	}
	return r, err
}

func (d *connector) running(conversation string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[conversation]
}

func (d *connector) endings(conversation string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended[conversation]
}

// writer records the replies in a conversation.
type writer struct {
	d            *connector
	conversation string
}

func (writer) Show(string) {}
func (writer) Cancel()     {}

func (w writer) Send(_ context.Context, piece channel.Piece) (string, error) {
	now := time.Now()
	if w.d.replied != nil {
		w.d.replied(w.conversation, piece)
		return fmt.Sprint("p", piece.Row), nil
	}
	w.d.note(func() {
		if piece.Failure {
			w.d.failLocked(fmt.Errorf("a turn failed: %s", piece.Text))
		}
		for _, id := range piece.To {
			w.d.replies[id] = reply{piece, now}
		}
	})
	return fmt.Sprint("p", piece.Row), nil
}
