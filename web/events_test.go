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
	if w.resp.StatusCode != 200 {
		r.t.Fatal(w.resp.Status)
	}
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
	deadline := time.After(10 * time.Second)
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
	r.talk("terminal:garden", 1)
	w.until(t, `"state":"started"`)
	check.Contains(t, "event", w.until(t, `"state":"answered"`), `"conversation":"terminal:garden"`, `"turn":1`)
	t.Run("a memory that is forgotten", func(t *testing.T) {
		c := must(r.store.Find(t.Context(), "terminal:garden"))
		m := must(memory.Of(c).Keep(t.Context(), memory.KeepRequest{Person: "Ada", MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "The gate opens at noon", Importance: 0.5}}))
		r.do(200, nil, "PATCH", fmt.Sprintf("/api/memories/%d", m.ID), `{"state": "forgotten"}`)
		w.until(t, `"change":"forgotten"`)
	})
	t.Run("an incident and its end", func(t *testing.T) {
		log := slog.New(r.events.Incidents(slog.DiscardHandler)).With("conversation", "terminal:garden")
		log.Info("of_no_concern")
		log.Warn("database_check_failed", "what", "cannot be read")
		check.Contains(t, "event", w.until(t, `"database_check_failed"`), `"what":"cannot be read"`, `"level":"warn"`)
		log.Info("database_recovered")
		w.until(t, `"database_recovered"`)
	})
	t.Run("only what is asked for", func(t *testing.T) {
		one := r.watch("", "?conversation=terminal:other&kinds=turn")
		r.talk("terminal:garden", 1)
		r.talk("terminal:other", 1)
		check.Contains(t, "event", one.until(t, "data: "), "terminal:other")
	})
	t.Run("an unknown kind is refused", func(t *testing.T) {
		text := r.do(400, nil, "GET", "/api/events?kinds=turn,foo", "")
		check.Contains(t, "problem", text, "foo", "turn, usage, compaction, memory, task, incident")
	})
}

func TestUsageEvents(t *testing.T) {
	r := newRig(t, rigOptions{})
	const garden = "terminal:garden"
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
		t.Run(c.name, func(t *testing.T) {
			c.do()
			event := w.until(t, "data: ")
			r.idle(garden)
			now := get[conversationAnswer](r, at(garden, ""))
			check.Contains(t, "event", event, fmt.Sprintf(`"conversation":%q,"used_tokens":%d,"max_tokens":8000,"time":`, garden, now.Used))
		})
	}
}

func TestWatcherResumes(t *testing.T) {
	r := newRig(t, rigOptions{})
	w := r.watch("", "")
	r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 1})
	id := strings.TrimPrefix(w.until(t, "id: "), "id: ")
	w.resp.Body.Close()
	r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 2})

	t.Run("after the last event seen", func(t *testing.T) {
		again := r.watch(id, "")
		check.Contains(t, "event", again.until(t, "data: "), `"id":2`)
	})
	for name, last := range map[string]string{"of another process": "other-1", "of the future": strings.Split(id, "-")[0] + "-999999", "of nothing": "x", "too old": id} {
		t.Run("with an id "+name+" it is told to read anew", func(t *testing.T) {
			if name == "too old" {
				for n := range keptEvents + 5 {
					r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: int64(n)})
				}
			}
			again := r.watch(last, "")
			again.until(t, "event: "+kindReset)
			r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 77})
			check.Contains(t, "event", again.until(t, `"id":`), `"id":77`)
		})
	}
}

func TestSlowWatcherIsDropped(t *testing.T) {
	r := newRig(t, rigOptions{})
	conn := check.Must(net.Dial("tcp", strings.TrimPrefix(r.url, "http://")))(t)
	defer conn.Close()
	must(fmt.Fprintf(conn, "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	watchers := func() int {
		r.events.mu.Lock()
		defer r.events.mu.Unlock()
		return len(r.events.watchers)
	}
	for watchers() == 0 {
		time.Sleep(time.Millisecond)
	}
	large := strings.Repeat("x", 64<<10)
	began := time.Now()
	for n := 0; watchers() > 0; n++ {
		check.Require(t, n != 5000, "a reader that does not read is kept")
		r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: int64(n), Content: large})
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("publishing took %v", took)
	}
}

func TestTooManyWatchers(t *testing.T) {
	e := NewEvents()
	for range maxWatchers {
		if _, _, _, ok := e.watch(""); !ok {
			t.Fatal("refused watchers")
		}
	}
	if _, _, _, ok := e.watch(""); ok {
		t.Error("watcher above the limit")
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
