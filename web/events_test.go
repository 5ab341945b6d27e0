package web

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/memory"
)

// watching reads a stream of events.
type watching struct {
	resp  *http.Response
	lines chan string // closed at the end of the stream
}

// watch reads the stream from an event on; "": from now on.
func (r *rig) watch(last, query string, headers ...string) *watching {
	r.t.Helper()
	if last != "" {
		headers = append(headers, "Last-Event-ID: "+last)
	}
	w := &watching{resp: r.request("GET", "/api/events"+query, "", headers...), lines: make(chan string, 10_000)}
	check.Require(r.t, w.resp.StatusCode == 200, "%s", w.resp.Status)
	go func() {
		defer close(w.lines)
		lines := bufio.NewScanner(w.resp.Body)
		for lines.Scan() {
			w.lines <- lines.Text()
		}
	}()
	w.until(r.t, "retry: ")
	return w
}

// until returns the first line with a text in it.
func (w *watching) until(t testing.TB, text string) string {
	t.Helper()
	var seen []string
	deadline := time.After(time.Minute)
	for {
		select {
		case line, open := <-w.lines:
			check.Require(t, open, "the stream ended without %q: %q", text, seen)
			if strings.Contains(line, text) {
				return line
			}
			seen = append(seen, line)
		case <-deadline:
			t.Fatalf("timed out waiting for %q: got %q", text, seen)
		}
	}
}

func TestEvents(t *testing.T) {
	r := newRig(t, rigOptions{})
	w := r.watch("", "")
	r.talk(garden, 1)
	w.until(t, `"state":"started"`)
	check.Contains(t, "event", w.until(t, `"state":"answered"`), `"conversation":"terminal:garden"`, `"turn":1`)
	c := must(r.store.Find(t.Context(), garden))
	m := must(memory.Of(c).Keep(t.Context(), memory.KeepRequest{Person: "Ada", MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "The gate opens at noon", Importance: 0.5}}))
	r.do(200, nil, "PATCH", fmt.Sprintf("/api/memories/%d", m.ID), `{"state": "forgotten"}`)
	w.until(t, `"change":"forgotten"`)
	log := slog.New(r.events.Incidents(slog.DiscardHandler)).With("conversation", garden)
	log.Info("of_no_concern")
	log.Warn("database_check_failed", "what", "cannot be read")
	check.Contains(t, "event", w.until(t, "data: "), `"database_check_failed"`, `"what":"cannot be read"`, `"level":"warn"`)
	log.Info("database_recovered")
	w.until(t, `"database_recovered"`)
	check.Contains(t, "the page of incidents", r.page(200, "/health"), "database_check_failed")

	one := r.watch("", "?conversation=terminal:other&kinds=turn") // only what is asked for
	r.talk(garden, 1)
	r.talk("terminal:other", 1)
	check.Contains(t, "event", one.until(t, "data: "), "terminal:other")
	check.Contains(t, "problem", r.do(400, nil, "GET", "/api/events?kinds=turn,foo", ""), "foo", "turn, usage, compaction, memory, task, incident")
}

func TestUsageEvents(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(garden, 7)
	w := r.watch("", "?kinds=usage")
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"a turn", func() { r.talk(garden, 1) }},
		{"a compaction", func() { r.do(202, nil, "POST", at(garden, "/compact"), `{"keep_last_n": 4}`) }},
		{"an undo", func() { r.do(200, nil, "POST", at(garden, "/undo"), "") }},
		{"a change of settings", func() { r.do(200, nil, "PUT", at(garden, "/settings"), `{"keep_first": 3}`) }},
	} {
		c.do()
		event := w.until(t, "data: ")
		r.idle(garden)
		now := get[conversationAnswer](r, at(garden, ""))
		check.Contains(t, c.name, event, fmt.Sprintf(`"conversation":%q,"used_tokens":%d,"max_tokens":8000,"time":`, garden, now.Used))
	}
}

func TestWatcherResumes(t *testing.T) {
	r := newRig(t, rigOptions{})
	w := r.watch("", "")
	r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 1})
	id := strings.TrimPrefix(w.until(t, "id: "), "id: ")
	w.resp.Body.Close()
	r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 2})
	check.Contains(t, "event after the last seen", r.watch(id, "").until(t, "data: "), `"id":2`)

	readsAnew := func(what, last string) {
		t.Helper()
		again := r.watch(last, "")
		again.until(t, "event: "+kindReset)
		r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 77})
		check.Contains(t, "after an id "+what, again.until(t, `"id":`), `"id":77`)
	}
	readsAnew("of another process", "other-1")
	readsAnew("of the future", strings.Split(id, "-")[0]+"-999999")
	readsAnew("of nothing", "x")
	for n := range keptEvents + 5 {
		r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: int64(n)})
	}
	readsAnew("too old", id)
}

func TestSlowWatcherIsDropped(t *testing.T) {
	r := newRig(t, rigOptions{})
	conn := must(net.Dial("tcp", strings.TrimPrefix(r.url, "http://")))
	defer conn.Close()
	must(fmt.Fprintf(conn, "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	watched := func() bool {
		r.events.mu.Lock()
		defer r.events.mu.Unlock()
		return len(r.events.watchers) > 0
	}
	check.Require(t, check.Soon(watched), "no one watches")
	large := strings.Repeat("x", 64<<10)
	for n := 0; watched(); n++ {
		check.Require(t, n != 5000, "a reader that does not read is kept")
		r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: int64(n), Content: large}) // and never blocks
	}
}

func TestTooManyWatchers(t *testing.T) {
	e := NewEvents()
	for n := range maxWatchers + 1 {
		_, _, _, ok := e.watch("")
		check.Equal(t, fmt.Sprintf("watcher %d is accepted", n+1), ok, n < maxWatchers)
	}
}

func FuzzLastEventID(f *testing.F) {
	e := NewEvents()
	for n := range keptEvents + 10 {
		e.publish(kindMemory, "", memoryEvent{ID: int64(n)})
	}
	f.Add(e.newest())
	f.Add(e.id(1))
	f.Add(e.id(-5))
	f.Add(e.id(1 << 62))
	f.Fuzz(func(t *testing.T, id string) {
		w, missed, reset, ok := e.watch(id)
		check.That(t, ok && (!reset || len(missed) == 0), "%q: ok %t, reset %t, %d missed", id, ok, reset, len(missed))
		e.unwatch(w)
	})
}
