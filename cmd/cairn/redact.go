// Redaction: no secret reaches the log or standard error, whatever its source.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cairn/internal/secrets"
)

// redactor masks secrets: known ones literally, others by their form. The zero value knows no
// secrets. It is safe for concurrent use.
type redactor struct {
	mu    sync.RWMutex // guards known
	known []string
}

// shortestSecret is the minimum length of a known secret that is masked; shorter ones may be words.
const shortestSecret = 6

// learn adds secrets to mask, also in their URL-encoded forms.
func (r *redactor) learn(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			if len(form) >= shortestSecret && !slices.Contains(r.known, form) {
				r.known = append(r.known, form)
			}
		}
	}
}

// credentials matches credentials after the name of a header or parameter.
var credentials = regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*[\["']*(?:(?:bearer|basic|bot)\s+)?|\b(?:x-)?api[_-]?key["']?\s*[:=]\s*[\["']*|[?&](?:api_?key|key|token|access_token)=)([^\s"'&<>,;\]]{6,})`)

// schemes matches credentials after the name of an HTTP authentication scheme: what has a digit, a
// sign or mixed case, or is long. "Basic Information" is a page of Slack's.
var schemes = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)(?:[^\s"'&<>,;\]]*(?:[0-9+/=_]|(?-i:[a-z][A-Z]))[^\s"'&<>,;\]]*|[^\s"'&<>,;\]]{25,})`)

func (r *redactor) mask(text string) string {
	r.mu.RLock()
	for _, secret := range r.known {
		text = strings.ReplaceAll(text, secret, "[masked]")
	}
	r.mu.RUnlock()
	text = credentials.ReplaceAllString(text, "$1[masked]")
	return secrets.Mask(schemes.ReplaceAllString(text, "$1[masked]"))
}

// redacted is a log handler that masks records before it passes them on.
type redacted struct {
	slog.Handler
	r     *redactor
	attrs []slog.Attr // of all records; masked with each: most conversations never log
}

func (r *redactor) handler(h slog.Handler) redacted { return redacted{Handler: h, r: r} }

// Handle masks the message and all attributes.
func (h redacted) Handle(ctx context.Context, record slog.Record) error {
	masked := slog.NewRecord(record.Time, record.Level, h.r.mask(record.Message), record.PC)
	masked.AddAttrs(h.masked(h.attrs)...)
	record.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, masked)
}

// WithAttrs returns a handler that adds the attributes to every record.
func (h redacted) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(slices.Clip(h.attrs), attrs...)
	return h
}

// WithGroup returns a handler that puts later attributes into a group.
func (h redacted) WithGroup(name string) slog.Handler {
	return redacted{Handler: h.Handler.WithAttrs(h.masked(h.attrs)).WithGroup(name), r: h.r}
}

func (h redacted) masked(attrs []slog.Attr) (masked []slog.Attr) {
	for _, a := range attrs {
		masked = append(masked, h.attr(a))
	}
	return masked
}

func (h redacted) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.r.mask(v.String()))
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(h.masked(v.Group())...)}
	case slog.KindAny:
		if list, ok := v.Any().([]string); ok {
			masked := make([]string, len(list))
			for i, text := range list {
				masked[i] = h.r.mask(text)
			}
			return slog.Any(a.Key, masked)
		}
		return slog.String(a.Key, h.r.mask(fmt.Sprint(v.Any())))
	default: // numbers and times
		return slog.Attr{Key: a.Key, Value: v}
	}
}
