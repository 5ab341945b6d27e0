package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/channel"
	"cairn/internal/check"
)

// Clients check a tool's answer against its schema.
func TestMCPAnswersMatchSchema(t *testing.T) {
	r := newRig(t, rigOptions{mcpWrites: true})
	s := must(r.mcpClient(""))
	promised := map[string]*jsonschema.Resolved{}
	for _, tool := range must(s.ListTools(t.Context(), nil)).Tools {
		var schema jsonschema.Schema
		check.NoError(t, json.Unmarshal(must(json.Marshal(tool.OutputSchema)), &schema))
		promised[tool.Name] = must(schema.Resolve(nil))
		if tool.Annotations.DestructiveHint == nil && !tool.Annotations.ReadOnlyHint && tool.Name != "memory_forget" {
			t.Errorf("%s is marked destructive", tool.Name)
		}
	}
	check := func(tool string, arguments map[string]any) {
		t.Helper()
		result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil || result.IsError {
			t.Fatalf("%s: %v, %+v", tool, err, result)
		}
		if err := promised[tool].Validate(result.StructuredContent); err != nil {
			t.Errorf("%s: %v\n%.500s", tool, err, result.Content[0].(*sdk.TextContent).Text)
		}
	}
	all := func(full bool) {
		t.Helper()
		for _, tool := range []string{"conversations", "memory_list", "usage"} {
			check(tool, nil)
		}
		check("memory_search", map[string]any{"query": "gate"})
		if !full {
			return
		}
		of := map[string]any{"conversation": here}
		check("summaries", of)
		check("simulate", of)
		check("recall", map[string]any{"conversation": here, "query": "gate"})
		check("memory_save", map[string]any{"conversation": here, "content": "The gate opens at noon"})
		check("memory_show", map[string]any{"id": 1})
		check("memory_forget", map[string]any{"id": 1})
	}
	all(false) // of nothing
	r.talk(here, 120)
	all(true)
	summaries := get[summaryList](r, at(here, "/summaries"))
	check("expand", map[string]any{"conversation": here, "summary": summaries.Stack[0].ID})
	check("compact", map[string]any{"conversation": here}) // at the end, because it replaces summaries
}

func TestLongMCPAnswersAreShortened(t *testing.T) {
	check.SkipUnderRace(t)
	r := newRig(t, rigOptions{window: 1_000_000})
	for i := range 60 {
		m := channel.Inbound{ID: fmt.Sprint(i), AuthorID: "ada", Author: "Ada", Time: time.Now(), Text: "The tide rises twice a day: " + strings.Repeat("up and down, ", 2000)}
		check.NoError(t, check.ErrorOf(r.hub.Deliver(t.Context(), here, m)))
	}
	check.NoError(t, r.hub.Idle(t.Context(), here))
	s := must(r.mcpClient(""))
	text, failed := called(t, s, "recall", map[string]any{"conversation": here, "query": "tide"})
	if failed || len(text) > maxMCPAnswer || !json.Valid([]byte(text)) {
		t.Errorf("%v, %d bytes: %.300s", failed, len(text), text)
	}
	result, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: resourceScheme + strings.ReplaceAll(strings.TrimPrefix(apiOf(here), "/api/"), ":", "%3A") + "/messages"})
	check.NoError(t, err)
	text = result.Contents[0].Text
	if len(text) > maxMCPAnswer || !json.Valid([]byte(text)) || !strings.Contains(text, "characters more)") || strings.Count(text, `"seq":`) != 50 {
		t.Errorf("%d bytes, %d messages", len(text), strings.Count(text, `"seq":`))
	}
	// page by page
	if before := strings.Index(text, `"before":`); before < 0 {
		t.Errorf("got no hint at the previous page: %.300s", text[len(text)-300:])
	}
}

func TestShorten(t *testing.T) {
	check.SkipUnderRace(t)
	long := map[string]any{"name": "x", "list": []any{}, "deep": map[string]any{"list": []any{}}, "number": json.Number("12345678901234567890")}
	for range 5000 {
		long["list"] = append(long["list"].([]any), map[string]any{"text": strings.Repeat("é", 100)})
		long["deep"].(map[string]any)["list"] = append(long["deep"].(map[string]any)["list"].([]any), 1)
	}
	text := must(json.Marshal(long))
	for _, most := range []int{len(text), 400_000, 50_000, 10_000} {
		short, err := shorten(text, most)
		if err != nil || len(short) > most || !json.Valid(short) || !strings.Contains(string(short), "12345678901234567890") {
			t.Fatalf("at most %d: %d bytes, %v", most, len(short), err)
		}
		var back struct {
			List []any
			Left int `json:"list_left_out"`
		}
		if err := json.Unmarshal(short, &back); err != nil || len(back.List)+back.Left != 5000 {
			t.Errorf("at most %d: %d entries, and %d are left out, %v", most, len(back.List), back.Left, err)
		}
	}
	if _, err := shorten(text, 100); err == nil {
		t.Error("100 bytes were accepted")
	}
}
