package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel/report"
	"cairn/compactor"
	"cairn/config"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
)

// Each route is in the description, answers, and rejects unknown input.
func TestEveryRouteIsDescribedAndAnswers(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(garden, 1)
	var doc struct {
		OpenAPI string                    `json:"openapi"`
		Paths   map[string]map[string]any `json:"paths"`
	}
	text := r.do(200, &doc, "GET /api/openapi.json", "")
	check.Equal(t, "version", doc.OpenAPI, "3.1.0")
	check.Contains(t, "description", text, "additionalProperties", "calls of tools", "id of the call that it answers")
	for _, route := range r.server.endpoints.routes() {
		method, path, _ := strings.Cut(route.pattern, " ")
		check.That(t, doc.Paths[path][strings.ToLower(method)] != nil, "%s is not described", route.pattern)
		path = strings.NewReplacer("{conversation}", garden, "{id}", "1", "{summary}", "1").Replace(path)
		resp := r.request(method, path+"?no_such_parameter=1", "")
		check.Equal(t, route.pattern+": status", resp.StatusCode, http.StatusBadRequest)
		check.Equal(t, "Content-Type", resp.Header.Get("Content-Type"), "application/problem+json")
	}
	r.do(404, nil, "DELETE /api/conversations", "")
	r.do(404, nil, "GET /api/nothing", "")
}

func TestConversationsAPI(t *testing.T) {
	r := newRig(t, rigOptions{before: func(r *rig) { r.past("discord:1/2", "The roses are red.") }})
	check.Require(t, check.Soon(func() bool { // so that the first page of the list does not wait
		_, known := r.server.endpoints.conversations.fills.Load("discord:1/2")
		return known
	}), "the windows in the list are not measured at the start")
	const odd = "terminal:a/../b%2F ?#\"<script>"
	r.talk(garden, 5)
	r.talk(odd, 1)
	list := get[conversationList](r, "/api/conversations?limit=1")
	check.That(t, list.Total == 3 && len(list.Conversations) == 1 && list.Conversations[0].Channel == odd, "the newest: %+v", list)
	list = get[conversationList](r, "/api/conversations?q=GARD")
	check.Len(t, "conversations found by name", list.Conversations, 1)
	c := list.Conversations[0]
	check.That(t, c.Used >= 500 && c.Max == 8000 && c.Messages == 10, "how full it is: %+v", c)
	one := get[conversationAnswer](r, at(garden, ""))
	check.That(t, one.Channel == garden && one.Messages == 10 && one.Max == 8000 && one.Settings[0].Origin == "built in", "one: %+v", one)
	edited := *r.settings.Load()
	edited.Agents = []config.Agent{{MaxOutputTokens: 600}}
	closed := "/api/conversations?q=discord:1"
	before := get[conversationList](r, closed).Conversations[0].Used
	r.settings.Store(&edited)
	check.Equal(t, "tokens used in a conversation that is not open, after an edit of the settings",
		get[conversationList](r, closed).Conversations[0].Used, before+100)
	cached, _ := r.server.endpoints.conversations.fills.Load("discord:1/2")
	old := cached.(cachedUsage)
	old.at = old.at.Add(-time.Minute)
	old.activity.Window = 128_000 // the model's server did not answer then
	r.server.endpoints.conversations.fills.Store("discord:1/2", old)
	check.Equal(t, "the window a minute later", get[conversationList](r, closed).Conversations[0].Max, 8000)
	check.Equal(t, "a name that is percent-encoded", get[conversationAnswer](r, at(odd, "")).Channel, odd)
	r.do(404, nil, "GET /api/conversations/terminal:a/b", "")

	page := get[messageList](r, at(garden, "/messages?limit=6"))
	check.That(t, len(page.Messages) == 6 && page.Messages[5].Seq == 10, "the newest messages: %+v", page)
	page = get[messageList](r, at(garden, fmt.Sprint("/messages?limit=6&before=", page.Before)))
	check.That(t, len(page.Messages) == 4 && page.Messages[0].Seq == 1 && page.Messages[3].Seq == 4 && page.Before == 0, "the rest: %+v", page)
	found := get[messageList](r, at(garden, "/messages?q=plot+3")).Messages
	check.That(t, len(found) != 0 && found[0].Seq == 7 && found[0].Match != "", "found: %+v", found)

	for by, want := range map[string][]string{
		"model": {`"model":"scripted"`, `"requests":6`}, "conversation": {`"conversation":"terminal:garden"`, `"requests":5`}, "day": {`"day":"`},
	} {
		check.Contains(t, "usage by "+by, r.do(200, nil, "GET /api/usage?by="+by, ""), want...)
	}
	r.do(400, nil, "GET /api/usage?by=moon", "")
	check.Equal(t, "requests", get[report.Spending](r, at(garden, "/usage")).Total.Requests, 5)
}

