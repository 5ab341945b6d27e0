package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
)

var question = llm.Message{Role: llm.RoleUser, Text: "what?"}

// step sends a request, and answers its tool calls once.
func step(t *testing.T, model *anthropic.Model, req llm.Request) llm.Request {
	t.Helper()
	resp := check.Must(model.Generate(t.Context(), req, nil))(t)
	req.Messages = append(req.Messages, resp.Message)
	for _, call := range resp.Message.Calls {
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, CallID: call.ID, Tool: call.Name, Text: "1"})
	}
	return req
}

func TestThinkingReturnsToItsModel(t *testing.T) {
	script := func(x *llmtest.Exchange) {
		switch x.N {
		case 1:
			x.Think("first <thought>")
			x.Piece("Let me see.")
			x.Think("second")
			x.UseAll(llm.Call{ID: "a", Name: "f", Arguments: "{}"}, llm.Call{ID: "b", Name: "f", Arguments: "{}"})
		default:
			x.Think("third")
			x.Say("done")
		}
	}
	ask := func(t *testing.T, server *llmtest.Server) llm.Request {
		req := llm.Request{Messages: []llm.Message{question}, Tools: []llm.Tool{{Name: "f"}}, Reasoning: "high"}
		return step(t, connect(t, server, anthropic.Options{}), req)
	}
	t.Run("whole and in order", func(t *testing.T) {
		server := serve(t, script)
		req := step(t, connect(t, server, anthropic.Options{}), ask(t, server))
		content := string(server.Requests()[1].Messages[1].Body["content"])
		var order []string
		var blocks []struct{ Type, Thinking, Text string }
		check.NoError(t, json.Unmarshal([]byte(content), &blocks))
		for _, b := range blocks {
			order = append(order, b.Type+" "+b.Thinking+b.Text)
		}
		check.Equal(t, "sent", strings.Join(order, "|"), "thinking first <thought>|text Let me see.|thinking second|tool_use |tool_use ")
		if last := req.Messages[len(req.Messages)-1]; last.Native != nil {
			t.Errorf("thinking of an answer without calls is stored: %s", last.Native)
		}
	})
	t.Run("not after the next question", func(t *testing.T) {
		server := serve(t, script)
		model := connect(t, server, anthropic.Options{})
		req := step(t, model, ask(t, server))
		req.Messages = append(req.Messages, question)
		step(t, model, req)
		for _, m := range server.Requests()[2].Messages {
			check.Len(t, "sent", m.Reasoning, 0)
		}
	})
	t.Run("also when somebody writes during the loop", func(t *testing.T) {
		server := serve(t, script)
		req := ask(t, server)
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Text: "hurry"})
		step(t, connect(t, server, anthropic.Options{}), req)
		check.Len(t, "sent", server.Requests()[1].Messages[1].Reasoning, 2)
	})
	t.Run("not if thinking is disabled", func(t *testing.T) {
		server := serve(t, script)
		req := ask(t, server)
		req.Reasoning = "none"
		step(t, connect(t, server, anthropic.Options{}), req)
		got := server.Requests()[1]
		check.Len(t, "sent", got.Messages[1].Reasoning, 0)
		check.Equal(t, "thinking", string(got.Body["thinking"]), `{"type":"disabled"}`)
	})
	t.Run("not when the server refuses its signature", func(t *testing.T) {
		server := serve(t, script)
		req := ask(t, server)
		req.Messages[1].Native = json.RawMessage(strings.ReplaceAll(string(req.Messages[1].Native), "first", "forged"))
		step(t, connect(t, server, anthropic.Options{}), req)
		if got := server.Refusals(); len(got) != 1 || !strings.Contains(got[0], "signature") {
			t.Errorf("refused %v", got)
		}
		got := server.Requests()
		check.Equal(t, "thinking", string(got[len(got)-1].Body["thinking"]), `{"type":"disabled"}`)
	})
}

func TestRedactedThinkingIsReturnedUnchanged(t *testing.T) {
	server := serve(t, func(x *llmtest.Exchange) {
		if x.N > 1 {
			x.Say("done")
			return
		}
		x.Event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"EmwK<&"}}`)
		x.Event("content_block_stop", `{"type":"content_block_stop","index":0}`)
		x.Event("content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`)
		x.Finish(llm.FinishToolCalls)
		x.Done()
	})
	model := connect(t, server, anthropic.Options{})
	req := step(t, model, llm.Request{Messages: []llm.Message{question}, Tools: []llm.Tool{{Name: "f"}}})
	step(t, model, req)
	check.Len(t, "sent", server.Requests()[1].Messages[1].Reasoning, 1)
	check.Contains(t, "second request", string(server.Requests()[1].Raw), `{"type":"redacted_thinking","data":"EmwK<&"}`)
}

func TestReasoningIsTranslated(t *testing.T) {
	for effort, want := range map[string][2]string{
		"":        {"", ""},
		"none":    {`{"type":"disabled"}`, ""},
		"minimal": {`{"type":"adaptive"}`, `{"effort":"low"}`},
		"medium":  {`{"type":"adaptive"}`, `{"effort":"medium"}`},
		"max":     {`{"type":"adaptive"}`, `{"effort":"max"}`},
	} {
		req := hello
		req.Reasoning = effort
		req.MaxTokens = 500
		got := sent(t, req, anthropic.Options{})
		field(t, got.Body, "thinking", want[0])
		field(t, got.Body, "output_config", want[1])
		if thinks := want[1] != ""; thinks != (got.MaxTokens > 500) {
			t.Errorf("%q: got max_tokens %d", effort, got.MaxTokens)
		}
	}
}
