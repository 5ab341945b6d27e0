package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"cairn/channel"
)

// faultDoor is a place where answers, sentences and what the log says arrive, by
// conversation.
type faultDoor struct {
	mu      sync.Mutex // guards everything below
	sent    map[string]channel.Piece
	warned  map[string][]string
	ended   map[string]int
	changed chan struct{}
}

var _ channel.Door = (*faultDoor)(nil)

func newFaultDoor() *faultDoor {
	return &faultDoor{sent: map[string]channel.Piece{}, warned: map[string][]string{}, ended: map[string]int{}, changed: make(chan struct{})}
}

func (d *faultDoor) Name() string                          { return "bench" }
func (d *faultDoor) Split(text string) []string            { return []string{text} }
func (d *faultDoor) Reply(string, []string) channel.Writer { return faultWriter{d} }

// await returns what was sent in answer to a message, by its id.
func (d *faultDoor) await(ctx context.Context, id string) (channel.Piece, error) {
	for {
		d.mu.Lock()
		piece, there := d.sent[id]
		changed := d.changed
		d.mu.Unlock()
		if there {
			return piece, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return piece, fmt.Errorf("%s was never answered: %w", id, ctx.Err())
		}
	}
}

// log tells what the log had for a conversation since it was asked last: warnings, and
// how many incidents ended.
func (d *faultDoor) log(conversation string) (warned []string, ended int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	warned, ended = d.warned[conversation], d.ended[conversation]
	delete(d.warned, conversation)
	delete(d.ended, conversation)
	return warned, ended
}

type faultWriter struct{ d *faultDoor }

func (faultWriter) Show(string) {}
func (faultWriter) Cancel()     {}

func (w faultWriter) Send(_ context.Context, piece channel.Piece) (string, error) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	for _, id := range piece.To {
		w.d.sent[id] = piece
	}
	close(w.d.changed)
	w.d.changed = make(chan struct{})
	return fmt.Sprint("p", piece.Row), nil
}

// faultLog is the log of the bot, read line by line.
type faultLog struct {
	d            *faultDoor
	conversation string
}

func (l faultLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l faultLog) WithGroup(string) slog.Handler                    { return l }

func (l faultLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key == "conversation" {
			l.conversation = a.Value.String()
		}
	}
	return l
}

func (l faultLog) Handle(_ context.Context, line slog.Record) error {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	switch {
	case line.Level >= slog.LevelWarn:
		text := line.Message
		line.Attrs(func(a slog.Attr) bool {
			text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
			return true
		})
		l.d.warned[l.conversation] = append(l.d.warned[l.conversation], text)
	case strings.HasSuffix(line.Message, "_recovered"):
		l.d.ended[l.conversation]++
	}
	return nil
}
