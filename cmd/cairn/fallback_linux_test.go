package main

import (
	"fmt"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// A wrong key at the first model: people get an answer, and the operator sees from whom and why.
func TestFallbackAnswersBehindAWrongKey(t *testing.T) {
	own := llmtest.Serve(t, func(x *llmtest.Exchange) {
		x.Refuse(401, "", `{"error":{"message":"Incorrect API key provided: hush-hush","code":"invalid_api_key"}}`)
	})
	other := llmtest.Serve(t, saying("I am the other."))
	p := newPlatforms(t)
	f := p.folder(fmt.Sprintf("[[providers]]\nid = \"b\"\nbase_url = %q\n[llm]\nfallback = [\"b/other\"]\n", other.URL), modelAt(own)...)
	r := f.start("run", "--health", "127.0.0.1:0")
	p.open(r)
	address := p.telling(r)
	p.sayOnDiscord("Where are you?")
	p.wait(r, p.onDiscord, "I am the other.")
	r.logs("answer_model_failed", `"fallback":"other"`, "check OPENAI_API_KEY")
	said := ""
	check.That(t, check.Soon(func() bool { // counted once the answer was sent
		_, said = get(t, "http://"+address+"/metrics")
		return strings.Contains(said, `cairn_fallback_answers_total{model="other"} 1`+"\n")
	}), "the metrics are %s", said)
	code, ready := get(t, "http://"+address+"/readyz")
	check.Equal(t, "status", code, 200)
	check.Contains(t, "/readyz", ready, `{"part":"model","ok":true,"why":"other answers: the model's server rejected the API key; m is tried again in a minute"}`)
	listed := f.must("", "models")
	check.Contains(t, "cairn models", listed, "fallback of cairn", "agent cairn")
	r.stop()
}
