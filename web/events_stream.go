// GET /api/events: a stream of server-sent events.
package web

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Timing of a stream.
const (
	heartbeat   = 15 * time.Second // interval of keep-alive comments
	streamWrite = 10 * time.Second // limit of one write: a client that takes longer counts as gone
	retryAfter  = 2 * time.Second  // after which a client reconnects
)

// stream is the response to one watcher.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	events  *Events
}

// write sends text, with a deadline.
func (s stream) write(text []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWrite))
	if _, err := s.w.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s stream) format(e Event) []byte {
	var b bytes.Buffer
	if e.number > 0 {
		fmt.Fprintf(&b, "id: %s\n", s.events.id(e.number))
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Kind, e.Data)
	return b.Bytes()
}

// allKinds are the kinds of events that a client can ask for.
var allKinds = []string{kindTurn, kindUsage, kindCompaction, kindMemory, kindTask, kindIncident, kindApproval, kindReply, kindReset}

// kindsOf reads the kinds of events in the query; nil: all.
func kindsOf(r *http.Request) ([]string, error) {
	text := r.URL.Query().Get("kinds")
	if text == "" {
		return nil, nil
	}
	kinds := strings.Split(text, ",")
	for _, kind := range kinds {
		if !slices.Contains(allKinds, kind) {
			return nil, bad("kinds = %q: must be one or more of %s, separated by commas.", text, strings.Join(allKinds, ", "))
		}
	}
	return kinds, nil
}

// watch streams events until the client disconnects, reads too slowly, or the server closes.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) error {
	conversation := r.URL.Query().Get("conversation")
	kinds, err := kindsOf(r)
	if err != nil {
		return err
	}
	wanted := func(e Event) bool {
		return (conversation == "" || e.Conversation == conversation) && (kinds == nil || slices.Contains(kinds, e.Kind))
	}
	watcher, missed, reset, ok := s.o.Events.watch(r.Header.Get("Last-Event-ID"))
	if !ok {
		return problem(http.StatusServiceUnavailable, "%d clients are watching already. Close some.", maxWatchers)
	}
	defer s.o.Events.unwatch(watcher)
	out := stream{w, http.NewResponseController(w), s.o.Events}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	begin := fmt.Sprintf("retry: %d\n\n", retryAfter.Milliseconds())
	if reset {
		begin += fmt.Sprintf("id: %s\nevent: %s\ndata: {}\n\n", s.o.Events.newest(), kindReset)
	}
	if out.write([]byte(begin)) != nil {
		return nil
	}
	for _, e := range missed {
		if wanted(e) && out.write(out.format(e)) != nil {
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
			err = out.write([]byte(": alive\n\n"))
		case e, open := <-watcher.events:
			if !open { // too slow: the client reconnects for the rest
				return nil
			}
			if wanted(e) {
				err = out.write(out.format(e))
			}
		}
		if err != nil {
			return nil
		}
	}
}
