package compactor

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
)

// Each part of a request costs its tokens once.
func TestEverythingSentIsCountedOnce(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("harbour lantern ", 100))
	most, least := tokens.Estimate(long)+10, tokens.Estimate(long)-10
	plain := chat.Message{Role: llm.RoleUser, Author: "Ada", Text: "hi"}
	call := func(name, arguments string) chat.Message {
		return chat.Message{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "a", Name: name, Arguments: arguments}}}
	}
	tool := func(name, description, parameters string) []llm.Tool {
		return []llm.Tool{{Name: name, Description: description, Parameters: json.RawMessage(parameters)}}
	}
	shown := func(m chat.Message) int { return lineOf(m, wide).tokens }
	for part, cost := range map[string]int{
		"a message":           shown(chat.Message{Role: llm.RoleUser, Author: "Ada", Text: long}) - shown(plain),
		"a tool's name":       shown(call(long, "{}")) - shown(call("", "{}")),
		"a call's arguments":  shown(call("look", `{"q":"`+long+`"}`)) - shown(call("look", `{"q":""}`)),
		"a result":            shown(resultTo("a", long)) - shown(resultTo("a", "")),
		"reasoning":           shown(chat.Message{Role: llm.RoleAssistant, Text: "so", Native: json.RawMessage(`{"r":"` + long + `"}`)}) - shown(chat.Message{Role: llm.RoleAssistant, Text: "so", Native: json.RawMessage(`{"r":""}`)}),
		"a summary":           Compaction{Kind: Leaf, Text: long}.Cost() - Compaction{Kind: Leaf}.Cost(),
		"the system prompt":   FrameCost(long, nil) - FrameCost("", nil),
		"a tool's definition": FrameCost("", tool("look", long, "{}")) - FrameCost("", tool("look", "", "{}")),
		"its parameters":      FrameCost("", tool("look", "", `{"q":"`+long+`"}`)) - FrameCost("", tool("look", "", `{"q":""}`)),
	} {
		if cost < least || cost > most {
			t.Errorf("%s of %d tokens: got a cost of %d", part, tokens.Estimate(long), cost)
		}
	}
}
