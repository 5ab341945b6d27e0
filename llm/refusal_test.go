package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/internal/check"
)

func TestRefusalsBecomeErrors(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		body    string
		kind    Kind
		message string
	}{
		"an object":                {400, `{"error":{"message":"bad thing","type":"invalid_request_error"}}`, KindBadRequest, "bad thing"},
		"a string":                 {404, `{"error":"model 'x' not found, try pulling it first"}`, KindUnknownModel, "model 'x' not found, try pulling it first"},
		"a list":                   {403, `[{"error":{"code":403,"message":"no permission","status":"PERMISSION_DENIED"}}]`, KindAuth, "no permission"},
		"a message that is a list": {400, `{"error":{"message":["one","two"]}}`, KindBadRequest, "one: two"},
		"a detail":                 {422, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"value_error.missing"}]}`, KindBadRequest, "field required (at [body messages])"},
		"JSON in a string":         {502, `{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":\"upstream is down\"}"}}}`, KindOverloaded, "Provider returned error: upstream is down"},
		"a page":                   {502, "<html><head><style>p{}</style><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>", KindOverloaded, "<html><head><style>p{}</style><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"},
		"nothing":                  {500, "", KindOverloaded, "Internal Server Error"},
		"no credit":                {402, `{"error":{"message":"Insufficient credits","code":402}}`, KindQuota, "Insufficient credits"},
		"200 with a code":          {200, `{"error":{"message":"slow down","code":429}}`, KindRateLimited, "slow down"},
		"200 with a page":          {200, "<!doctype html><title>Open WebUI</title>", KindWrongAddress, "<!doctype html><title>Open WebUI</title>"},
		"200 nobody can sort":      {200, `{"error":"something broke"}`, KindOverloaded, "something broke"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Refused(c.status, nil, []byte(c.body))
			check.Equal(t, "error kind", err.Kind, c.kind)
			check.Equal(t, "error message", err.Message, c.message)
		})
	}
}

func TestRetryAfterForms(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "1.5", 1500 * time.Millisecond},
		{"Retry-After", "Fri, 01 May 2026 12:00:30 GMT", 30 * time.Second},
		{"Retry-After", "Fri, 01 May 2026 11:00:00 GMT", 0},
		{"Retry-After", "-3", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", mostRetryAfter},
		{"Retry-After", "Inf", mostRetryAfter},
		{"Retry-After", "Fri, 01 May 2326 12:00:00 GMT", mostRetryAfter},
	} {
		header := http.Header{}
		header.Set(c.name, c.value)
		header.Set("Date", now.Format(http.TimeFormat)) // the clock here may be wrong
		if got := retryAfter(header, now.Add(3*time.Hour)); got != c.want {
			t.Errorf("%s: %s: got %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

func TestRetryAfterInTheBody(t *testing.T) {
	for body, want := range map[string]time.Duration{
		`{"error":{"message":"Limit 30000, Used 29937, Requested 385. Please try again in 644ms."}}`: 644 * time.Millisecond,
		`{"error":{"message":"Rate limit reached. Please try again in 1m26.4s. Visit x"}}`:           86400 * time.Millisecond,
		`{"error":{"message":"Please retry in 34s."}}`:                                               34 * time.Second,
		`{"error":{"message":"Please retry after 20 seconds."}}`:                                     20 * time.Second,
		`{"error":{"message":"slow down; see try again in 1000000h"}}`:                               mostRetryAfter,
		`{"error":{"message":"try again in -5s, in s, in 1.2.3s","retryDelay":-3}}`:                  0,
	} {
		check.Equal(t, body, Refused(429, nil, []byte(body)).RetryAfter, want)
	}
	header := http.Header{"Retry-After": {"7"}}
	check.Equal(t, "header and body", Refused(429, header, []byte(`{"error":"try again in 20s"}`)).RetryAfter, 7*time.Second)
	check.Equal(t, "a bad request", Refused(400, nil, []byte(`{"error":"the tool said: try again in 20s"}`)).RetryAfter, 0)
}

func TestClipKeepsValidText(t *testing.T) {
	for _, text := range []string{strings.Repeat("\x80", 900), strings.Repeat("語", 900), strings.Repeat("a", 499) + "語語"} {
		if got := Clip(text); len(got) > 510 || !utf8.ValidString(got) {
			t.Errorf("%q…: got %d bytes, valid %v", text[:6], len(got), utf8.ValidString(got))
		}
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add(400, `{"error":{"message":"x","code":400}}`)
	f.Add(0, `[[["{\"error\":\"[1,2]\"}"]]]`)
	f.Add(200, "<p>page")
	f.Fuzz(func(t *testing.T, status int, body string) {
		err := Refused(status, nil, []byte(body))
		check.That(t, err.Kind != "" && utf8.ValidString(err.Message) && err.Limit >= 0, "refusal of %q: %#v", body, err)
	})
}

// TestLongRefusalIsClassifiedByItsStart: only the start is searched.
func TestLongRefusalIsClassifiedByItsStart(t *testing.T) {
	check.SkipUnderRace(t)
	var many []string
	for i := range 50_000 {
		many = append(many, fmt.Sprint("word ", i))
	}
	body := check.Must(json.Marshal(map[string]any{"error": many}))(t)
	if n := len(strings.Join(parseComplaint(body).words, " ")); n > maxExamined+10 {
		t.Errorf("got %d bytes searched", n)
	}
}
