package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
)

var question = llm.Message{Role: llm.RoleUser, Text: "what?"}

// step asks and answers the tools that are called, once.
func step(t *testing.T, model *anthropic.Model, req llm.Request) llm.Request {
	t.Helper()
	resp, err := model.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, resp.Message)
	for _, call := range resp.Message.Calls {
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, CallID: call.ID, Tool: call.Name, Text: "1"})
	}
	return req
}

func TestThinkingGoesBackToItsModelWithinTheLoop(t *testing.T) {
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
		if err := json.Unmarshal([]byte(content), &blocks); err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			order = append(order, b.Type+" "+b.Thinking+b.Text)
		}
		if got := strings.Join(order, "|"); got != "thinking first <thought>|text Let me see.|thinking second|tool_use |tool_use " {
			t.Errorf("sent %s", got)
		}
		if last := req.Messages[len(req.Messages)-1]; last.Native != nil {
			t.Errorf("thinking of an answer without calls is kept: %s", last.Native)
		}
	})
	t.Run("not to another model", func(t *testing.T) {
		server := serve(t, script)
		step(t, connect(t, server, anthropic.Options{Model: "other"}), ask(t, server))
		if got := server.Requests()[1].Messages[1].Reasoning; len(got) != 0 {
			t.Errorf("sent %s", got)
		}
	})
	t.Run("not to another server", func(t *testing.T) {
		other := serve(t, ok)
		step(t, connect(t, other, anthropic.Options{}), ask(t, serve(t, script)))
		if got := other.Requests()[0].Messages[1].Reasoning; len(got) != 0 {
			t.Errorf("sent %s", got)
		}
	})
	t.Run("not after the next question", func(t *testing.T) {
		server := serve(t, script)
		model := connect(t, server, anthropic.Options{})
		req := step(t, model, ask(t, server))
		req.Messages = append(req.Messages, question)
		step(t, model, req)
		for _, m := range server.Requests()[2].Messages {
			if len(m.Reasoning) != 0 {
				t.Errorf("sent %s", m.Reasoning)
			}
		}
	})
	t.Run("also when somebody writes during the loop", func(t *testing.T) {
		server := serve(t, script)
		req := ask(t, server)
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Text: "hurry"})
		step(t, connect(t, server, anthropic.Options{}), req)
		if got := server.Requests()[1].Messages[1].Reasoning; len(got) != 2 {
			t.Errorf("sent %s", got)
		}
	})
	t.Run("not where thinking is switched off", func(t *testing.T) {
		server := serve(t, script)
		req := ask(t, server)
		req.Reasoning = "none"
		step(t, connect(t, server, anthropic.Options{}), req)
		if got := server.Requests()[1]; len(got.Messages[1].Reasoning) != 0 || string(got.Body["thinking"]) != `{"type":"disabled"}` {
			t.Errorf("sent %s, thinking %s", got.Messages[1].Reasoning, got.Body["thinking"])
		}
	})
	t.Run("not when the server refuses its signature", func(t *testing.T) {
		server := serve(t, script)
		req := ask(t, server)
		req.Messages[1].Native = json.RawMessage(strings.ReplaceAll(string(req.Messages[1].Native), "first", "forged"))
		step(t, connect(t, server, anthropic.Options{}), req)
		if got := server.Refusals(); len(got) != 2 || !strings.Contains(got[0], "signature") || !strings.Contains(got[1], "Expected `thinking`") {
			t.Errorf("refused %v", got)
		}
		if got := server.Requests(); string(got[len(got)-1].Body["thinking"]) != `{"type":"disabled"}` {
			t.Errorf("thinking is %s", got[len(got)-1].Body["thinking"])
		}
	})
}

func TestRedactedThinkingGoesBackAsItCame(t *testing.T) {
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
	if got := server.Requests()[1].Messages[1].Reasoning; len(got) != 1 || !strings.Contains(string(server.Requests()[1].Raw), `{"type":"redacted_thinking","data":"EmwK<&"}`) {
		t.Errorf("sent %s", got)
	}
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
			t.Errorf("%q: max_tokens is %d", effort, got.MaxTokens)
		}
	}
}

