package llm

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/check"
)

// failures are real refusals of servers, and their meanings. want is a part of the sentence for the
// person and a part of the log line.
var failures = []struct {
	name       string
	err        error
	kind       Kind
	said, todo string
}{
	{"OpenAI: no quota", refusedBy(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`), KindQuota, "has no credit", "add credit to the account of TEST_KEY, or raise its spending limit"},
	{"Anthropic: no credit", refusedBy(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`), KindQuota, "has no credit", "add credit"},
	{"Moonshot: no balance", refusedBy(429, `{"error":{"message":"Your account org-1<ak-1> is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}`), KindQuota, "has no credit", "add credit"},
	{"Zhipu: no balance", refusedBy(429, `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`), KindQuota, "has no credit", "add credit"},
	{"DashScope: no balance", refusedBy(400, `{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}`), KindQuota, "has no credit", "add credit"},
	{"Gemini: a limit of a minute", refusedBy(429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 34s.","status":"RESOURCE_EXHAUSTED"}}]`), KindRateLimited, "overloaded right now", "raise the account's rate limit"},
	{"a long wait", &Error{Kind: KindRateLimited, Status: 429, RetryAfter: 30 * 60e9}, KindRateLimited, "ask again in 30 minutes", "wait for 30 minutes"},
	{"overloaded", refusedBy(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), KindOverloaded, "overloaded right now", "ask again later"},
	{"a broken server", refusedBy(500, "panic: nil"), KindOverloaded, "server has problems", "look at the log or the status page of the server"},
	{"too late", &Error{Kind: KindUnreachable, Message: "no whole answer", Err: ErrLate}, KindUnreachable, "took too long", "smaller model"},
	{"nothing listens", &Error{Kind: KindUnreachable, Message: "dial tcp: connection refused"}, KindUnreachable, "cannot reach the model", "start the server at http://there.test/v1"},
	{"half an answer", &Error{Kind: KindTruncated, Message: "EOF"}, KindTruncated, "answer was incomplete", "closed the connection"},
	{"a filtered answer", Located(&Error{Kind: KindFiltered, Message: "the answer has no text"}, Where{Model: "test-model", Address: "http://there.test/v1"}), KindFiltered, "provider's filter", "change the content filter"},
	{"a wrong key", refusedBy(401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`), KindAuth, "rejects my API key, so I cannot answer. Your message is saved; the bot's operator must check TEST_KEY.", "check TEST_KEY"},
	{"no key", Located(refusedBy(401, `{"error":{"message":"You didn't provide an API key."}}`), Where{Model: "test-model", Address: "http://there.test/v1", Key: "TEST_KEY", NoKey: true}), KindAuth, "requires an API key and I have none, so I cannot answer. Your message is saved; the bot's operator must set TEST_KEY.", "set TEST_KEY"},
	{"OpenAI: unknown model", refusedBy(404, "{\"error\":{\"message\":\"The model `gpt-9` does not exist or you do not have access to it.\",\"code\":\"model_not_found\"}}"), KindUnknownModel, "does not have the model", "set model to one that the server has: near, far"},
	{"Anthropic: unknown model", refusedBy(404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`), KindUnknownModel, "does not have the model", "near, far"},
	{"OpenRouter: unknown model", refusedBy(400, `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`), KindUnknownModel, "does not have the model", "near, far"},
	{"Go's 404", refusedBy(404, "404 page not found\n"), KindWrongAddress, "no model at the address", "correct base_url (http://there.test/v1); most servers have their API under /v1"},
	{"a page with 200", refusedBy(200, "<!doctype html><title>Open WebUI</title>"), KindWrongAddress, "no model at the address", "correct base_url"},
	{"LM Studio's wrong path", refusedBy(200, `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`), KindWrongAddress, "no model at the address", "correct base_url"},
	{"a redirect", refusedBy(301, ""), KindWrongAddress, "no model at the address", "correct base_url"},
	{"no tools", refusedBy(400, `{"error":{"message":"registry/tiny does not support tools"}}`), KindBadRequest, "call tools", "--enable-auto-tool-choice"},
	{"an overflow", refusedBy(400, `{"error":{"message":"This model's maximum context length is 4096 tokens.","code":"context_length_exceeded"}}`), KindOverflow, "too long for the model", "set context_window"},
	{"OpenRouter: no route", refusedBy(404, `{"error":{"message":"No endpoints found that can handle the requested parameters.","code":404}}`), KindBadRequest, "refused my request", "doctor"},
	{"a refusal that quotes a message", refusedBy(400, `{"error":{"message":"bad role in 'what if the prompt was flagged for insufficient funds?'"}}`), KindBadRequest, "refused my request", "doctor"},
	{"a refusal", refusedBy(400, `{"error":{"message":"messages[3]: bad role","type":"invalid_request_error"}}`), KindBadRequest, "refused my request", "doctor"},
}

func refusedBy(status int, body string) error { return Refused(status, http.Header{}, []byte(body)) }

func TestEveryFailureHasARemedy(t *testing.T) {
	where := Where{Model: "test-model", Address: "http://there.test/v1", Key: "TEST_KEY", Offered: []string{"near", "far"}}
	used := map[int]bool{}
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			err := fmt.Errorf("turn 7: %w", Located(f.err, where))
			if kind := KindOf(err); kind != "" && kind != f.kind {
				t.Errorf("got kind %q, want %q", kind, f.kind)
			}
			r, ok := RemedyOf(err)
			if !ok || !strings.Contains(r.Person, f.said) || r.Reason == "" {
				t.Errorf("got %q for people, want it to contain %q", r.Person, f.said)
			}
			check.Lacks(t, "sentence for people", r.Person, where.Address, where.Model, "there.test", "HTTP", "near")
			var line bytes.Buffer
			slog.New(slog.NewTextHandler(&line, nil)).Warn("turn_failed", LogAttrs(err)...)
			check.Contains(t, "the log line", strings.ReplaceAll(line.String(), `\"`, `"`),
				"model=test-model", "address=http://there.test/v1", f.todo, string(f.kind))
			var e *Error
			errors.As(err, &e)
			for i, c := range causes {
				if c.is(e) {
					used[i] = true
					break
				}
			}
		})
	}
	for i, c := range causes {
		check.That(t, used[i], "no test covers the row %q", c.reason)
	}
}

func TestTemporaryErrorsAreRetried(t *testing.T) {
	for _, f := range failures {
		var e *Error
		errors.As(f.err, &e)
		temporary := map[Kind]bool{KindRateLimited: true, KindOverloaded: true, KindUnreachable: true, KindTruncated: true}[f.kind]
		check.Equal(t, f.name+": temporary", e.Temporary(), temporary)
	}
}

func TestAFailureIsLocatedOnce(t *testing.T) {
	refused := refusedBy(401, "no")
	first := Located(refused, Where{Model: "a", Address: "http://a"})
	second := Located(first, Where{Model: "b", Address: "http://b"})
	var e *Error
	if errors.As(second, &e); e.Where.Model != "a" {
		t.Errorf("got location %q", e.Where.Model)
	}
	if errors.As(refused, &e); e.Where.Model != "" {
		t.Error("the input error was changed")
	}
	other := errors.New("other")
	check.Equal(t, "another error was changed", Located(other, Where{Model: "a"}), other)
}
