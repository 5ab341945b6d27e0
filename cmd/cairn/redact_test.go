package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestLogMasksSecrets(t *testing.T) {
	var r redactor
	r.learn("hunter2hunter2", "pass word/9", "x")
	var out strings.Builder
	log := slog.New(r.handler(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	github := "ghp_" + "k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1"
	log = log.With("provider", "https://ada:swordfish@example.org").WithGroup("g").With("key", "hunter2hunter2")
	log.Debug("x hunter2hunter2", "error", fmt.Errorf("model: %w", errors.New("no: Authorization: Bearer abcdef0123456789")),
		"list", []string{"fine", github}, slog.Group("deep", "url", "/v1?key=abcdef0123456789&alt=sse"),
		"header", http.Header{"Authorization": {"Bot c2VjcmV0c2VjcmV0"}}, "bytes", []byte("hunter2hunter2"), "n", 7, "encoded", "pass+word%2F9")
	check.Lacks(t, "log", out.String(), "hunter2", "swordfish", "abcdef0123456789", github, "c2VjcmV0", "pass+word")
	check.Contains(t, "the text", out.String(), `"x [masked]"`, `"fine"`, `"n":7`, "example.org", "alt=sse", "model: no")
}

func TestWordsAfterSchemeNameAreNotMasked(t *testing.T) {
	var r redactor
	for _, text := range []string{
		`the app-level token, which is under "Basic Information", "App-Level Tokens"`, "basic authentication", "a bearer certificate",
		"the bearer tokens of this server", "Basic understanding of Go", "use basic questions.",
	} {
		check.Equal(t, "masked", r.mask(text), text)
	}
	for _, secret := range []string{
		"Basic dXNlcjpwYXNz", "Basic YWRhOnN3b3JkZmlzaA==", "basic YWRhOnN3b3Jk", "Bearer abcdef0123456789", "bearer " + strings.Repeat("xyzw", 8), "Bearer ab_cdef",
		"Authorization: Basic swordfish", "Authorization: Bearer swordfish",
	} {
		scheme, key, _ := strings.Cut(strings.TrimPrefix(secret, "Authorization: "), " ")
		got := r.mask("it said " + secret + " there")
		check.Lacks(t, secret, got, key)
		check.That(t, strings.Contains(got, scheme) && strings.HasSuffix(got, " there"), "%q: got %q", secret, got)
	}
}
