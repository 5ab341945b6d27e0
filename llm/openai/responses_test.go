package openai_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// onResponses are the options of a model with this protocol.
var onResponses = openai.Options{Wire: llm.WireResponses}

func askResponses(t *testing.T, answer func(*llmtest.Exchange)) (llm.Response, error) {
	t.Helper()
	return connect(t, llmtest.Serve(t, answer), onResponses).Generate(t.Context(), hello, nil)
}

func TestResponsesRequestStoresNothing(t *testing.T) {
	server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("ok") })
	req := llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Text: "be kind"},
			{Role: llm.RoleUser, Text: "one"},
			{Role: llm.RoleUser, Text: "two"},
			{Role: llm.RoleAssistant, Text: "I look.", Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "f"}}},
			{Role: llm.RoleTool, CallID: "a", Tool: "f", Text: "found"},
			{Role: llm.RoleTool, CallID: "b", Tool: "f"},
			{Role: llm.RoleAssistant, Text: "So."},
			{Role: llm.RoleUser, Text: "look", Images: []llm.Image{{Data: png, Label: "cat.png"}}},
		},
		Tools:     []llm.Tool{{Name: "f", Description: "does f", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}},
		ForceTool: "f", MaxTokens: 5, Reasoning: "low", CacheKey: "key",
	}
	if _, err := connect(t, server, onResponses).Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err, server.Refusals())
	}
	got := server.Requests()[0].Body
	for name, want := range map[string]string{
		"instructions":      `"be kind"`,
		"tools":             `[{"type":"function","name":"f","description":"does f","parameters":{"type":"object","properties":{}},"strict":false}]`,
		"tool_choice":       `{"name":"f","type":"function"}`,
		"store":             `false`,
		"stream":            `true`,
		"include":           `["reasoning.encrypted_content"]`,
		"max_output_tokens": `4101`, // 5, and room for reasoning of low effort
		"reasoning":         `{"effort":"low"}`,
		"prompt_cache_key":  ``, // only OpenAI knows it
		"input": `[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"},{"type":"input_text","text":"two"}]},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},` +
			`{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"},{"type":"function_call","call_id":"b","name":"f","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"a","output":"found"},{"type":"function_call_output","call_id":"b","output":""},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"So."}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"[cat.png]"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgogYW5kIHRoZSByZXN0"},{"type":"input_text","text":"look"}]}]`,
	} {
		field(t, got, name, want)
	}
}

// Events of Responses, also as servers other than OpenAI's write them.
const (
	wholeMessage = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"whole"}]}`
	wholeCall    = `{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}`
	completed    = `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9,"output_tokens":2}}}`
)

func TestResponseShapes(t *testing.T) {
	stream := func(events ...string) func(*llmtest.Exchange) {
		return func(x *llmtest.Exchange) {
			for _, event := range events {
				x.Write("data: " + event + "\n\n")
			}
			x.Wait(time.Second) // a whole answer ends the wait
		}
	}
	for name, answer := range map[string]func(*llmtest.Exchange){
		"as the protocol has it": func(x *llmtest.Exchange) { x.Say("who", "le") },
		"a message without pieces": stream(
			`{"type":"response.output_item.done","output_index":0,"item":`+wholeMessage+`}`, completed),
		"pieces without items": stream(
			`{"type":"response.output_text.delta","output_index":0,"delta":"who"}`, `{"type":"response.output_text.delta","output_index":0,"delta":"le"}`, completed),
		"a refusal, which is what the model says": stream(
			`{"type":"response.refusal.delta","output_index":0,"delta":"whole"}`, completed),
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			resp, err := askResponses(t, answer)
			if err != nil || resp.Message.Text != "whole" || resp.FinishReason != llm.FinishStop || resp.Usage.Prompt == 0 {
				t.Errorf("got %+v, %v", resp, err)
			}
			took := time.Since(started)
			check.That(t, took <= 900*time.Millisecond, "took %v", took)
		})
	}
	for name, answer := range map[string]func(*llmtest.Exchange){
		"a call of one event": stream(`{"type":"response.output_item.done","output_index":0,"item":`+wholeCall+`}`, completed),
		"a call whose pieces are incomplete": stream(
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"x\""}`,
			`{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"x\":1}"}`, completed),
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := askResponses(t, answer)
			if want := (llm.Call{ID: "a", Name: "f", Arguments: `{"x":1}`}); err != nil || len(resp.Message.Calls) != 1 || resp.Message.Calls[0] != want || resp.FinishReason != llm.FinishToolCalls {
				t.Errorf("got %+v, %v", resp, err)
			}
		})
	}
}

