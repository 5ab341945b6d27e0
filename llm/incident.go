package llm

import (
	"errors"
	"log/slog"
	"sync"
)

// Incident is work that fails, from its first failure to the next success, however
// often it is tried in between. The log has both, once. The zero value has no incident.
// It is safe for concurrent use.
type Incident struct {
	mu sync.Mutex // guards on
	on bool
}

// Begin notes a failure. It tells how loud to log it: as a warning the first time,
// then at debug level.
func (i *Incident) Begin() slog.Level {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.on {
		return slog.LevelDebug
	}
	i.on = true
	return slog.LevelWarn
}

// End notes a success and tells whether that is news.
func (i *Incident) End() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	was := i.on
	i.on = false
	return was
}

// On reports whether it has started and not ended.
func (i *Incident) On() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.on
}

// OfServer reports whether err is a failure of the provider that would meet any
// request, and not this one alone.
func OfServer(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case KindAuth, KindQuota, KindUnknownModel, KindWrongAddress:
		return true
	}
	return e.Temporary()
}
