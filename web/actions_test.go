package web

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
)

// commandsOf are the commands that do what the forms of the dashboard do, by the route and a part of the body; "": none does. The API
// calls what the command calls, without its sentences: memory.Forget, Operator.Undo.
var commandsOf = []struct{ route, body, line string }{
	{"POST .*/compact", "", "/compact"},
	{"POST .*/undo", "", "/undo"},
	{"POST .*/new", "", "/new"},
	{"POST .*/pause", "", "/pause"},
	{"POST .*/resume", "", "/resume"},
	{"POST .*/approvals/.*", "true", "/allow"},
	{"POST .*/approvals/.*", "false", "/deny"},
	{"POST .*/summaries/.*/lines/.*", "", "/summaries edit"},
	{"PATCH /api/memories/.*", `"pinned": true`, "/memories pin"},
	{"PATCH /api/memories/.*", `"pinned": false`, "/memories unpin"},
	{"PATCH /api/memories/.*", "forgotten", "/forget"},
	{"PATCH /api/memories/.*", "active", "/memories restore"},
	{"PATCH /api/memories/.*", "{}", ""}, // another text
	{"POST .*/messages", "", ""},         // the chat
	{" .*/settings", "", "/settings"},    // a script sends it
}

var (
	formTag   = regexp.MustCompile(`<form [^>]*data-api[^>]*>`)
	attribute = regexp.MustCompile(`data-(method|api|body)="([^"]*)"`)
)

// commandOfForm returns the command that does what a form does.
func commandOfForm(t *testing.T, form string) string {
	t.Helper()
	has := make(map[string]string)
	for _, found := range attribute.FindAllStringSubmatch(form, -1) {
		has[found[1]] = html.UnescapeString(found[2])
	}
	for _, c := range commandsOf {
		if regexp.MustCompile("^"+c.route+"$").MatchString(has["method"]+" "+has["api"]) && strings.Contains(has["body"], c.body) {
			return c.line
		}
	}
	t.Errorf("no command does what this form does: %s", form)
	return ""
}

// TestTheDashboardOffersActions finds each action that the table offers on the dashboard, in its pages.
func TestTheDashboardOffersActions(t *testing.T) {
	r := newRig(t, rigOptions{tools: &channeltest.Box{Approve: channel.ApproveAlways}, model: channeltest.Add})
	r.linedSummary("terminal:lines")
	r.send("please add")
	check.Require(t, check.Soon(func() bool { return len(r.hub.Operator().Approvals(pane)) == 1 }), "no call waits for approval")
	r.remember("Ada prefers green tea")
	memory := fmt.Sprint("/memories/", get[MemoryList](r, "/api/memories").Memories[0].ID)
	var lines []string
	reads := func(path string) {
		text := r.page(200, path)
		for _, form := range formTag.FindAllString(text, -1) {
			if line := commandOfForm(t, form); line != "" {
				lines = append(lines, line)
			}
		}
		if strings.Contains(text, `id="stop"`) { // the script of the chat sends the command
			lines = append(lines, "/stop")
		}
	}
	reads(pageOf(pane))
	reads(pageOf(pane) + "/settings")
	reads(summaryPageOf("terminal:lines", r.lined))
	reads("/chat/general")
	reads(memory)
	for _, change := range []string{`{"pinned": true}`, `{"state": "forgotten"}`} {
		r.do(200, nil, "PATCH /api"+memory, change)
		reads(memory)
	}
	r.do(200, nil, "POST "+at(pane, "/pause"), "")
	reads(pageOf(pane))
	channeltest.Offers(t, command.OnDashboard, lines)
}
