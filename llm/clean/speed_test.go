package clean

import (
	"strings"
	"testing"
)

// answers are long answers of a kind each, of about 16 KB.
var answers = map[string]string{
	"prose":   strings.Repeat("The ferry leaves at noon, and the lighthouse is open until six. Ada has the keys.\n\n- Bring the red lamp.\n- Ask Bob.\n\n", 140),
	"code":    "```go\n" + strings.Repeat("if a < b && list[i] > 0 {\n\tout <- fmt.Sprintf(\"<%s>\", name) // `x`\n}\n", 220) + "```\n",
	"inline":  strings.Repeat("Use `a < b` or [a link](https://example.org/x) with <b>bold</b> words, 3 > 2. ", 210),
	"thought": "<think>" + strings.Repeat("The user wants a list < 5 items [short]. I should ask Bob first.\n", 250) + "</think>\nHello.",
	"Chinese": strings.Repeat("渡轮中午出发，灯塔开放到六点。艾达有钥匙。\n", 260),
}

// BenchmarkFilterPieces measures an answer in pieces of a token's size, as a server streams it.
func BenchmarkFilterPieces(b *testing.B) {
	for kind, text := range answers {
		b.Run(kind, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				f := newFilter()
				for rest := text; rest != ""; {
					n := min(len(rest), 4)
					f.Next(rest[:n])
					rest = rest[n:]
				}
				f.End()
			}
		})
	}
}
