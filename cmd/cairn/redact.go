// Redaction: no secret reaches the log or standard error, whatever its source.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
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

// schemes matches text after the name of an HTTP authentication scheme. It may be credentials or
// plain words: "Basic Information" is a page of Slack's.
var schemes = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)([^\s"'&<>,;\]]{6,})`)

// maskScheme masks the text after the name of a scheme if it looks like credentials.
func maskScheme(found string) string {
	parts := schemes.FindStringSubmatch(found)
	if !isCredential(parts[2]) {
		return found
	}
	return parts[1] + "[masked]"
}

// longestWord is the longest text without digits and signs that still counts as a word.
const longestWord = 24

// isCredential reports whether text is more than a word: it contains digits or base64 symbols, is
// longer than longestWord, or is "user:password" in base64.
func isCredential(text string) bool {
	if strings.ContainsAny(text, "0123456789+/=_") || len(text) > longestWord {
		return true
	}
	decoded, err := base64.RawStdEncoding.DecodeString(text[:len(text)-len(text)%4]) // the end may be cut off
	return err == nil && bytes.ContainsRune(decoded, ':') && !bytes.ContainsFunc(decoded, func(r rune) bool { return r < ' ' || r > '~' })
}

func (r *redactor) mask(text string) string {
	r.mu.RLock()
	for _, secret := range r.known {
		text = strings.ReplaceAll(text, secret, "[masked]")
	}
	r.mu.RUnlock()
	text = credentials.ReplaceAllString(text, "$1[masked]")
	return secrets.Mask(schemes.ReplaceAllStringFunc(text, maskScheme))
}

// redacted is a log handler that masks records before it passes them on.
type redacted struct {
	slog.Handler // decides which records are written
	r            *redactor
	// to is the same handler with the attributes of all records, masked. They are masked when the first
	// record is written: each conversation has some, and most never write one.
	to func() slog.Handler
}

func (r *redactor) handler(h slog.Handler) redacted {
	return redacted{h, r, func() slog.Handler { return h }}
}

// Handle masks the message and all attributes.
func (h redacted) Handle(ctx context.Context, record slog.Record) error {
	masked := slog.NewRecord(record.Time, record.Level, h.r.mask(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(h.attr(a))
		return true
	})
	return h.to().Handle(ctx, masked)
}

// WithAttrs masks the attributes that every record gets.
func (h redacted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(func(to slog.Handler) slog.Handler {
		masked := make([]slog.Attr, len(attrs))
		for i, a := range attrs {
			masked[i] = h.attr(a)
		}
		return to.WithAttrs(masked)
	})
}

// WithGroup returns a handler that puts the attributes into a group.
func (h redacted) WithGroup(name string) slog.Handler {
	return h.with(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h redacted) with(change func(to slog.Handler) slog.Handler) slog.Handler {
	before := h.to
	h.to = sync.OnceValue(func() slog.Handler { return change(before()) })
	return h
}

func (h redacted) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.r.mask(v.String()))
	case slog.KindGroup:
		var members []any
		for _, member := range v.Group() {
			members = append(members, h.attr(member))
		}
		return slog.Group(a.Key, members...)
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
