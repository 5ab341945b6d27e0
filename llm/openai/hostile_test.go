// Hostile answers.

package openai_test

import (
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestInvalidUTF8IsRefused(t *testing.T) {
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		x.Write("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xffb\\u0000c\",\"reasoning_details\":[{\"type\":\"x\",\"data\":\"\xc3\x28\"}]},\"finish_reason\":\"stop\"}]}\n\n")
		x.Done()
	})
	resp := check.Must(connect(t, server, openai.Options{}).Generate(t.Context(), hello, nil))(t)
	check.Equal(t, "reply", resp.Message.Text, "a\uFFFDbc")
	native := string(resp.Message.Native)
	check.Contains(t, "stored native data", native, "\uFFFD")
	check.Equal(t, "native data", strings.ToValidUTF8(native, ""), native)
}

func TestBracketsInTextAreNoParts(t *testing.T) {
	text := strings.Repeat(`{"a\": [{\\`, 5000)
	server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say(text) })
	resp, err := connect(t, server, openai.Options{}).Generate(t.Context(), hello, nil)
	if err != nil || resp.Message.Text != text {
		t.Errorf("got %d of %d bytes, %v", len(resp.Message.Text), len(text), err)
	}
}
