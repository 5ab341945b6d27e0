package llm_test

import (
	"runtime"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// TestManySmallPartsUseLittleMemory limits the memory for reading a megabyte: these once took up to
// 400 MB.
func TestManySmallPartsUseLittleMemory(t *testing.T) {
	check.SkipUnderRace(t)
	many := "[" + strings.Repeat("{},", 300_000) + "{}]"
	bodies := map[string]map[string]string{
		llm.WireChat: {
			"choices":           `{"choices":` + many + `}`,
			"tool calls":        `{"choices":[{"index":0,"delta":{"tool_calls":` + many + `}}]}`,
			"reasoning details": `{"choices":[{"index":0,"delta":{"content":"x","reasoning_details":` + many + `}}]}`,
		},
		llm.WireResponses: {
			"items": `{"type":"response.completed","status":"completed","output":` + many + `,"response":{"output":` + many + `}}`,
		},
		llm.WireMessages: {
			"an event": `{"type":"news","x":` + many + `}`,
			"blocks":   `{"type":"message","content":` + many + `}`,
			"events":   strings.Repeat(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`+"\n\ndata: ", 2000) + "{}",
		},
	}
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, body := range bodies[w.name] {
			for form, write := range map[string]func(*llmtest.Exchange){
				"in a stream":  func(x *llmtest.Exchange) { x.Write("data: " + body + "\n\n"); x.Done() },
				"in one piece": func(x *llmtest.Exchange) { x.Refuse(200, "", strings.ReplaceAll(body, `"delta"`, `"message"`)) },
			} {
				t.Run(name+" "+form, func(t *testing.T) {
					model := w.model(t, w.open(t, write), openai.Options{})
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					_, err := model.Generate(t.Context(), hello, nil)
					runtime.ReadMemStats(&after)
					if took := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || took > 40 {
						t.Errorf("%v; got %d MiB used", err, took)
					}
				})
			}
		}
	})
}
