package web

import (
	"fmt"
	"strings"
	"testing"

	"cairn/memory"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestImportAPI(t *testing.T) {
	r := newRig(t, rigOptions{})
	line := func(n int, text string) string {
		return fmt.Sprintf(`{"id": "p%d", "time": "2025-03-01T10:%02d:00Z", "author": "Ada", "text": %q}`, n, n%60, text)
	}
	part := func(more string, lines ...string) string {
		return `{"messages": [` + strings.Join(lines, ",") + `]` + more + `}`
	}
	path := "/api/conversations/terminal:past/import"
	var stored ImportStored
	r.do(200, &stored, "POST "+path, part(`, "check": true`, line(1, "hello")))
	check.Equal(t, "messages after a check", storetest.Number(t, r.store, "SELECT count(*) FROM messages"), 0)
	r.do(200, &stored, "POST "+path, part("", line(1, "hello"), line(2, "good day"), line(1, "hello")))
	check.Equal(t, "imported", stored.Imported, 2)
	r.do(200, &stored, "POST "+path, part("", line(2, "good day"), line(3, strings.Repeat("a long story ", 200_000))))
	check.Equal(t, "imported with a message of 2.6 MB", stored.Imported, 1)
	check.That(t, check.Soon(func() bool { return get[ImportState](r, path).Done }), "it is not read")

	check.Contains(t, "another message of that id", r.do(422, nil, "POST "+path, part(`, "check": true`, line(1, "bye"))), "already exists, by Ada")
	check.Contains(t, "a message without a text", r.do(422, nil, "POST "+path, part("", line(5, "ok"), line(6, " "))), `messages[1]: \"text\" is missing`)
	check.Contains(t, "too many", r.do(422, nil, "POST "+path, part("", strings.Split(strings.Repeat(line(5, "ok")+"\n", 1001), "\n")[:1001]...)), "at most 1000")
	for _, name := range []string{"discord:1%2F2", "web:general", "terminal:", "terminal:a%00b"} {
		check.Contains(t, name, r.do(422, nil, "POST /api/conversations/"+name+"/import", part("", line(1, "hello"))), "channels of the terminal only")
	}
	r.talk(garden, 1)
	check.Contains(t, "where people talk", r.do(409, nil, "POST /api/conversations/"+garden+"/import", part("", line(1, "hello"))), "People have talked")
	r.do(404, nil, "GET /api/conversations/terminal:nowhere/import", "")
	check.Contains(t, "a body of another request", r.do(413, nil, "POST /api/memories", `{"content": "`+strings.Repeat("x", maxBody)+`"}`), "larger than")

	var n memory.ImportResult
	memories := `{"memories": [{"channel": "terminal:past", "kind": "fact", "content": "Ada rows", "said_at": "2023-05-08T13:56:00Z", "speaker": "Ada"}]}`
	r.do(200, &n, "POST /api/memories/import", memories)
	check.That(t, n.Fresh == 1 && n.Known == 0, "%+v", n)
	r.do(200, &n, "POST /api/memories/import", memories)
	check.That(t, n.Fresh == 0 && n.Known == 1, "%+v", n)
	check.Contains(t, "a memory without content", r.do(422, nil, "POST /api/memories/import", `{"memories": [{"channel": "terminal:past"}]}`), "memories[0]: ")
}

func TestPurgeAPI(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(garden, 2)
	r.talk(pane, 1)
	r.past("discord:1/2", "The roses are red.")
	r.past("discord:1/3", "The violets are blue.")
	held := get[Purged](r, "/api/purge?server=discord:1")
	check.That(t, len(held.Channels) == 2 && held.Messages == 2 && !held.Deleted, "%+v", held)
	for _, query := range []string{"", "?user=Ada&server=discord:1"} {
		r.do(422, nil, "GET /api/purge"+query, "")
	}
	r.do(422, nil, "POST /api/purge", "{}")
	r.do(404, nil, "GET /api/purge?conversation=terminal:nowhere", "")
	r.do(404, nil, "POST /api/purge", `{"user": "Eve"}`)
	check.Contains(t, "a name of two people", r.do(409, nil, "GET /api/purge?user=ada", ""), "may be several people", "name one by its id, as ")
	r.do(200, &held, "POST /api/purge", `{"server": "discord:1"}`)
	check.That(t, held.Deleted && held.Messages == 2, "%+v", held)
	r.do(200, &held, "POST /api/purge", `{"user": "terminal:ada"}`)
	check.That(t, held.Deleted && held.User != nil && held.Messages > 0, "%+v", held)
	r.do(200, &held, "POST /api/purge", fmt.Sprintf(`{"conversation": %q}`, garden))
	r.do(404, nil, "GET /api/purge?server=discord:9", "")
	r.say(garden, "good day")
	r.idle(garden)
	check.Len(t, "inconsistencies", must(r.store.Upkeep().Check(t.Context())), 0)
}

func TestRecallOfKinds(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.say(garden, "I prefer green tea")
	r.idle(garden)
	r.do(201, nil, "POST /api/memories", `{"conversation": "terminal:garden", "kind": "preference", "content": "Ada prefers green tea"}`)
	const query = "/api/recall?q=green+tea&conversation=terminal:garden"
	check.That(t, len(get[Recalled](r, query+"&kind=preference").Memories) == 1 && len(get[Recalled](r, query+"&kind=preference").Messages) == 0, "preferences")
	check.That(t, len(get[Recalled](r, query+"&kind=decision").Memories) == 0, "decisions")
	check.Len(t, "parts of a score", get[Recalled](r, query).Messages[0].Parts, 0)
	check.That(t, len(get[Recalled](r, query+"&explain=true").Messages[0].Parts) > 0, "no parts of a score")
	r.do(400, nil, "GET "+query+"&explain=false", "")
	check.Equal(t, "bot", get[Bot](r, "/api/bot").Version, r.server.o.Version)
	r.do(404, nil, "GET /api/models", "")
}
