package llm_test

import (
	"context"
	"encoding/json"
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestRepeatedCallsHaveTheSameKeys(t *testing.T) {
	keysOf := func(turn string) (keys []string) {
		note := llm.Tool{Name: "note", Run: func(ctx context.Context, _ json.RawMessage) (llm.Result, error) {
			keys = append(keys, llm.CallKey(ctx))
			return llm.Result{Text: "noted"}, nil
		}}
		model := &llmtest.Model{Tokens: 32_000, Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
			calls := []llm.Call{
				llmtest.Call("a", "note", map[string]any{"text": "x"}), llmtest.Call("b", "note", map[string]any{"text": "x"}),
				llmtest.Call("c", "note", map[string]any{"text": "y"}),
			}
			if n > 1 {
				return llmtest.Say("Done."), nil
			}
			return llmtest.Use(calls...), nil
		}}
		ctx := t.Context()
		if turn != "" {
			ctx = llm.WithCallKeys(ctx, turn)
		}
		loop := llm.Loop{Model: model, MaxCalls: 2, Request: func(context.Context, int) (llm.Request, error) {
			return llm.Request{Tools: []llm.Tool{note}}, nil
		}}
		check.Must(loop.Run(ctx))(t)
		return keys
	}
	first := keysOf("terminal:x #7")
	check.EqualAll(t, "keys of a second attempt", keysOf("terminal:x #7"), first)
	different := map[string]bool{}
	for _, key := range append(first, keysOf("terminal:x #8")...) {
		check.Equal(t, "digits of a key", len(key), 32)
		different[key] = true
	}
	check.Equal(t, "different keys", len(different), 6)
	check.EqualAll(t, "keys without a turn", keysOf(""), []string{"", "", ""})
}
