package main

import (
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/llm/llmtest"
)

func doctorOf(t *testing.T, env []string, config string) result {
	t.Helper()
	p := newFolder(t, env...)
	p.write("config.toml", config)
	return p.run("", "doctor")
}

func TestDoctorChecksTurnsAndWorkers(t *testing.T) {
	t.Parallel()
	t.Run("a model with all features", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) {
			if x.Request.Forced != "" {
				x.Use("c1", "summarize", `{"summary":"Ada prefers green tea."}`)
				return
			}
			x.Say("yes")
		})
		r := doctorOf(t, []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=m"}, "")
		for _, want := range []string{
			"ok     model     m, of agent cairn: answered in ", ", with tools; window of 128000 tokens (default); wire chat, at " + server.URL,
			"ok     model     m, of agent cairn: cache not seen: none of the ", "a prompt stays cached for 5m0s",
			"ok     model     m, of agent cairn: accepts pictures",
			"ok     worker    m, which summarizes for agent cairn: answered in ", "with a forced tool call",
		} {
			if r.code != 0 || strings.Count(r.out, want) != 1 {
				t.Errorf("exit code %d; want %q once in %s", r.code, want, r.out)
			}
		}
		check.Equal(t, "requests", len(server.Requests()), 4)
	})
	t.Run("a model without a configured name is reported once", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") })
		r := doctorOf(t, []string{"OPENAI_BASE_URL=" + server.URL}, "")
		if r.code != 0 || strings.Count(r.out, "test-model, of agent cairn: answered in") != 1 || strings.Count(r.out, "worker    ") != 1 {
			t.Errorf("exit code %d, %s", r.code, r.out)
		}
	})
	t.Run("a server that takes no tools, no pictures, no order to call", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) {
			switch {
			case len(x.Request.Tools) > 0:
				x.Refuse(400, "", `{"error":{"message":"registry/m does not support tools"}}`)
			case len(x.Request.Messages[len(x.Request.Messages)-1].Images) > 0:
				x.Refuse(400, "", `{"error":{"message":"this model does not support image input"}}`)
			default:
				x.Say("yes")
			}
		})
		r := doctorOf(t, []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=m"}, "")
		check.Equal(t, "exit code", r.code, 0)
		check.Contains(t, "output", r.out, "without tools, which it does not support", "accepts no pictures; it gets descriptions", "in plain text: its server supports no tools")
	})
	t.Run("a server that fails with pictures", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) {
			if len(x.Request.Messages[len(x.Request.Messages)-1].Images) > 0 {
				x.Refuse(400, "", `{"error":{"message":"the picture is too small"}}`)
				return
			}
			x.Say("yes")
		})
		r := doctorOf(t, []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=m"}, "")
		check.Contains(t, "output", r.out, "refused a test picture", "the picture is too small")
		check.Lacks(t, "output", r.out, "accepts no pictures")
	})
}

func TestDoctorChecksOtherServers(t *testing.T) {
	t.Parallel()
	t.Run("a model whose tools need the other wire", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) {
			if x.Request.Wire == "chat" && len(x.Request.Tools) > 0 {
				x.Refuse(400, "", `{"error":{"message":"Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use /v1/responses instead."}}`)
				return
			}
			x.Say("yes")
		})
		r := doctorOf(t, []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=m"}, "")
		check.Equal(t, "exit code", r.code, 0)
		check.Contains(t, "output", r.out, ", with tools; ", "wire responses")
	})
	t.Run("what the cache did", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) {
			x.Piece("yes")
			x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
			x.Chunk(`{"choices":[],"usage":{"prompt_tokens":2000,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":1920}}}`)
			x.Done()
		})
		r := doctorOf(t, []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=m"}, "[llm]\nwire = \"chat\"\n")
		check.Contains(t, "output", r.out, "cache works: 1920 of the 2000 tokens of a second, identical request came from it")
	})
	t.Run("Anthropic, and a worker on another provider with a wrong key", func(t *testing.T) {
		t.Parallel()
		claude := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") })
		other := modelServer(t, failing["a wrong key"].do)
		r := doctorOf(t, []string{"ANTHROPIC_BASE_URL=" + strings.TrimSuffix(claude.URL, "/v1"), "ANTHROPIC_MODEL=claude-sonnet-4-6", "CAIRN_P_KEY=p-key-p-key"},
			"[[providers]]\nid = \"p\"\nbase_url = \""+other.URL+"\"\napi_key = \"env:CAIRN_P_KEY\"\n[defaults.compaction]\nmodel = \"p/small\"\n")
		check.Equal(t, "exit code", r.code, exitFailed)
		check.Contains(t, "output", r.out, "wire messages", "WRONG  worker    small, which summarizes for agent cairn: model: auth (HTTP 401): no, from "+other.URL, `what to do: check api_key of provider "p"`)
		check.Len(t, "refusals", claude.Refusals(), 0)
	})
}