func TestCompactAndUndo(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(garden, 7)
	watch := r.watch("?kinds=compaction,usage")
	usage := func(after string) {
		t.Helper()
		event := watch.until(t, `"used_tokens":`)
		r.idle(garden)
		now := get[conversationAnswer](r, at(garden, ""))
		check.Contains(t, "after "+after, event, fmt.Sprintf(`"conversation":%q,"used_tokens":%d,"max_tokens":8000,"time":`, garden, now.Used))
	}
	r.talk(garden, 1)
	usage("a turn")
	var job jobAnswer
	r.do(202, &job, "POST "+at(garden, "/compact"), `{"focus": "tulips", "keep_last_n": 4}`)
	check.That(t, job.State == "started" && job.From == 1 && job.To == 12, "the job: %+v", job)
	applied := watch.until(t, `"state":"applied"`)
	check.Contains(t, "applied", applied, `"before_tokens":`)
	check.Lacks(t, "applied", applied, `"after_tokens":0`)
	usage("a compaction")
	stack := get[summaryList](r, at(garden, "/summaries")).Stack
	check.Len(t, "the stack", stack, 1)
	one := get[summaryAnswer](r, at(garden, fmt.Sprintf("/summaries/%d?limit=10", stack[0].ID)))
	check.That(t, len(one.Messages) == 10 && one.From == 11 && one.Summary.To == 12, "the first page of what it covers: from %d, %+v", one.From, one.Summary)
	r.do(404, nil, "GET "+at(garden, "/summaries/999"), "")

	// The history has the start, each answer, both sides of a compaction, and now.
	h := get[historyAnswer](r, at(garden, "/history"))
	check.Len(t, "compactions", h.Compactions, 1)
	c := h.Compactions[0]
	check.That(t, c.Trigger == "manual" && c.BeforeTokens > c.AfterTokens, "%+v", c)
	check.Len(t, "usage points", h.Used, 1+8+2+1)
	now := get[conversationAnswer](r, at(garden, ""))
	for i, want := range map[int]usedPoint{
		0:  {Tokens: now.Parts.Frame + now.Parts.Reserve},
		1:  {Seq: 1, Tokens: 1000 + now.Parts.Reserve, Window: 8000}, // the provider's count
		8:  {Seq: 15, Tokens: h.Used[8].Tokens, Window: 8000},
		9:  {Seq: 16, Tokens: c.BeforeTokens},
		10: {Seq: 16, Tokens: c.AfterTokens},
		11: {Seq: 16, Tokens: now.Used, Window: 8000},
	} {
		want.Time = h.Used[i].Time
		check.Equal(t, fmt.Sprint("point ", i), h.Used[i], want)
	}
	check.Equal(t, "place of the mark, at the drop of the line", panelOf(now, h, nil).Marks[0].At, 16)
	check.Len(t, "usage points before message 10", get[historyAnswer](r, at(garden, "/history?before=10")).Used, 1+4)
	check.Len(t, "usage points of messages 4 to 9", get[historyAnswer](r, at(garden, "/history?from=4&to=9")).Used, 1+3)
	check.Len(t, "compactions before message 16", get[historyAnswer](r, at(garden, "/history?to=15")).Compactions, 0)
	check.Len(t, "compactions up to message 16", get[historyAnswer](r, at(garden, "/history?to=16")).Compactions, 1)
	check.Len(t, "compactions from message 16 on", get[historyAnswer](r, at(garden, "/history?from=16")).Compactions, 1)
	r.do(422, nil, "GET "+at(garden, "/history?from=9&to=4"), "")
	since := time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05Z")
	check.Len(t, "usage points since then", get[historyAnswer](r, at(garden, "/history?since="+since)).Used, 0)

	for _, body := range []string{`{"compaction": {"keep_last_turns": 400}}`, `{"keep_last_n": 500}`} { // settings for one compaction
		r.do(200, &job, "POST "+at(garden, "/compact"), body)
		check.That(t, job.State == "noop" && job.Reason != "", "%s: %+v", body, job)
	}
	r.do(200, &job, "POST "+at(garden, "/undo"), "")
	check.Equal(t, "the state", job.State, "undone")
	usage("an undo")
	r.do(200, nil, "PUT "+at(garden, "/settings"), `{"keep_first": 3}`)
	usage("a change of settings")
	check.Len(t, "the stack", get[summaryList](r, at(garden, "/summaries")).Stack, 0)
}

