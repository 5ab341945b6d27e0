// Answers that are meant to do harm, or might as well be.

package openai_test

import (
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestWhatIsNoUTF8GoesNowhere(t *testing.T) {
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		x.Write("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xffb\\u0000c\",\"reasoning_details\":[{\"type\":\"x\",\"data\":\"\xc3\x28\"}]},\"finish_reason\":\"stop\"}]}\n\n")
		x.Done()
	})
	resp, err := connect(t, server, openai.Options{}).Generate(t.Context(), hello, nil)
	if err != nil || resp.Message.Text != "a\uFFFDbc" {
		t.Errorf("got %q, %v", resp.Message.Text, err)
	}
	if native := string(resp.Message.Native); !strings.Contains(native, "\uFFFD") || strings.ToValidUTF8(native, "") != native {
		t.Errorf("kept for the provider: %q", native)
	}
}

func TestBracketsInWordsAreNoParts(t *testing.T) {
	text := strings.Repeat(`{"a\": [{\\`, 5000)
	server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say(text) })
	resp, err := connect(t, server, openai.Options{}).Generate(t.Context(), hello, nil)
	if err != nil || resp.Message.Text != text {
		t.Errorf("got %d of %d bytes, %v", len(resp.Message.Text), len(text), err)
	}
}

// TestALongRefusalIsJudgedByItsBeginning: read whole by every pattern, a megabyte took
// a second of work for each attempt.
func TestALongRefusalIsJudgedByItsBeginning(t *testing.T) {
	page := strings.Repeat("the quick brown fox does not support it ", 26_000) // 1 MB
	for body, kind := range map[string]llm.Kind{
		"maximum context length is 4096 tokens. " + page: llm.KindOverflow,
		page + "maximum context length is 4096 tokens.":  llm.KindBadRequest,
	} {
		server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Refuse(400, "", body) })
		if _, err := connect(t, server, openai.Options{}).Generate(t.Context(), hello, nil); llm.KindOf(err) != kind {
			t.Errorf("%.60q: %v", body, llm.KindOf(err))
		}
	}
}
