package web

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/chat"
	"cairn/testkit/check"
)

func TestNamesArchiveAndDeletion(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.writes(pane, "How deep is the pond?")
	r.say(here, "Hello")
	list := func(query string) conversationList {
		return get[conversationList](r, "/api/conversations?connector=web"+query)
	}
	r.do(200, nil, "PATCH "+at(pane, ""), `{"name": " The\npond ", "archived": true}`)
	found := list("&archived=yes")
	check.Len(t, "archived", found.Conversations, 1)
	check.Equal(t, "name", found.Conversations[0].Name, "The pond")
	check.That(t, found.Conversations[0].Archived, "it is not archived")
	check.Equal(t, "others", list("&archived=no").Total, 0)
	r.writes(pane, "And how wide?")
	check.Equal(t, "after a message", list("&archived=no").Total, 1)

	r.do(409, nil, "PATCH "+at(here, ""), `{"name": "mine"}`)
	r.do(422, nil, "PATCH "+at(pane, ""), `{"name": "`+strings.Repeat("x", maxCalled+1)+`"}`)
	r.do(422, nil, "PATCH "+at(pane, ""), `{}`)
	r.do(404, nil, "PATCH "+at("web:none", ""), `{"archived": true}`)
	r.do(400, nil, "GET /api/conversations?archived=perhaps", "")

	r.events.publish(kindReply, pane, replyEvent{Conversation: pane, State: "sent", Text: "a notice", Failure: true})
	r.purge(pane)
	check.Len(t, "notices", r.events.notices(pane), 0)
	check.Equal(t, "left", list("").Total, 0)
	check.Equal(t, "others", get[conversationList](r, "/api/conversations").Total, 1)
	r.writes(pane, "Hello again") // the conversation is in memory, and goes on
	check.Len(t, "messages", get[messageList](r, at(pane, "/messages")).Messages, 2)
	check.Lacks(t, "page", r.page(200, "/chat/general"), "a notice", "How deep", "The pond")
}

// purge deletes a conversation.
func (r *rig) purge(conversation string) {
	r.t.Helper()
	r.do(200, nil, "POST "+purgePath, string(encoded(Selected{Conversation: conversation})))
}

func TestDeletionDuringAnAnswer(t *testing.T) {
	more := make(chan bool)
	r := newRig(t, rigOptions{model: slow(more)})
	events := r.events.watch("", "")
	r.send("ponder the pond")
	for e := range events { // until the turn has started
		if turn, ok := e.data.(turnEvent); ok && turn.State == "started" {
			break
		}
	}
	r.events.unwatch(events)
	r.purge(pane)
	r.idle(pane)
	check.Equal(t, "left", get[conversationList](r, "/api/conversations?connector=web").Total, 0)
}

func TestExport(t *testing.T) {
	r := newRig(t, rigOptions{says: "The pond:\n\n# deep\n\n## You · 2026-01-01 10:00 · #7\n\nI never said that."})
	for i := range 30 {
		r.writes(pane, fmt.Sprintf("Question %d. %s", i, strings.Repeat("We plant them in rows along the wall. ", 12)))
	}
	r.writes(pane, hostile)
	_, _, err := r.hub.Run(t.Context(), pane, owner, "/compact")
	check.NoError(t, err)
	r.drain()
	var all struct {
		Channel     string
		Messages    []chat.Record
		Compactions []any
	}
	resp := r.request("GET", at(pane, "/export"), "")
	check.Equal(t, "name of the file", resp.Header.Get("Content-Disposition"), `attachment; filename=web-general.json`)
	check.NoError(t, json.NewDecoder(resp.Body).Decode(&all))
	check.Equal(t, "conversation", all.Channel, pane)
	check.Len(t, "messages", all.Messages, 62)
	check.That(t, len(all.Compactions) > 0, "no compactions")
	text := r.do(200, nil, "GET "+at(pane, "/export?format=markdown"), "")
	check.Contains(t, "Markdown", text, "# web:general\n", "\n## owner · ", "Question 29", hostile, "\n# deep\n", "were summarized for the model")
	check.Equal(t, "headings of messages", strings.Count(text, "\n## "), 62)
	r.do(400, nil, "GET "+at(pane, "/export?format=pdf"), "")
	r.do(404, nil, "GET "+at("web:none", "/export"), "")
}

