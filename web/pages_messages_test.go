package web

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/channel/channeltest"
	"cairn/chat"
	"cairn/internal/check"
	"cairn/llm"
)

func TestCallsOfToolsAreShown(t *testing.T) {
	r := newRig(t, rigOptions{tools: &channeltest.Box{}, model: channeltest.Add})
	r.say(here, "please add")
	list := get[messageList](r, at(here, "/messages"))
	if len(list.Messages) != 4 {
		t.Fatalf("got %d messages: %+v", len(list.Messages), list.Messages)
	}
	call, result := list.Messages[1], list.Messages[2]
	if len(call.Calls) != 1 || call.Calls[0].Name != "calc_add" || !json.Valid([]byte(call.Calls[0].Arguments)) {
		t.Fatalf("got the calls %+v", call.Calls)
	}
	check.Equal(t, "tool", result.Tool, "calc_add")
	check.Equal(t, "call_id", result.CallID, call.Calls[0].ID)
	_, page := r.get(pageOf(here) + "/messages")
	check.Contains(t, "page", page, "→ calc_add {", "<b>calc_add</b>")
	check.Lacks(t, "page", page, "<b>tool</b>")
	text := r.do(200, nil, "GET", "/api/openapi.json", "")
	check.Contains(t, "description", text, "calls of tools", "name of the tool whose result it is", "id of the call that it answers")
}

func TestCallIsShownInShort(t *testing.T) {
	for _, c := range []struct{ name, arguments, want string }{
		{"add", `{"a": 1,` + "\n\t" + `"b": 2}`, `→ add {"a": 1, "b": 2}`},
		{"add", `{"a": "` + strings.Repeat("ж", 200) + `"}`, `→ add {"a": "` + strings.Repeat("ж", chat.MaxCallShown-11) + "…"},
		{"list", "", "→ list"},
	} {
		got := chat.CallLine(llm.Call{Name: c.name, Arguments: c.arguments})
		check.Equal(t, "call", got, c.want)
	}
	var page strings.Builder
	check.NoError(t, messageView(chat.Record{Role: llm.RoleAssistant, Calls: []llm.Call{{Name: hostile, Arguments: hostile}}}, "").Render(&page))
	check.Lacks(t, "page", page.String(), "<script", "<img", "<svg")
}
