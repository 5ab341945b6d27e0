package web

import (
	"bufio"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
)

// watching reads a stream of events, for at most a minute.
type watching struct{ *bufio.Scanner }

// watch reads the stream from now on, or from the event in the header Last-Event-ID on.
func (r *rig) watch(query string, headers ...string) watching {
	r.t.Helper()
	resp := r.request("GET", "/api/events"+query, "", headers...)
	check.Require(r.t, resp.StatusCode == 200, "%s", resp.Status)
	time.AfterFunc(time.Minute, func() { resp.Body.Close() })
	w := watching{bufio.NewScanner(resp.Body)}
	w.until(r.t, "retry: ")
	return w
}

// until returns the first line with a text in it.
func (w watching) until(t *testing.T, text string) string {
	t.Helper()
	var seen []string
	for w.Scan() {
		if strings.Contains(w.Text(), text) {
			return w.Text()
		}
		seen = append(seen, w.Text())
	}
	t.Fatalf("the stream ended without %q: %q", text, seen)
	return ""
}

func TestEvents(t *testing.T) {
	r := newRig(t, rigOptions{})
	w := r.watch("")
	r.talk(garden, 1)
	w.until(t, `"state":"started"`)
	check.Contains(t, "event", w.until(t, `"state":"answered"`), `"conversation":"terminal:garden"`, `"turn":1`)
	r.remember("The gate opens at noon")
	w.until(t, `"change":"saved"`)
	r.do(200, nil, "PATCH", "/api/memories/1", `{"state": "forgotten"}`)
	w.until(t, `"change":"forgotten"`)
	log := slog.New(r.events.Incidents(slog.DiscardHandler)).With("conversation", garden)
	log.Info("of_no_concern")
	log.Warn("database_check_failed", "what", "cannot be read")
	check.Contains(t, "event", w.until(t, "data: "), `"database_check_failed"`, `"what":"cannot be read"`, `"level":"warn"`)
	log.Info("database_recovered")
	w.until(t, `"database_recovered"`)
	check.Contains(t, "the page of incidents", r.page(200, "/health"), "database_check_failed")

	one := r.watch("?conversation=terminal:other&kinds=turn") // only what is asked for
	r.talk(garden, 1)
	r.talk("terminal:other", 1)
	check.Contains(t, "event", one.until(t, "data: "), "terminal:other")
	refused := r.do(400, nil, "GET", "/api/events?kinds=turn,foo", "")
	check.Contains(t, "problem", refused, "foo", "turn, usage, compaction, memory, task, incident")
}

func TestWatcherResumes(t *testing.T) {
	r := newRig(t, rigOptions{})
	w := r.watch("")
	r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 1})
	id := strings.TrimPrefix(w.until(t, "id: "), "id: ")
	r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: 2})
	check.Contains(t, "event after the last seen", r.watch("", "Last-Event-ID: "+id).until(t, "data: "), `"id":2`)

	readsAnew := func(what, last string) {
		t.Helper()
		again := r.watch("", "Last-Event-ID: "+last)
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

func TestWatchersAreLimited(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.watch("")
	watched := func() bool {
		r.events.mu.Lock()
		defer r.events.mu.Unlock()
		return len(r.events.watchers) > 0
	}
	large := strings.Repeat("x", 64<<10)
	for n := 0; watched(); n++ {
		check.Require(t, n != 5000, "a reader that does not read is kept")
		r.events.publish(kindMemory, "terminal:a", memoryEvent{ID: int64(n), Content: large}) // and never blocks
	}

	for n := range maxWatchers + 1 {
		check.Equal(t, fmt.Sprintf("watcher %d is accepted", n+1), r.events.watch("") != nil, n < maxWatchers)
	}
}

func FuzzLastEventID(f *testing.F) {
	e := NewEvents()
	for n := range keptEvents + 10 {
		e.publish(kindMemory, "", memoryEvent{ID: int64(n)})
	}
	for _, id := range []string{e.id(e.last), e.id(1), e.id(-5), e.id(1 << 62)} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		w := e.watch(id)
		e.unwatch(w)
		var kinds []string
		for one := range w.events {
			kinds = append(kinds, one.kind)
		}
		reset := slices.Contains(kinds, kindReset)
		check.That(t, !reset || len(kinds) == 1, "%q: %q", id, kinds)
	})
}
