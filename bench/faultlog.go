package main

import (
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
)

// faultLog counts the entries of the bot's log, by conversation. It is written as JSON.
type faultLog struct {
	mu     sync.Mutex // guards everything below
	warned map[string][]string
	ended  map[string]int // incidents that ended
}

// take returns a conversation's warnings since the last call, and how many incidents ended.
func (l *faultLog) take(conversation string) (warned []string, ended int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	warned = l.warned[conversation]
	ended = l.ended[conversation]
	delete(l.warned, conversation)
	delete(l.ended, conversation)
	return warned, ended
}

// Write receives one entry.
func (l *faultLog) Write(line []byte) (int, error) {
	var entry struct {
		Level             slog.Level
		Msg, Conversation string
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case entry.Level >= slog.LevelWarn:
		l.warned[entry.Conversation] = append(l.warned[entry.Conversation], string(line))
	case strings.HasSuffix(entry.Msg, "_recovered"):
		l.ended[entry.Conversation]++
	}
	return len(line), nil
}
