package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// faultLog is a handler that records the bot's log.
type faultLog struct {
	*logged
	conversation string
}

// logged has the log entries, by conversation.
type logged struct {
	mu     sync.Mutex // guards everything below
	warned map[string][]string
	ended  map[string]int // incidents that ended
}

// take returns a conversation's warnings since the last call, and how many incidents ended.
func (l *logged) take(conversation string) (warned []string, ended int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	warned, ended = l.warned[conversation], l.ended[conversation]
	delete(l.warned, conversation)
	delete(l.ended, conversation)
	return warned, ended
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
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case line.Level >= slog.LevelWarn:
		text := line.Message
		line.Attrs(func(a slog.Attr) bool {
			text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
			return true
		})
		l.warned[l.conversation] = append(l.warned[l.conversation], text)
	case strings.HasSuffix(line.Message, "_recovered"):
		l.ended[l.conversation]++
	}
	return nil
}