func TestActions(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(garden, 2)
	put := func(values string) report.Setting {
		r.do(200, nil, "PUT "+at(garden, "/settings"), values)
		all := get[settingsAnswer](r, at(garden, "/settings")).Settings
		return all[slices.IndexFunc(all, func(s report.Setting) bool { return s.Key == "background_threshold" })]
	}
	var done doneAnswer
	r.do(200, &done, "POST "+at(garden, "/new"), "")
	r.idle(garden)
	check.That(t, done.Done, "a new session: %+v", done)
	r.do(200, &done, "POST "+at(garden, "/new"), "")
	check.That(t, !done.Done && done.Reason != "", "another: %+v", done)

	s := put(`{"background_threshold": 0.9, "aggressive_threshold": 0.92, "focus": "tulips"}`) // only together
	check.That(t, s.Value == 0.9 && s.Here && strings.HasPrefix(s.Origin, "set here"), "set: %+v", s)
	s = put(`{"background_threshold": null, "aggressive_threshold": null}`)
	check.That(t, s.Value == 0.8 && !s.Here, "reset: %+v", s)

	r.do(200, nil, "POST "+at(garden, "/pause"), "")
	check.That(t, get[conversationAnswer](r, at(garden, "")).Silent, "it is not paused")
	r.do(200, nil, "POST "+at(garden, "/resume"), "")
	check.That(t, !get[conversationAnswer](r, at(garden, "")).Silent, "it is still paused")
	for _, action := range []string{"/compact", "/undo", "/new", "/pause", "/resume"} {
		r.do(404, nil, "POST "+at("terminal:nowhere", action), "")
	}
	check.Error(t, check.ErrorOf(r.store.Find(t.Context(), "terminal:nowhere")), store.ErrNotFound)
}

