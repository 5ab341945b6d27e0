package web

import (
	"testing"

	"cairn/internal/check"
	"cairn/store"
)

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