func TestFailedResponseIsError(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		kind  llm.Kind
		words string
	}{
		"failed":                {`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"crashed"}}}`, llm.KindOverloaded, "crashed"},
		"a rate limit":          {`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}`, llm.KindRateLimited, "slow down"},
		"an overflow":           {`{"type":"error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}`, llm.KindOverflow, "exceeds"},
		"an error in an object": {`{"error":{"message":"crashed","code":502}}`, llm.KindOverloaded, "crashed"},
		"a call without a name": {`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}` + "\n\ndata: " + completed, llm.KindTruncated, "without a name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := askResponses(t, func(x *llmtest.Exchange) { x.Chunk("%s", c.event) })
			check.Equal(t, "error kind", llm.KindOf(err), c.kind)
			check.Contains(t, "error", err.Error(), c.words)
		})
	}
}

func TestReasoningItemsPrecedeTheirCalls(t *testing.T) {
	reasoning := func(id string) string {
		return `{"id":"` + id + `","type":"reasoning","summary":[],"encrypted_content":"secret ` + id + `"}`
	}
	call := func(id string) string {
		return `{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"}`
	}
	message := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"whole"}]}`
	for name, output := range map[string][]string{
		"each call behind its own":          {reasoning("r1"), call("a"), reasoning("r2"), call("b")},
		"before text and a call":            {reasoning("r1"), message, call("a"), reasoning("r2"), call("b")},
		"before text and again before both": {reasoning("r1"), message, reasoning("r2"), call("a"), reasoning("r3"), call("b")},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Serve(t, func(x *llmtest.Exchange) {
				if x.N > 1 {
					x.Say("done")
					return
				}
				for i, item := range output {
					x.Chunk(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item)
				}
				x.Chunk("%s", completed)
			})
			model := connect(t, server, onResponses)
			resp := check.Must(model.Generate(t.Context(), hello, nil))(t)
			next := llm.Request{Messages: []llm.Message{hello.Messages[0], resp.Message, {Role: llm.RoleTool, CallID: "a", Text: "1"}, {Role: llm.RoleTool, CallID: "b", Text: "2"}}}
			if _, err := model.Generate(t.Context(), next, nil); err != nil {
				t.Fatal(err, server.Refusals())
			}
			var input []json.RawMessage
			check.NoError(t, json.Unmarshal(server.Requests()[1].Body["input"], &input))
			for i, want := range output {
				check.Equal(t, fmt.Sprintf("item %d", i), string(input[1+i]), want)
			}
		})
	}
	t.Run("an item that the server would look for in vain is not kept", func(t *testing.T) {
		resp, err := askResponses(t, func(x *llmtest.Exchange) {
			x.Chunk(`{"type":"response.output_item.done","output_index":0,"item":{"id":"r","type":"reasoning","summary":[]}}`)
			x.Say("whole")
		})
		check.That(t, err == nil && resp.Message.Native == nil, "got stored %s, %v", resp.Message.Native, err)
	})
}

func TestProviderFieldsReturnOnlyToProvider(t *testing.T) {
	answer := func(x *llmtest.Exchange) {
		if x.N > 1 {
			x.Say("done")
			return
		}
		x.Chunk(`{"choices":[{"delta":{"reasoning":"let me ","reasoning_content":"so","reasoning_details":[{"type":"reasoning.text","index":0,"text":"let me "}]}}]}`)
		x.Chunk(`{"choices":[{"delta":{"reasoning":"see","reasoning_details":[{"type":"reasoning.text","index":0,"text":"see","signature":null}]}}]}`)
		x.Chunk(`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"sig"},{"type":"reasoning.encrypted","index":1,"data":"xyz"}]}}]}`)
		x.Chunk(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"deep"}}},{"index":1,"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}`)
		x.Finish("tool_calls")
		x.Done()
	}
	here := llmtest.Serve(t, answer)
	model := connect(t, here, openai.Options{})
	resp := check.Must(model.Generate(t.Context(), hello, nil))(t)
	var again llm.Message // the transcript stores it between two requests
	check.NoError(t, json.Unmarshal(check.Must(json.Marshal(resp.Message))(t), &again))
	next := llm.Request{Messages: []llm.Message{
		hello.Messages[0], again,
		{Role: llm.RoleTool, CallID: "a", Text: "1"},
		{Role: llm.RoleTool, CallID: "b", Text: "2"},
	}}

	if _, err := model.Generate(t.Context(), next, nil); err != nil {
		t.Fatal(err, here.Refusals())
	}
	message := here.Requests()[1].Messages[1].Body
	field(t, message, "reasoning", `"let me see"`)
	field(t, message, "reasoning_content", `"so"`)
	field(t, message, "reasoning_details", `[{"index":0,"signature":"sig","text":"let me see","type":"reasoning.text"},{"data":"xyz","index":1,"type":"reasoning.encrypted"}]`)
	var calls []map[string]json.RawMessage
	check.NoError(t, json.Unmarshal(message["tool_calls"], &calls))
	field(t, calls[0], "extra_content", `{"google":{"thought_signature":"deep"}}`)
	field(t, calls[1], "extra_content", "")
	resp = check.Must(ask(t, func(x *llmtest.Exchange) { x.Say("plain") }))(t)
	check.That(t, resp.Message.Native == nil, "got %s of a provider that adds nothing", resp.Message.Native)
}