func TestFilesOfMessages(t *testing.T) {
	r := newRig(t, rigOptions{})
	post := func(status int, m messageNew) string {
		t.Helper()
		return r.do(status, nil, "POST "+at(pane, "/messages"), string(encoded(m)))
	}
	picture := fileNew{Name: "gate.png", Data: must(base64.StdEncoding.DecodeString(pixel))}
	post(202, messageNew{ID: "1", Files: []fileNew{picture}})
	post(202, messageNew{ID: "1", Files: []fileNew{picture}}) // as after a lost answer
	r.idle(pane)
	all := get[messageList](r, at(pane, "/messages")).Messages
	check.Len(t, "messages", all, 2)
	path := fmt.Sprintf("%s/files/%d", at(pane, ""), all[0].With[0].File)
	resp := r.request("GET", path, "")
	check.Equal(t, "type", resp.Header.Get("Content-Type"), "image/png")
	check.Equal(t, "policy", resp.Header.Get("X-Content-Type-Options"), "nosniff")
	r.do(404, nil, "GET "+at(here, "")+"/files/1", "")
	r.do(404, nil, "GET "+at(pane, "/files/99"), "")

	check.Contains(t, "an archive", post(422, messageNew{ID: "2", Files: []fileNew{{Name: "x.zip", Data: []byte("PK\x03\x04")}}}), "x.zip cannot be read")
	post(422, messageNew{ID: "2", Text: "/context", Files: []fileNew{picture}})
	post(422, messageNew{ID: "2", Replaces: "1", Files: []fileNew{picture}})
	large := fileNew{Name: "x.md", Data: []byte(strings.Repeat("x", 2<<20))}
	post(202, messageNew{ID: "3", Files: []fileNew{large}})
	r.do(413, nil, "POST "+at(pane, "/messages"), `{"text": "`+strings.Repeat("x", maxUpload)+`"}`)
	r.do(413, nil, "PATCH "+at(pane, ""), `{"name": "`+strings.Repeat("x", maxBody)+`"}`) // others take no files
}

func TestAskedAgain(t *testing.T) {
	r := newRig(t, rigOptions{model: counting()})
	post := func(status int, m messageNew) {
		t.Helper()
		r.do(status, nil, "POST "+at(pane, "/messages"), string(encoded(m)))
		r.idle(pane)
	}
	texts := func() (all []string) {
		for _, m := range get[messageList](r, at(pane, "/messages")).Messages {
			all = append(all, m.Text)
		}
		return all
	}
	post(202, messageNew{ID: "1", Text: "How deep?"})
	post(202, messageNew{ID: "2", Replaces: "1"})
	post(202, messageNew{ID: "2", Replaces: "1"}) // as after a lost answer
	post(202, messageNew{ID: "1", Text: "How deep?"})
	check.EqualAll(t, "messages", texts(), []string{"How deep?", `Answer 2 to "How deep?"`})
	post(202, messageNew{ID: "3", Replaces: "2", Text: "How wide?"})
	check.EqualAll(t, "messages", texts(), []string{"How wide?", `Answer 3 to "How wide?"`})
	check.NoError(t, r.hub.DeliverAll(t.Context(), pane, []channel.Inbound{{ID: "4", AuthorID: owner.ID, Author: "owner", Text: "Well."}}))
	r.idle(pane)
	post(409, messageNew{ID: "5", Replaces: "3"})
	post(404, messageNew{ID: "5", Replaces: "nothing"})
	post(422, messageNew{ID: "5", Replaces: "4", Text: "/context"})
	post(422, messageNew{ID: "5", Replaces: "cairn:task-1"})
}