// TestRefusedFieldsAreLeftOut: each model accepts other fields. What the server refuses
// is sent once and never again.
func TestRefusedFieldsAreLeftOut(t *testing.T) {
	zero := 0.0
	tools := []llm.Tool{{Name: "f"}}
	for name, c := range map[string]struct {
		model    string
		req      llm.Request
		refusals int
		absent   []string
		want     map[string]string
	}{
		"temperature":                                 {"claude-sonnet-5", llm.Request{Temperature: &zero}, 1, []string{"temperature"}, nil},
		"a forced tool":                               {"claude-opus-5-5", llm.Request{Tools: tools, ForceTool: "f"}, 1, []string{"tool_choice"}, nil},
		"adaptive thinking":                           {"claude-haiku-4-5", llm.Request{Reasoning: "low"}, 2, []string{"output_config"}, map[string]string{"thinking": `{"type":"enabled","budget_tokens":4096}`}},
		"no thinking at all":                          {"claude-fable-5-1", llm.Request{Reasoning: "none"}, 1, []string{"thinking"}, map[string]string{"output_config": `{"effort":"low"}`}},
		"forced while thinking needs no refusal":      {"claude-sonnet-4-6", llm.Request{Reasoning: "low", Tools: tools, ForceTool: "f"}, 0, []string{"tool_choice"}, nil},
		"temperature while thinking needs no refusal": {"claude-sonnet-4-6", llm.Request{Reasoning: "low", Temperature: &zero}, 0, []string{"temperature"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, ok)
			var log logged
			model := connect(t, server, anthropic.Options{Model: c.model, Log: slog.New(slog.NewTextHandler(&log, nil))})
			c.req.Messages = hello.Messages
			for range 2 {
				if _, err := model.Generate(t.Context(), c.req, nil); err != nil {
					t.Fatal(err)
				}
			}
			if got := server.Refusals(); len(got) != c.refusals {
				t.Errorf("refused %v", got)
			}
			if got := strings.Count(log.String(), "refuses a field"); got != c.refusals {
				t.Errorf("logged %d times:\n%s", got, log.String())
			}
			for _, r := range server.Requests() {
				for _, name := range c.absent {
					field(t, r.Body, name, "")
				}
				for name, want := range c.want {
					field(t, r.Body, name, want)
				}
			}
			if forced := c.req.ForceTool != "" && c.refusals > 0; model.Learnt().Facts().RefusesForced != forced {
				t.Errorf("learnt %+v", model.Learnt().Facts())
			}
		})
	}
}

// TestWordsOfRefusals: the same for words the double does not say. what is a field that is
// refused as long as it has this value.
func TestWordsOfRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		words, field, value string
		req                 llm.Request
		want                string
	}{
		"an effort by its value":         {"output_config.effort: 'max' is not supported for this model", "output_config", "max", llm.Request{Reasoning: "max"}, `{"effort":"xhigh"}`},
		"an effort by a list":            {"Invalid effort level. Supported levels: low, medium, high", "output_config", "max", llm.Request{Reasoning: "max"}, `{"effort":"high"}`},
		"an effort below those":          {"effort: Input should be 'high' or 'max'", "output_config", "low", llm.Request{Reasoning: "low"}, `{"effort":"high"}`},
		"output_config as a whole":       {"output_config: Extra inputs are not permitted", "output_config", "low", llm.Request{Reasoning: "low"}, ""},
		"max_tokens":                     {"max_tokens: 90000 > 8192, which is the maximum allowed number of output tokens for m", "max_tokens", "90000", llm.Request{MaxTokens: 90_000}, "8192"},
		"thinking as a whole":            {"thinking: Extra inputs are not permitted", "thinking", "disabled", llm.Request{Reasoning: "none"}, ""},
		"a mark's time":                  {"messages.0.content.0.text.cache_control.ttl: Extra inputs are not permitted", "messages", "ttl", llm.Request{}, ""},
		"marks":                          {"messages.0.content.0.text.cache_control: Extra inputs are not permitted", "messages", "cache_control", llm.Request{}, ""},
		"a tool choice":                  {"tool_choice: type tool is not supported with this model", "tool_choice", "tool", llm.Request{Tools: []llm.Tool{{Name: "f"}}, ForceTool: "f"}, ""},
		"forcing by a compatible server": {"this server does not support forced tool calls", "tool_choice", "tool", llm.Request{Tools: []llm.Tool{{Name: "f"}}, ForceTool: "f"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused := 0
			server := serve(t, func(x *llmtest.Exchange) {
				if strings.Contains(string(x.Request.Body[c.field]), c.value) {
					refused++
					x.Reject(400, "invalid_request_error", c.words)
					return
				}
				x.Say("ok")
			})
			model := connect(t, server, anthropic.Options{CacheTTL: 1 << 50})
			c.req.Messages = hello.Messages
			for range 2 {
				if _, err := model.Generate(t.Context(), c.req, nil); err != nil {
					t.Fatal(err)
				}
			}
			requests := server.Requests()
			if got := string(requests[len(requests)-1].Body[c.field]); refused != 1 || c.want != "" && got != c.want {
				t.Errorf("refused %d times, then sent %s, want %s", refused, got, c.want)
			}
		})
	}
}

