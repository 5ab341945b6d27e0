// GET /api/events: a stream of server-sent events.

package web

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// Timing of a stream.
const (
	heartbeat  = 15 * time.Second // interval of keep-alive comments
	retryAfter = 2 * time.Second  // after which a client reconnects
)

// watch streams events until the client disconnects, reads too slowly, or the server closes.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) error {
	q := requestOf(r)
	conversation, kinds := q.Get("conversation"), q.someOf("kinds", allKinds)
	if q.wrong != nil {
		return q.wrong
	}
	control := http.NewResponseController(w)
	send := func(text string) error {
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return control.Flush()
	}
	sendEvent := func(e event) error {
		id := ""
		switch {
		case conversation != "" && e.conversation != conversation || !slices.Contains(kinds, e.kind):
			return nil
		case e.number > 0:
			id = "id: " + s.o.Events.id(e.number) + "\n"
		}
		return send(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, e.kind, e.json))
	}
	watcher, missed, reset, ok := s.o.Events.watch(r.Header.Get("Last-Event-ID"))
	if !ok {
		return problem(http.StatusServiceUnavailable, "%d clients are watching already. Close some.", maxWatchers)
	}
	defer s.o.Events.unwatch(watcher)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	begin := fmt.Sprintf("retry: %d\n\n", retryAfter.Milliseconds())
	if reset {
		begin += fmt.Sprintf("id: %s\nevent: %s\ndata: {}\n\n", s.o.Events.newest(), kindReset)
	}
	if send(begin) != nil {
		return nil
	}
	for _, e := range missed {
		if sendEvent(e) != nil {
			return nil
		}
	}
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return nil
		case <-alive.C:
			err = send(": alive\n\n")
		case e, open := <-watcher.events:
			if !open { // too slow: the client reconnects for the rest
				return nil
			}
			err = sendEvent(e)
		}
		if err != nil {
			return nil
		}
	}
}
