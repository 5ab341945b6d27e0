package openai

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/llm"
)

func FuzzString(f *testing.F) {
	f.Add("quotes \" and \\ and \x00 \x1f \x7f \n \t, 茶 \u2028 \xff\xc3(")
	f.Fuzz(func(t *testing.T, text string) {
		b := newBody(llm.Request{})
		b.string(text)
		raw := b.buf[1:]
		var got string
		if err := json.Unmarshal(raw, &got); err != nil || got != strings.ToValidUTF8(text, "\uFFFD") && utf8.ValidString(text) || !utf8.Valid(raw) {
			t.Errorf("%q: got %s, %v", text, raw, err)
		}
	})
}
