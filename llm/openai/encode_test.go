package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/llm"
)

func FuzzString(f *testing.F) {
	f.Add("quotes \" and \\ and \x00 \x1f \x7f \n \t, 茶 \u2028 \xff\xc3(")
	f.Fuzz(func(t *testing.T, text string) {
		raw := appendString(nil, text)
		var got string
		if err := json.Unmarshal(raw, &got); err != nil || got != strings.ToValidUTF8(text, "\uFFFD") && utf8.ValidString(text) || !utf8.Valid(raw) {
			t.Errorf("%q became %s, %v", text, raw, err)
		}
	})
}

// long is a prompt of 25 000 tokens, a hundred kilobytes, with tools.
func long() llm.Request {
	req := llm.Request{Head: 1, MaxTokens: 1000, Messages: []llm.Message{{Role: llm.RoleSystem, Text: strings.Repeat("Be kind, and say \"so\".\n", 100)}}}
	for i := range 120 {
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.RoleUser, Text: fmt.Sprintf("[#%d 2026-01-01 10:00 Ada] %s", i, strings.Repeat("What of the tea at the pier? ", 14))},
			llm.Message{Role: llm.RoleAssistant, Text: strings.Repeat("It is cold, they say – and \"good\".\n", 11)})
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Text: "And now?"})
	for i := range 12 {
		req.Tools = append(req.Tools, llm.Tool{Name: fmt.Sprint("tool", i), Description: strings.Repeat("does things ", 20), Parameters: json.RawMessage(
			`{"type":"object","properties":{"query":{"type":"string","description":"what to look for"},"limit":{"type":"integer"}},"required":["query"]}`)})
	}
	return req
}

func BenchmarkEncode(b *testing.B) {
	req := long()
	for name, p := range map[string]plan{
		"chat":        {wire: llm.WireChat, model: "m", forced: true},
		"responses":   {wire: llm.WireResponses, model: "m", forced: true},
		"breakpoints": {wire: llm.WireResponses, model: "m", forced: true, breakpoints: true},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				body, err := p.encode(req)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}
