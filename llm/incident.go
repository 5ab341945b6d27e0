package llm

import (
	"errors"
	"log/slog"
	"sync/atomic"
)

// Incident spans a series of failures, from the first one to the next success, so that the log
// contains one line for each end of it. The zero value has no incident. It is safe for concurrent
// use.
type Incident struct{ on atomic.Bool }

// Begin records a failure. It returns the level at which to log it: a warning the first time, then
// debug.
func (i *Incident) Begin() slog.Level {
	if i.on.Swap(true) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// End records a success and reports whether it ended an incident.
func (i *Incident) End() bool { return i.on.Swap(false) }

// On reports whether an incident has started and not ended.
func (i *Incident) On() bool { return i.on.Load() }

// OfServer reports whether err is a failure of the provider that would affect any request, not only
// this one.
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
