package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cairn/channel"
	"cairn/channel/report"
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

	board                    // guards everything below
	replies map[string]reply // by the id of the answered message
	open    map[string]bool  // conversations with a running compaction
	ended   map[string]int   // compactions that have ended or had nothing to do
	failure error
}

// board guards a state whose changes others wait for.
type board struct {
	mu      sync.Mutex // guards changed, and the state
	changed chan struct{}
}

func newBoard() board { return board{changed: make(chan struct{})} }

// note changes the state.
func (b *board) note(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

// wait waits until ok, which is called with the lock held, returns true.
func (b *board) wait(ctx context.Context, ok func() bool) error {
	for {
		b.mu.Lock()
		done := ok()
		changed := b.changed
		b.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
	return &connector{name: "bench", replies: map[string]reply{}, open: map[string]bool{}, ended: map[string]int{}, board: newBoard()}
}

func (d *connector) Name() string                                { return d.name }
func (d *connector) Split(text string) []string                  { return []string{text} }
func (d *connector) Accepted(string, string, int64)              {}
func (d *connector) Used(string, string, string, report.Expense) {}
func (d *connector) Task(string, channel.Task)                   {}

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

// until waits until ok, which is called with the lock held, returns true, or something fails.
func (d *connector) until(ctx context.Context, ok func() bool) (failure error) {
	err := d.wait(ctx, func() bool {
		failure = d.failure
		return ok() || failure != nil
	})
	return errors.Join(failure, err)
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
