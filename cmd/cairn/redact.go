// Redaction: no secret reaches the log or standard error, whatever its source.

package main

import (
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

// attr masks an attribute of a log record, or its message, see slog.HandlerOptions.ReplaceAttr.
func (r *redactor) attr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, r.mask(v.String()))
	case slog.KindGroup: // of an incident; the handlers of slog pass what is in it
		var masked []slog.Attr
		for _, one := range v.Group() {
			masked = append(masked, r.attr(nil, one))
		}
		return slog.GroupAttrs(a.Key, masked...)
	case slog.KindAny:
		switch value := v.Any().(type) {
		case slog.Level:
			return a
		case []string:
			masked := make([]string, len(value))
			for i, text := range value {
				masked[i] = r.mask(text)
			}
			return slog.Any(a.Key, masked)
		}
		return slog.String(a.Key, r.mask(fmt.Sprint(v.Any())))
	default: // numbers and times
		return slog.Attr{Key: a.Key, Value: v}
	}
}
