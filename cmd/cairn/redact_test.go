package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
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
		if got := r.mask("it said " + secret + " there"); strings.Contains(got, key) || !strings.Contains(got, scheme) || !strings.HasSuffix(got, " there") {
			t.Errorf("%q: got %q", secret, got)
		}
	}
}

// A busy bot at debug level, with secrets everywhere and a provider that repeats its input: the log
// has no secret, and no message of a person.
func TestLogHasNoSecretsOrMessages(t *testing.T) {
	t.Parallel()
	const key, password = "key-4711-of-the-model", "swordfish-of-the-proxy"
	pasted := []string{"ghp_" + "k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1", "sk-ant-" + strings.Repeat("Cd2", 12), "AKIA" + "Q3T7WZ5NXK2LJ4RB"}
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		last := x.Request.Messages[len(x.Request.Messages)-1].Text()
		if strings.Contains(last, "break") {
			x.Refuse(http.StatusUnauthorized, "", fmt.Sprintf(`{"error":{"message":"Incorrect API key provided: %s (Authorization: Bearer %s), from http://u:%s@proxy/, near %s"}}`, key, key, password, strings.Join(pasted, " ")))
			return
		}
		x.Say("Understood, the cuckoo flies at midnight.")
	})
	p := newPlatforms(t)
	f := p.folder("", "OPENAI_BASE_URL="+strings.Replace(server.URL, "http://", "http://ada:"+password+"@", 1), "OPENAI_MODEL=m", "OPENAI_API_KEY="+key)
	r := f.start("run", "--log-level", "debug")
	p.open(r)
	p.sayOnDiscord("my keys are " + strings.Join(pasted, " ") + " and the eagle has landed")
	p.sayOnSlack("mine too: " + strings.Join(pasted, " "))
	p.until(r, "both are answered", func() bool { return p.answers("Understood, the cuckoo flies at midnight.") == [2]int{1, 1} })
	p.sayOnDiscord("/remember the eagle's token is " + pasted[0])
	p.sayOnSlack("now break")
	p.wait(r, p.onSlack, "rejects my API key")
	p.until(r, "the failure is logged", func() bool { return strings.Contains(r.errs.String(), "turn_failed") })
	r.stop()
	said := r.errs.String()
	check.Lacks(t, "the output", said,
		append(pasted, key, password, "token\"", slacktest.BotToken, slacktest.AppToken, "eagle", "cuckoo", "mine too")...)
	check.Contains(t, "output", said, "[masked")
}
