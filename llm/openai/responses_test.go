package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

var onResponses = openai.Options{Wire: llm.WireResponses}

// Events of Responses, also as servers other than OpenAI's write them.
const (
	wholeMessage = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"whole"}]}`
	wholeCall    = `{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}`
	completed    = `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9,"output_tokens":2}}}`
)

func TestResponsesAnswerForms(t *testing.T) {
	const called = `tool_calls [{a f {"x":1}}]`
	for name, c := range map[string]struct {
		want   string // finish reason, text and calls; or a kind of error and its text
		events []string
	}{
		"a message without pieces": {"stop whole", []string{`{"type":"response.output_item.done","output_index":0,"item":` + wholeMessage + `}`, completed}},
		"pieces without items": {"stop whole", []string{
			`{"type":"response.output_text.delta","output_index":0,"delta":"who"}`, `{"type":"response.output_text.delta","output_index":0,"delta":"le"}`, completed,
		}},
		"a refusal, which is what the model says": {"stop whole", []string{`{"type":"response.refusal.delta","output_index":0,"delta":"whole"}`, completed}},
		"a call of one event":                     {called, []string{`{"type":"response.output_item.done","output_index":0,"item":` + wholeCall + `}`, completed}},
		"a call whose pieces are incomplete": {called, []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"x\""}`,
			`{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"x\":1}"}`, completed,
		}},
		"calls out of order": {`tool_calls [{b g {}} {a f {"x":1}}]`, []string{
			`{"type":"response.output_item.done","output_index":2,"item":` + wholeCall + `}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"b","name":"g","arguments":"{}"}}`, completed,
		}},
		"failed":                {"overloaded: crashed", []string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"crashed"}}}`}},
		"a rate limit":          {"rate limited: slow down", []string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}`}},
		"failed without words":  {"overloaded: the server gave up", []string{`{"type":"response.failed","response":{"status":"failed","error":null}}`}},
		"an overflow":           {"overflow: Your input exceeds", []string{`{"type":"error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}`}},
		"an error in an object": {"overloaded: crashed", []string{`{"error":{"message":"crashed","code":502}}`}},
		"a call without a name": {"truncated: the answer broke off: a tool call without a name", []string{`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}`, completed}},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ask(t, onResponses, func(x *llmtest.Exchange) {
				for _, event := range c.events {
					x.Chunk("%s", event)
				}
				if c.events[len(c.events)-1] == completed {
					check.That(t, !x.Wait(time.Minute), "a whole answer did not end the wait")
				}
			})
			got, usage := resp.FinishReason+" "+resp.Message.Text, llm.Usage{Prompt: 9, Completion: 2}
			if e, failed := errors.AsType[*llm.Error](err); failed {
				got, usage = string(e.Kind)+": "+e.Message, llm.Usage{}
			} else if len(resp.Message.Calls) > 0 {
				got += fmt.Sprint(resp.Message.Calls)
			}
			check.HasPrefix(t, "answer", got, c.want)
			check.Equal(t, "usage", resp.Usage, usage)
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
	for name, output := range map[string][]string{
		"each call behind its own":          {reasoning("r1"), call("a"), reasoning("r2"), call("b")},
		"before text and a call":            {reasoning("r1"), wholeMessage, call("a"), reasoning("r2"), call("b")},
		"before text and again before both": {reasoning("r1"), wholeMessage, reasoning("r2"), call("a"), reasoning("r3"), call("b")},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Serve(t, func(x *llmtest.Exchange) {
				if x.N > 1 {
					x.Say("ok")
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
			check.NoError(t, check.ErrorOf(model.Generate(t.Context(), next, nil)))
			var input []json.RawMessage
			check.NoError(t, json.Unmarshal(server.Requests()[1].Body["input"], &input))
			for i, want := range output {
				check.Equal(t, fmt.Sprintf("item %d", i), string(input[1+i]), want)
			}
		})
	}
	resp := check.Must(ask(t, onResponses, func(x *llmtest.Exchange) {
		x.Chunk(`{"type":"response.output_item.done","output_index":0,"item":{"id":"r","type":"reasoning","summary":[]}}`)
		x.Say("whole")
	}))(t)
	check.Equal(t, "an item that the server would look for in vain is kept", string(resp.Message.Native), "")
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
	server := llmtest.Serve(t, answer)
	model := connect(t, server, openai.Options{})
	resp := check.Must(model.Generate(t.Context(), hello, nil))(t)
	var again llm.Message // the transcript stores it between two requests
	check.NoError(t, json.Unmarshal(check.Must(json.Marshal(resp.Message))(t), &again))
	next := []llm.Message{hello.Messages[0], again, {Role: llm.RoleTool, CallID: "a", Text: "1"}, {Role: llm.RoleTool, CallID: "b", Text: "2"}}
	check.NoError(t, check.ErrorOf(model.Generate(t.Context(), llm.Request{Messages: next}, nil)))
	for name, want := range map[string]string{
		"reasoning": `"let me see"`, "reasoning_content": `"so"`,
		"reasoning_details": `[{"index":0,"signature":"sig","text":"let me see","type":"reasoning.text"},{"data":"xyz","index":1,"type":"reasoning.encrypted"}]`,
		"tool_calls": `[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"deep"}}},` +
			`{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]`,
	} {
		check.Equal(t, name, string(server.Requests()[1].Messages[1].Body[name]), want)
	}
	resp = check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) { x.Say("plain") }))(t)
	check.That(t, resp.Message.Native == nil, "got %s of a provider that adds nothing", resp.Message.Native)
}
