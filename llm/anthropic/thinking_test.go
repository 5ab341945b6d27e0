package anthropic_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
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
	refusal := "" // of thinking that is sent back
	script := func(x *llmtest.Exchange) {
		switch {
		case refusal != "" && x.N > 1 && len(x.Request.Messages[1].Reasoning) > 0:
			x.Reject(400, "invalid_request_error", refusal)
		case x.N == 1:
			x.Think("first <thought>")
			x.Piece("Let me see.")
			x.Think("second")
			x.UseAll(llm.Call{ID: "a", Name: "f", Arguments: "{}"}, llm.Call{ID: "b", Name: "f", Arguments: "{}"})
		default:
			x.Think("third")
			x.Say("done")
		}
	}
	for name, c := range map[string]struct {
		change  func(req *llm.Request)
		blocks  int // of thinking sent back
		refused bool
		want    string // the field of the last request
	}{
		"whole and in order": {func(*llm.Request) {}, 2, false, `{"type":"adaptive"}`},
		"when somebody writes during the loop": {func(req *llm.Request) {
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Text: "hurry"})
		}, 2, false, `{"type":"adaptive"}`},
		"not after the next question": {func(req *llm.Request) {
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Text: "done"}, question)
		}, 0, false, `{"type":"adaptive"}`},
		"not if thinking is disabled": {func(req *llm.Request) { req.Reasoning = "none" }, 0, false, `{"type":"disabled"}`},
		"not when its signature is refused": {func(req *llm.Request) {
			req.Messages[1].Native = json.RawMessage(strings.ReplaceAll(string(req.Messages[1].Native), "first", "forged"))
		}, 0, true, `{"type":"disabled"}`},
		"not when another block is expected": {func(*llm.Request) {
			refusal = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
		}, 0, false, `{"type":"disabled"}`},
		"not when it counts as modified": {func(*llm.Request) {
			refusal = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
		}, 0, false, `{"type":"disabled"}`},
	} {
		t.Run(name, func(t *testing.T) {
			refusal = ""
			server := llmtest.Serve(t, script)
			req := llm.Request{Messages: []llm.Message{question}, Tools: []llm.Tool{{Name: "f"}}, Reasoning: "high"}
			req = step(t, connect(t, server, anthropic.Options{}), req)
			c.change(&req)
			req = step(t, connect(t, server, anthropic.Options{}), req)
			requests := server.Requests()
			last := requests[len(requests)-1]
			check.Equal(t, "thinking", string(last.Body["thinking"]), c.want)
			check.Len(t, "thinking sent back", last.Messages[1].Reasoning, c.blocks)
			check.Equal(t, "refused", strings.Contains(strings.Join(server.Refusals(), " "), "signature"), c.refused)
			check.That(t, req.Messages[len(req.Messages)-1].Native == nil, "thinking of an answer without calls is stored")
			if c.blocks == 0 {
				return
			}
			var order []string
			var blocks []struct{ Type, Thinking, Text string }
			check.NoError(t, json.Unmarshal(last.Messages[1].Body["content"], &blocks))
			for _, b := range blocks {
				order = append(order, b.Type+" "+b.Thinking+b.Text)
			}
			check.Equal(t, "sent", strings.Join(order, "|"), "thinking first <thought>|text Let me see.|thinking second|tool_use |tool_use ")
		})
	}
}

func TestRedactedThinkingIsReturnedUnchanged(t *testing.T) {
	server := llmtest.Serve(t, llmtest.Once(func(x *llmtest.Exchange) {
		x.Event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"EmwK<&"}}`)
		x.Event("content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`)
		x.Finish(llm.FinishToolCalls)
		x.Done()
	}))
	model := connect(t, server, anthropic.Options{})
	step(t, model, step(t, model, llm.Request{Messages: []llm.Message{question}, Tools: []llm.Tool{{Name: "f"}}}))
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
		got := sent(t, llm.Request{Messages: hello.Messages, Reasoning: effort, MaxTokens: 500}, anthropic.Options{})
		check.Equal(t, "thinking", string(got.Body["thinking"]), want[0])
		check.Equal(t, "output_config", string(got.Body["output_config"]), want[1])
		check.That(t, (want[1] != "") == (got.MaxTokens > 500), "%q: got max_tokens %d", effort, got.MaxTokens)
	}
}

// TestRefusedFieldsAreOmitted: models accept different fields. A rejected field is sent once and
// never again. The double rejects those of some models; words reject field while it has value.
func TestRefusedFieldsAreOmitted(t *testing.T) {
	tools := []llm.Tool{{Name: "f"}}
	for name, c := range map[string]struct {
		model               string
		req                 llm.Request
		words, field, value string
		refusals            int
		want                map[string]string // of the last request; "": the field is absent
	}{
		"adaptive thinking":      {"claude-haiku-4-5", llm.Request{Reasoning: "low"}, "", "", "", 2, map[string]string{"output_config": "", "thinking": "", "max_tokens": "4096"}},
		"no thinking at all":     {"claude-fable-5-1", llm.Request{Reasoning: "none"}, "", "", "", 1, map[string]string{"thinking": "", "output_config": `{"effort":"low"}`}},
		"forced while thinking":  {"claude-sonnet-4-6", llm.Request{Reasoning: "low", Tools: tools, ForceTool: "f"}, "", "", "", 0, map[string]string{"tool_choice": ""}},
		"an effort by its value": {"", llm.Request{Reasoning: "max"}, "output_config.effort: 'max' is not supported for this model", "output_config", "max", 1, map[string]string{"output_config": `{"effort":"xhigh"}`}},
		"thinking as a whole":    {"", llm.Request{Reasoning: "none"}, "thinking: Extra inputs are not permitted", "thinking", "disabled", 1, nil},
		"thinking in a sentence": {"", llm.Request{Reasoning: "low"}, "`thinking` is not supported by this model", "thinking", "adaptive", 1, nil},
		"marks":                  {"", llm.Request{}, "messages.0.content.0.text.cache_control: Extra inputs are not permitted", "messages", "cache_control", 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Serve(t, llmtest.Refusing(c.words, func(r llmtest.Request) bool {
				return c.words != "" && strings.Contains(string(r.Body[c.field]), c.value)
			}))
			var log check.Buffer
			model := connect(t, server, anthropic.Options{Model: c.model, CacheTTL: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil))})
			c.req.Messages = hello.Messages
			for range 2 {
				check.NoError(t, check.ErrorOf(model.Generate(t.Context(), c.req, nil)))
			}
			requests := server.Requests()
			check.Equal(t, "requests", len(requests)+len(server.Refusals()), 2+c.refusals)
			check.Equal(t, "log lines", strings.Count(log.String(), "_refused "), c.refusals)
			for name, want := range c.want {
				check.Equal(t, name, string(requests[len(requests)-1].Body[name]), want)
			}
			check.That(t, !model.Learned().Facts().RefusesForced, "learned that it refuses a forced tool")
		})
	}
}
