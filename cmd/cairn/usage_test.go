package main

import (
	"fmt"
	"testing"

	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// counting is a script whose server counts 1000 prompt tokens, 400 of them cached and 100 written to
// the cache, and 10 of the answer.
func counting(x *llmtest.Exchange) {
	x.Piece("Fine.")
	x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	x.Chunk(`{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":400,"cache_write_tokens":100}}}`)
	x.Done()
}

func TestUsageCommand(t *testing.T) {
	t.Parallel()
	server := llmtest.Serve(t, counting)
	p := newFolder(t)
	p.fails(exitNotFound, "", "usage")
	p.write("config.toml", fmt.Sprintf("[llm]\nbase_url = %q\nmodel = \"test/gpt-5-mini\"\n[[agents]]\nid = \"cairn\"\n[[agents]]\nid = \"critic\"\nmodel = \"qwen3:8b\"\n", server.URL))
	p.must("", "import", p.write("one.jsonl", `{"id":"1","author":"Ada","time":"2026-05-01T10:00:00Z","text":"hello"}`))
	check.Equal(t, "output before anything was used", p.must("", "usage", "--since", "2026-05-01"), "No model has been used since 2026-05-01.\n")
	check.Equal(t, "output before anything was used", p.must("", "usage"), "No model has been used yet.\n")
	check.Contains(t, "usage as JSON", p.must("", "usage", "--json"), `{"since":"","by":"day","rows":[],"total":{"requests":0,`, `"summaries":{"requests":0,`, `"no_price":[]}`)
	p.must("hello\n", "chat")
	p.must("hello\n@critic is that so?\n", "chat", "--channel", "garden")
	for by, want := range map[string]string{
		"day":          `"requests":3,"input_tokens":3000,"cached_tokens":1200,"written_tokens":300,"output_tokens":30,"cost":0.00036`,
		"conversation": `"conversation":"terminal:garden","requests":2,"input_tokens":2000,"cached_tokens":800,"written_tokens":200,"output_tokens":20,"cost":0.00018`,
		"model":        `"model":"qwen3:8b","requests":1,"input_tokens":1000,"cached_tokens":400,"written_tokens":100,"output_tokens":10,"cost":0,`,
	} {
		check.Contains(t, by, p.must("", "usage", "--by", by, "--since", "7d", "--json"), want, `"no_price":["qwen3:8b"]`)
	}
	check.Equal(t, "output", p.must("", "usage", "--by", "model"), `MODEL            REQUESTS  INPUT  CACHED  WRITTEN  OUTPUT    COST  SUMMARIES
test/gpt-5-mini         2   2000     800      200      20  0.0004     0.0000
qwen3:8b                1   1000     400      100      10  0.0000     0.0000
total                   3   3000    1200      300      30  0.0004     0.0000
no price for qwen3:8b: it counts as 0; set [prices."qwen3:8b"] in the settings
`)
	p.write("priced.toml", "budget_per_day = 1\n[llm]\nmodel = \"gpt-5-mini\"\n[prices.\"qwen3:8b\"]\ninput = 1000\noutput = 0\n")
	check.Contains(t, "context", p.must("", "--config", "priced.toml", "context", "--channel", "garden"),
		"today     2 requests, 2000 tokens in (800 cached, 200 written), 20 out: 1.00\n", "budget    1.00 of 1.00 today, in all conversations\n")
	check.Contains(t, "context as JSON", p.must("", "context", "--channel", "garden", "--json"), `"usage":{"today":{"requests":2,`, `"no_price":["qwen3:8b"]`)
	p.fails(exitUsage, `--by "week": must be one of day, conversation, model`, "usage", "--by", "week")
	p.fails(exitUsage, "invalid time", "usage", "--since", "May")
}

// TestBudgetSurvivesRestart: each message goes to a new process.
func TestBudgetSurvivesRestart(t *testing.T) {
	t.Parallel()
	server := llmtest.Serve(t, counting)
	p := newFolder(t)
	for _, c := range []struct {
		budget float64
		want   string
	}{{0.0015, "Fine."}, {0.0015, "Fine."}, {0.0015, "The budget for this month is used up"}, {0.0025, "Fine."}} {
		p.write("config.toml", fmt.Sprintf("budget_per_month = %v\n[llm]\nbase_url = %q\nmodel = \"m\"\n[prices.m]\ninput = 1\noutput = 0\n", c.budget, server.URL))
		r := p.run("hello\n", "chat")
		check.Contains(t, fmt.Sprint("answer with a budget of ", c.budget), r.out+r.err, c.want)
	}
	check.Equal(t, "messages", p.count("SELECT count(*) FROM messages WHERE role = 'user'"), 4)
}
