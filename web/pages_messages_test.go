package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/chat"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/store"
)

func TestCallsOfToolsAreShown(t *testing.T) {
	r := newRig(t, rigOptions{tools: &channeltest.Box{}, model: channeltest.Add})
	r.say(here, "please add")
	list := get[messageList](r, at(here, "/messages"))
	check.Require(t, len(list.Messages) == 4, "got %d messages: %+v", len(list.Messages), list.Messages)
	call, result := list.Messages[1], list.Messages[2]
	if len(call.Calls) != 1 || call.Calls[0].Name != "calc_add" || !json.Valid([]byte(call.Calls[0].Arguments)) {
		t.Fatalf("got the calls %+v", call.Calls)
	}
	check.Equal(t, "tool", result.Tool, "calc_add")
	check.Equal(t, "call_id", result.CallID, call.Calls[0].ID)
	_, page := r.get(pageOf(here) + "/messages")
	check.Contains(t, "page", page, "→ calc_add {", ">calc_add</b>")
	check.Lacks(t, "page", page, ">tool</b>")
	text := r.do(200, nil, "GET", "/api/openapi.json", "")
	check.Contains(t, "description", text, "calls of tools", "name of the tool whose result it is", "id of the call that it answers")
}

func TestCallIsShownInShort(t *testing.T) {
	for _, c := range []struct{ name, arguments, want string }{
		{"add", `{"a": 1,` + "\n\t" + `"b": 2}`, `→ add {"a": 1, "b": 2}`},
		{"add", `{"a": "` + strings.Repeat("ж", 200) + `"}`, `→ add {"a": "` + strings.Repeat("ж", chat.MaxCallShown-11) + "…"},
		{"list", "", "→ list"},
	} {
		check.Equal(t, "call", chat.CallLine(llm.Call{Name: c.name, Arguments: c.arguments}), c.want)
	}
}

// A link to a message that a search found stays right while the conversation goes on.
func TestLinkToAMessageLeadsToItsPlaceInTheConversation(t *testing.T) {
	r := newRig(t, rigOptions{window: 100_000})
	for i := range 70 {
		r.say(here, fmt.Sprintf("Plot %d has %s.", i, []string{"roses", "zinnias"}[i/10%2]))
	}
	_, found := r.get(pageOf(here) + "/messages?q=" + url.QueryEscape("Plot 12 zinnias"))
	link := regexp.MustCompile(`href="([^"#]*/messages[^"#]*)#(m25)"`).FindStringSubmatch(found)
	check.Require(t, link != nil, "no link to the message: %s", found)
	_, page := r.get(link[1])
	check.Contains(t, "page", page, `id="m24"`, `id="m25"`, `id="m26"`, "Later messages")
	later := regexp.MustCompile(`href="([^"]*)">↓ Later`).FindStringSubmatch(page)
	_, page = r.get(later[1])
	check.Contains(t, "next page", page, `id="m50"`, `id="m99"`, "Later messages")
	check.Lacks(t, "next page", page, `id="m49"`, `id="m100"`)
	_, page = r.get(pageOf(here) + "/messages?before=200")
	check.Contains(t, "last page", page, `id="m140"`, "The newest messages")
	check.Lacks(t, "last page", page, "Later messages")
}

func TestPagesOfAConversationBearItsName(t *testing.T) {
	r := newRig(t, rigOptions{})
	must(r.hub.Deliver(t.Context(), here, channel.Inbound{ID: "1", AuthorID: "ada", Author: "Ada", Text: "Hello", Time: time.Now(), Addressed: true, Label: "#roses · Garden"}))
	r.idle(here)
	for path, title := range map[string]string{"": "Overview", "/messages": "Messages", "/settings": "Settings"} {
		_, page := r.get(pageOf(here) + path)
		check.Contains(t, title, page, "<title>"+title+" · #roses · Garden · Cairn</title>", "<h1>#roses · Garden</h1>", here)
	}
	_, page := r.get("/?offset=50") // of a list that was longer
	check.Contains(t, "page", page, "1 in all", "Previous")
	check.Equal(t, "total", get[conversationList](r, "/api/conversations?offset=50").Total, 1)
}

func TestTasksAreListedAndOpened(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk("terminal:garden", 1)
	records := must(r.store.Find(t.Context(), "terminal:garden"))
	begun := must(records.Tasks().Begin(t.Context(), store.NewTask{Task: store.Task{Agent: "researcher", Text: "count the bridges"}, Message: "<task>", Most: 4}))
	var list struct {
		Tasks []store.Task `json:"tasks"`
	}
	if r.do(200, &list, "GET", at("terminal:garden", "/tasks"), ""); len(list.Tasks) != 1 || list.Tasks[0].Conversation != "task:terminal:garden/1" || list.Tasks[0].Text != "count the bridges" {
		t.Errorf("%+v", list)
	}
	check.Contains(t, "the page lacks a link to the task", r.do(200, nil, "GET", pageOf("terminal:garden"), ""), "count the bridges", `href="`+pageOf(begun.Conversation)+`"`)
	check.Contains(t, "agent of the task", r.do(200, nil, "GET", "/api/conversations", ""), `"channel":"task:terminal:garden/1","agent":"researcher"`)
	r.do(200, nil, "GET", at(begun.Conversation, ""), "")
	r.do(200, nil, "GET", at(begun.Conversation, "/messages"), "")
	r.do(200, nil, "GET", at(begun.Conversation, "/settings"), "")
	r.do(404, nil, "GET", at("terminal:nowhere", "/tasks"), "")
}
