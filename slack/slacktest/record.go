// Records of what the client did, for tests.
package slacktest

import (
	"maps"
	"slices"
	"time"
)

// Call is one HTTP request of the client.
type Call struct {
	At     time.Time
	Method string // chat.postMessage, for example; files.download, files.upload and response_url for the others
	Args   map[string]string
	Error  string // Slack's error code; empty: success
	Status int    // of the HTTP response; 0: the connection was cut, or the client disconnected
}

// Calls returns the answered requests of one method, or of all methods (""), oldest first. A
// request that met a Fault is listed with the Fault's response.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Call
	for _, c := range s.calls {
		if method == "" || c.Method == method {
			c.Args = maps.Clone(c.Args)
			found = append(found, c)
		}
	}
	return found
}

// Seen returns the number of requests of one method so far, including those not answered yet.
func (s *Server) Seen(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[method]
}

// Deliveries returns every envelope so far, oldest first, with its acknowledgement.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make([]Delivery, len(s.deliveries))
	for i, d := range s.deliveries {
		found[i] = *d
	}
	return found
}

// Complaints returns what Slack tolerates or silently ignores, but a good client avoids: late,
// duplicate and oversized acknowledgements, texts longer than recommended, pings of everyone.
func (s *Server) Complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.complaints)
}

// Messages returns a channel's messages, oldest first, including replies and ephemeral messages,
// without deleted ones.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messagesLocked(channel)
}

func (s *Server) messagesLocked(channel string) []Message {
	var found []Message
	for _, m := range s.mustChannelLocked(channel).messages {
		if !m.Deleted {
			copied := *m
			copied.Files, copied.Reactions = slices.Clone(m.Files), slices.Clone(m.Reactions)
			found = append(found, copied)
		}
	}
	return found
}

// Posted returns the app's own messages in their current state, channel by channel, oldest first.
func (s *Server) Posted() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Message
	for _, id := range s.order {
		for _, m := range s.messagesLocked(id) {
			if m.own() {
				found = append(found, m)
			}
		}
	}
	return found
}

// Status returns what assistant.threads.setStatus shows in a thread; "" if nothing.
func (s *Server) Status(channel, thread string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.statuses[place{channel, thread}]
	if time.Since(st.since) > statusLife {
		return ""
	}
	return st.text
}

// Wait waits until condition returns true; it returns false after the timeout. The condition is
// called on the calling goroutine and may call the server's methods.
func (s *Server) Wait(timeout time.Duration, condition func() bool) bool {
	for end := time.Now().Add(timeout); ; time.Sleep(2 * time.Millisecond) {
		if condition() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
