// What the client did, for tests to read.
package slacktest

import (
	"maps"
	"slices"
	"time"
)

// Call is one HTTP request of the client.
type Call struct {
	At     time.Time
	Method string // chat.postMessage; files.download, files.upload and response_url for the others
	Args   map[string]string
	Error  string // Slack's name of the error; empty: it was carried out
	Status int    // of the HTTP answer; 0: the connection was cut, or the client hung up
}

// Calls returns the requests that were answered, oldest first: those of one method, or all ("").
// A call that a Fault hit stands there with what the Fault answered.
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

// Seen returns how many requests of one method have come, those that are not answered yet too.
func (s *Server) Seen(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[method]
}

// Deliveries returns every envelope that was sent, oldest first, with its acknowledgement.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make([]Delivery, len(s.deliveries))
	for i, d := range s.deliveries {
		found[i] = *d
	}
	return found
}

// Complaints returns what Slack would let pass, or pass over in silence, but no good client does:
// late, double and oversized acknowledgements, texts longer than recommended, pings of everyone.
func (s *Server) Complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.complaints)
}

// Messages returns what stands in a channel now, oldest first: replies and ephemeral messages too,
// deleted ones not.
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

// Posted returns the app's own messages as they stand now, channel by channel, oldest first.
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

// Status is what assistant.threads.setStatus shows in a thread; empty when it shows nothing.
func (s *Server) Status(channel, thread string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.statuses[place{channel, thread}]
	if time.Since(st.since) > statusLife {
		return ""
	}
	return st.text
}

// Wait waits until the condition holds; false if it does not within the time. The condition is
// asked from the calling goroutine and may call the server's methods.
func (s *Server) Wait(most time.Duration, condition func() bool) bool {
	for end := time.Now().Add(most); ; time.Sleep(2 * time.Millisecond) {
		if condition() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