func TestAnotherRefusalIsNotRepeated(t *testing.T) {
	server := serve(t, func(x *llmtest.Exchange) { x.Reject(400, "invalid_request_error", "no") })
	req := hello
	req.Reasoning = "low"
	_, err := connect(t, server, anthropic.Options{}).Generate(t.Context(), req, nil)
	if llm.KindOf(err) != llm.KindBadRequest || len(server.Requests()) != 1 {
		t.Errorf("got %v after %d requests", err, len(server.Requests()))
	}
}

func TestEachRequestWithoutARefusedFieldIsCharged(t *testing.T) {
	server := serve(t, ok)
	spent := 0
	req := hello
	req.Reasoning = "low"
	req.Spend = func() error {
		if spent++; spent > 2 {
			return errors.New("all spent")
		}
		return nil
	}
	// The model refuses two fields, so it takes three requests.
	_, err := connect(t, server, anthropic.Options{Model: "claude-haiku-4-5"}).Generate(t.Context(), req, nil)
	if llm.KindOf(err) != llm.KindBadRequest || len(server.Refusals()) != 2 || len(server.Requests()) != 0 {
		t.Errorf("got %v after %d refusals", err, len(server.Refusals()))
	}
}

func TestThinkingGetsNoMoreRoomThanTheWindowHas(t *testing.T) {
	for name, c := range map[string]struct {
		prompt int
		ok     bool
		want   int
	}{
		"enough for the answer":     {95_000, true, 5000},
		"too little for the answer": {99_000, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, func(x *llmtest.Exchange) {
				if c.prompt+x.Request.MaxTokens > 100_000 {
					x.Reject(400, "invalid_request_error", fmt.Sprintf(
						"input length and `max_tokens` exceed context limit: %d + %d > 100000, decrease input length or `max_tokens` and try again", c.prompt, x.Request.MaxTokens))
					return
				}
				x.Say("ok")
			})
			req := hello
			req.Reasoning, req.MaxTokens = "max", 2000
			_, err := connect(t, server, anthropic.Options{}).Generate(t.Context(), req, nil)
			requests := server.Requests()
			if got := requests[len(requests)-1].MaxTokens; (err == nil) != c.ok || c.ok && got != c.want {
				t.Errorf("max_tokens %d, %v", got, err)
			}
			if !c.ok && (llm.KindOf(err) != llm.KindOverflow || llm.PromptOf(err) != c.prompt) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestThinkingFitsBesideThePromptAtOnce(t *testing.T) {
	const window = 16_000
	server := serve(t, func(x *llmtest.Exchange) { x.Say("ok") })
	profile := llmtest.ProfileOf("claude-sonnet-4-6")
	profile.Window, profile.Thought = window, ""
	server.Behave(profile)
	model := connect(t, server, anthropic.Options{Model: profile.Model, Window: window})
	model.Window(t.Context())
	var rooms []int
	for words := 1000; words <= 9000; words += 2000 {
		req := llm.Request{
			Messages:  []llm.Message{{Role: llm.RoleUser, Text: strings.Repeat("harbour lantern, ", words/2)}},
			Reasoning: "low", MaxTokens: 1000,
		}
		if _, err := model.Generate(t.Context(), req, nil); err != nil {
			t.Fatalf("%d words: %v", words, err)
		}
		requests := server.Requests()
		rooms = append(rooms, requests[len(requests)-1].MaxTokens-req.MaxTokens)
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %q", refused)
	}
	if first, last := rooms[0], rooms[len(rooms)-1]; first != 4096 || last >= first || last < 100 {
		t.Errorf("thinking gets %d tokens: want 4096 at first, and what is left at the end", rooms)
	}
}

func TestAModelThatThinksUnaskedGetsRoom(t *testing.T) {
	server := serve(t, func(x *llmtest.Exchange) { x.Think("hm"); x.Say("ok") })
	model := connect(t, server, anthropic.Options{})
	req := hello
	req.MaxTokens = 500
	for range 2 {
		if _, err := model.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := server.Requests(); got[0].MaxTokens != 500 || got[1].MaxTokens <= 500 {
		t.Errorf("max_tokens %d, then %d", got[0].MaxTokens, got[1].MaxTokens)
	}
}
