package openai_test

import (
	"encoding/json"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

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

// TestRequestWithoutPicturesIsUnchanged compares whole bodies with their bytes from before there
// were pictures, for the providers' prompt caches.
func TestRequestWithoutPicturesIsUnchanged(t *testing.T) {
	got := sent(t, llm.Request{Messages: []llm.Message{
		{Role: llm.RoleSystem, Text: "be kind"},
		{Role: llm.RoleUser, Text: "one <b>"},
		{Role: llm.RoleUser, Text: "two"},
		{Role: llm.RoleAssistant, Text: "ok", Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}}},
		{Role: llm.RoleTool, CallID: "a", Tool: "f", Text: ""},
	}})
	want := `[{"role":"system","content":"be kind"},{"role":"user","content":"one <b>\n\ntwo"},` +
		`{"role":"assistant","content":"ok","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},` +
		`{"role":"tool","content":"","tool_call_id":"a"}]`
	check.Equal(t, "messages of the request", string(got.Body["messages"]), want)
}
