package main

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// dashboardOf returns the address of a process's dashboard.
func (p *pair) dashboardOf(l *live) string {
	return "http://" + first(p.t, `"web_listening","address":"([^"]+)"`, l.errs.String())
}

// post makes a request to the API for a conversation, and returns the status and the answer.
func (p *pair) post(at, conversation, what, body string) (status int, said string) {
	p.t.Helper()
	resp := check.Must(http.Post(at+"/api/conversations/"+url.PathEscape(conversation)+"/"+what, "application/json", strings.NewReader(body)))(p.t)
	defer resp.Body.Close()
	return resp.StatusCode, string(check.Must(io.ReadAll(resp.Body))(p.t))
}

// Any dashboard shows and changes what the owner of a conversation does, and the browser's chat goes on there.
func TestDashboardOfAnotherProcess(t *testing.T) {
	p, release := startPair(t)
	there, here := p.dashboardOf(p.first), p.dashboardOf(p.second)
	p.sayOnDiscord("one")
	p.wait(p.first, p.onDiscord, "Answer: one")
	name := first(t, `(discord:[0-9]+/[0-9]+)`, p.folder.must("", "channels"))
	status, said := p.post(here, name, "compact", "{}")
	check.That(t, status == 200 && strings.Contains(said, `"noop"`), "a compaction beside the owner: %d, %s", status, said)

	const chat = "web:a chat"
	status, _ = p.post(there, chat, "messages", `{"id": "1", "text": "slow"}`)
	check.Equal(t, "status of a message", status, 202)
	p.until(p.first, "the model is asked", func() bool { return p.asked.Load() == 1 })
	status, page := get(t, here+"/chat/a%20chat?fragment=messages")
	check.That(t, status == 200 && strings.Contains(page, `id="answering"`), "the chat beside the owner: %d, %s", status, page)
	events := check.Must(http.Get(here + "/api/events"))(t)
	defer events.Body.Close()
	lines := bufio.NewScanner(events.Body)
	for lines.Scan() && lines.Text() != "event: reset" { // since when it follows
	}
	status, said = p.post(here, chat, "messages", `{"id": "2", "text": "/stop"}`)
	check.That(t, status == 200 && strings.Contains(said, "Stopped."), "/stop beside the owner: %d, %s", status, said)
	release()
	status, _ = p.post(here, chat, "messages", `{"id": "3", "text": "two"}`)
	check.Equal(t, "status of a message beside the owner", status, 202)
	for lines.Scan() && !strings.Contains(lines.Text(), `"web:a chat","state":"changed"`) {
	}
	p.until(p.second, "the answer", func() bool {
		_, page := get(t, here+"/chat/a%20chat?fragment=messages")
		return strings.Contains(page, "Answer: ")
	})

	status, _ = p.post(there, "web:nowhere", "compact", "{}")
	check.Equal(t, "status of what does not exist", status, 404)
	check.NoError(t, p.first.cmd.Process.Kill())
	p.second.logs("process_ended")
	status, said = p.post(here, chat, "messages", `{"id": "4", "text": "/context"}`)
	check.That(t, status == 200 && strings.Contains(said, "messages"), "/context after the owner was killed: %d, %s", status, said)
	p.second.stop()
}
