package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/internal/check"

	"cairn/llm/llmtest"
)

// TestLearnedFactsSurviveRestart: the model's limit, that it accepts no tools, and its token count,
// which a shell shows like the bot.
func TestLearnedFactsSurviveRestart(t *testing.T) {
	t.Parallel()
	var refusals atomic.Int32
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		switch {
		case isStartCheck(x.Request):
			x.Say("Yes.")
		case len(x.Request.Tools) > 0:
			refusals.Add(1)
			x.Refuse(400, "", `{"error":{"message":"test-model does not support tools"}}`)
		case x.Request.MaxTokens > 1000:
			refusals.Add(1)
			x.Refuse(400, "", fmt.Sprintf(`{"error":{"message":"This model's maximum context length is 6000 tokens. However, you requested %d tokens (%d in the messages, %d in the completion)."}}`,
				x.Request.Tokens()+x.Request.MaxTokens, x.Request.Tokens(), x.Request.MaxTokens))
		default:
			x.Say("Here I am.")
		}
	})
	p := newFolder(t, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=test-model")
	type gauge struct {
		Used   int    `json:"used_tokens"`
		Max    int    `json:"max_tokens"`
		Source string `json:"window_source"`
	}
	look := func(p folder) (g gauge) {
		t.Helper()
		check.NoError(t, json.Unmarshal([]byte(p.must("", "context", "--json")), &g))
		return g
	}
	if out := p.must("Where are you?\n", "chat"); !strings.Contains(out, "Here I am.") {
		t.Fatalf("got %q", out)
	}
	if n := refusals.Load(); n != 2 {
		t.Fatalf("%d refusals, want one for each thing to learn", n)
	}
	t.Run("the shell shows the limit and the number the bot shows", func(t *testing.T) {
		g := look(p)
		check.Equal(t, "the window", g.Max, 6000)
		check.Equal(t, "source of the fact", g.Source, "an overflow")
		out := p.must("/context\n", "chat")
		check.Contains(t, "number in the shell", out, fmt.Sprintf("%d of %d tokens", g.Used, g.Max))
	})
	t.Run("nothing is refused again", func(t *testing.T) {
		p.must("And now?\n", "chat")
		check.Equal(t, "refusals", refusals.Load(), 2)
	})
	t.Run("another model on the server shares none of it", func(t *testing.T) {
		p.env[1] = "OPENAI_MODEL=another"
		check.Equal(t, "output", look(p).Max, 128_000)
	})
}
