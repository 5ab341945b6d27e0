package web

import (
	"fmt"
	"strconv"
	"testing"

	"cairn/testkit/check"
)

// withPosts sets posts_per_hour.
func (r *rig) withPosts(perHour int) {
	settings := *r.settings.Load()
	settings.Web.PostsPerHour = perHour
	r.settings.Store(&settings)
}

// post posts a message to a conversation as a program does, or with other headers.
func (r *rig) post(status int, conversation, id string, headers ...string) string {
	r.t.Helper()
	return r.do(status, nil, "POST "+at(conversation, "/messages"), fmt.Sprintf(`{"id": %q, "text": "report"}`, id), headers...)
}

func TestPostsPerHour(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.withPosts(3)
	for i := range 3 {
		r.post(202, pane, fmt.Sprint("report ", i))
	}
	for i := range 3 {
		check.Contains(t, "the answer to a program", r.post(429, pane, fmt.Sprint("more ", i)), "posts_per_hour")
	}
	refused := r.request("POST", at(pane, "/messages"), `{"id": "once more", "text": "report"}`)
	wait, err := strconv.Atoi(refused.Header.Get("Retry-After"))
	check.That(t, err == nil && wait > 600 && wait <= 1201, "refusals, which do not count, end in %d seconds, %v", wait, err)
	r.post(202, "web:other", "another conversation has its own hour")
	r.post(202, pane, "a person writes on a page", "Origin: "+r.url)
	r.do(200, nil, "POST "+at(pane, "/messages"), `{"id": "command", "text": "/context"}`)
	check.Len(t, "incidents", keptOf[logLine](r.events), 1)
	r.withPosts(0)
	r.do(202, nil, "POST "+at(pane, "/messages"), `{"id": "steer", "text": "/steer in French"}`)
	r.post(202, pane, "without a limit")
	r.idle(pane)
	check.Len(t, "stored messages", get[messageList](r, at(pane, "/messages?q=report")).Messages, 5)
}

// A hook that posts each reply again gets a refusal, which leads to no reply.
func TestHookThatPostsEachReplyEnds(t *testing.T) {
	replies := make(chan string, 100)
	r := newRig(t, rigOptions{replied: func(conversation string, _ []string, _ string, _ bool) { replies <- conversation }})
	r.withPosts(5)
	r.say(pane, "go")
	for i := range 6 {
		status := map[bool]int{true: 202, false: 429}[i < 5]
		r.post(status, <-replies, fmt.Sprint("reply ", i))
	}
	r.idle(pane)
	check.Equal(t, "replies that the hook has not seen", len(replies), 0)
}