var png = []byte("\x89PNG\x0D\x0A\x1A\x0A and the rest")

func TestMissingPictureIsDescribed(t *testing.T) {
	for name, c := range map[string]struct {
		images []llm.Image
		text   string
		want   string
		shown  int
	}{
		"without its bytes": {[]llm.Image{{File: 1, Type: "image/png", Label: "image of #1: cat.png"}}, "look", `"look\n\n[image of #1: cat.png, not shown]"`, 0},
		"of another type":   {[]llm.Image{{Type: "image/png", Data: []byte("<svg></svg>")}}, "look", `"look\n\n[image, not shown]"`, 0},
		"beside one that is": {
			[]llm.Image{{Label: "image of #1"}, {Label: "image of #2", Data: png}},
			"look",
			`[{"type":"text","text":"[image of #2]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgogYW5kIHRoZSByZXN0"}},{"type":"text","text":"look\n\n[image of #1, not shown]"}]`, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := sent(t, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: c.text, Images: c.images}}})
			field(t, got.Messages[0].Body, "content", c.want)
			check.Equal(t, "pictures in the request", len(got.Messages[0].Images), c.shown)
		})
	}
}

func TestOnlyUserMessagesHavePictures(t *testing.T) {
	images := []llm.Image{{Data: png}}
	got := sent(t, llm.Request{Messages: []llm.Message{
		{Role: llm.RoleSystem, Text: "be kind", Images: images},
		{Role: llm.RoleUser, Text: "look"},
		{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "a", Name: "f"}}, Images: images},
		{Role: llm.RoleTool, CallID: "a", Tool: "f", Text: "a cat", Images: images},
	}})
	for i, want := range []string{`"be kind"`, `"look"`, `""`, `"a cat"`} {
		field(t, got.Messages[i].Body, "content", want)
	}
}
