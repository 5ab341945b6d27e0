package web

import (
	"context"
	"fmt"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
)

func TestChatAPI(t *testing.T) {
	r := newRig(t, rigOptions{model: func(context.Context, int, llm.Request) (llm.Response, error) { return said("Noted.") }})
	const path = "/api/conversations/web:shop/messages"
	var taken messageTaken
	for range 2 { // the second is the same message
		r.do(202, &taken, "POST", path, `{"id": "one", "text": " I prefer green tea. ", "compaction": {"background_threshold": 0.7}}`)
	}
	check.Equal(t, "the message", taken.ID, "one")
	check.Equal(t, "answer", taken.Answer, "")
	r.idle("web:shop")
	list := get[messageList](r, path)
	check.Len(t, "messages", list.Messages, 2)
	check.Equal(t, "first message", list.Messages[0].Text, "I prefer green tea.")
	check.Equal(t, "second message", list.Messages[1].Text, "Noted.")
	r.do(200, &taken, "POST", path, `{"id": "two", "text": "/context"}`)
	check.Contains(t, "the answer", taken.Answer, "messages")
	for _, c := range []struct {
		name, path, body, says string
		status                 int
	}{
		{"another connector's conversation", "/api/conversations/discord:1%2F2/messages", `{"id": "x", "text": "hello"}`, "web:general", 409},
		{"a strange name", "/api/conversations/web:a%2Fb/messages", `{"id": "x", "text": "hello"}`, "letters, digits", 400},
		{"no text", path, `{"id": "x", "text": " "}`, "text is missing", 400},
		{"no id", path, `{"text": "hello"}`, "needs an id", 400},
		{"an unknown key", path, `{"id": "x", "text": "hello", "colour": 1}`, "colour", 400},
		{"an unknown command", path, `{"id": "x", "text": "/contxt"}`, "context", 422},
		{"a setting that is none", path, `{"id": "x", "text": "hello", "compaction": {"keep": 1}}`, "keep", 422},
		{"a setting of the file", path, `{"id": "x", "text": "hello", "compaction": {"model": "dear"}}`, "settings file only", 422},
		{"a value that can never be", path, `{"id": "x", "text": "hello", "compaction": {"background_threshold": 80}}`, "0.80", 422},
	} {
		check.Contains(t, c.name, r.do(c.status, nil, "POST", c.path, c.body), c.says)
	}
	r.do(200, &list, "GET", path, "")
	check.Len(t, fmt.Sprintf("a rejected message is stored: %+v", list), list.Messages, 2)
}