// Discord is not open: messages still wait there for an answer.
func TestActionsWhereTheConnectorIsClosed(t *testing.T) {
	r := newRig(t, rigOptions{})
	const name = "discord:1/2"
	c := r.past(name, strings.SplitAfter(strings.Repeat("Plot 7 has roses that grow along the wall, the gate and the pond, in rows of seven. ", 40), ". ")...)
	must(c.Inbox().Deliver(t.Context(), store.Inbound{ID: "new", AuthorID: "ada", Author: "Ada", Time: time.Now(), Text: "Is anybody here?", Addressed: true}))
	var job jobAnswer
	r.do(202, &job, "POST "+at(name, "/compact"), "")
	check.That(t, job.State == compactor.EventStarted || job.State == compactor.EventScheduled, "compact: %+v", job)
	check.Require(t, check.Soon(func() bool {
		d := get[conversationAnswer](r, at(name, ""))
		return len(d.Stack) > 0 && d.Running == ""
	}), "got no applied summary")
	r.do(200, &job, "POST "+at(name, "/undo"), "")
	check.Equal(t, "undo", job.State, compactor.EventUndone)
	r.do(202, nil, "POST "+at(name, "/new"), "")
	due := must(c.Inbox().Due(t.Context()))
	check.That(t, due.Waiting == 1 && due.Session, "got waiting %+v", due)
}

func TestMemories(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(garden, 2)
	var m memory.Details
	r.do(201, &m, "POST /api/memories", `{"conversation": "terminal:garden", "kind": "preference", "content": "Ada prefers green tea"}`)
	list := get[MemoryList](r, "/api/memories?q=tea&kind=preference&conversation=terminal:garden&since=7d")
	check.That(t, list.Total == 1 && list.Memories[0].Content == "Ada prefers green tea", "%+v", list)
	one := fmt.Sprintf("/api/memories/%d", m.ID)
	r.do(200, &m, "PATCH "+one, `{"pinned": true}`)
	check.That(t, m.Pinned, "it is not pinned")
	r.do(200, &m, "PATCH "+one, `{"state": "forgotten"}`)
	check.Equal(t, "state", m.State, "forgotten")
	r.do(409, nil, "PATCH "+one, `{"state": "forgotten"}`)
	r.do(200, &m, "PATCH "+one, `{"state": "active"}`)
	check.Equal(t, "state", m.State, "active")
	found := get[Recalled](r, "/api/recall?q=green+tea&conversation=terminal:garden")
	check.That(t, len(found.Memories) == 1 && found.Memories[0].ID == m.ID, "found %+v", found)
	for query, n := range map[string]int{"by=ada": 2, "by=me&as=Ada": 2, "by=assistant": 2, "since=yesterday": 4, "until=yesterday": 0, "by=ada&limit=1&order=oldest": 1} {
		found := get[Recalled](r, "/api/recall?conversation=terminal:garden&"+query)
		check.Equal(t, "messages of "+query, len(found.Messages), n)
	}
	r.do(422, nil, "GET /api/recall?q=tea&conversation=terminal:garden&by=Eve", "")
	for _, query := range []string{"q=tea&order=size", "q=tea&until=soon", ""} {
		r.do(400, nil, "GET /api/recall?conversation=terminal:garden&"+query, "")
	}
	r.do(204, nil, "DELETE "+one, "")
	r.do(404, nil, "GET "+one, "")
	for _, query := range []string{"kind=hobby", "state=gone", "sort=size", "limit=0", "limit=1000", "since=soon", "offset=-1", "knd=fact"} {
		r.do(400, nil, "GET /api/memories?"+query, "")
	}
}

func TestReadsNeedNoBot(t *testing.T) {
	answers := func(text string, err error) API {
		return func(context.Context, string, string, url.Values, any) (json.RawMessage, error) {
			return json.RawMessage(text), err
		}
	}
	for said, bot := range map[string]API{
		`"bot"`:                    answers(`"bot"`, nil),
		"Gone.":                    answers("", problem(http.StatusNotFound, "Gone.")),
		"check whether the change": answers("", errors.New("connection refused")),
	} {
		api := WithChangesTo(bot, answers("database", nil), "here")
		for call, want := range map[string]string{"GET /api/usage": "database", "POST " + simulatePath: "database", "POST /api/memories": said} {
			method, path, _ := strings.Cut(call, " ")
			text, err := api(t.Context(), method, path, nil, nil)
			check.Contains(t, call, fmt.Sprint(string(text), err), want)
		}
	}
}
