// What the client did, for tests to read. All that is returned is a copy.
package discordtest

import (
	"slices"
	"time"
)

// Connection is one connection of the client to the gateway.
type Connection struct {
	At          time.Time
	Open        bool
	Identify    bool
	Intents     int // of the IDENTIFY
	Resume      bool
	ResumeSeq   int // of the RESUME
	Heartbeats  int
	ClientClose int // the close code the client chose, 0: none, or it was not the first to close
}

// Request is one request to the REST API.
type Request struct {
	At     time.Time
	Method string
	Path   string // without /api/v9
	Query  string
	Body   []byte
	Status int // of the answer; 0: not answered yet, or cut
}

// Connections returns all connections so far, oldest first.
func (s *Server) Connections() (all []Connection) {
	s.look(func(w *world) {
		for _, c := range w.connections {
			all = append(all, *c)
		}
	})
	return all
}

// Requests returns all requests so far, oldest first, whose method and path
// match a route as in Fault; an empty route matches all.
func (s *Server) Requests(route string) (all []Request) {
	s.look(func(w *world) {
		for _, r := range w.requests {
			if r.on(route) {
				all = append(all, *r)
			}
		}
	})
	return all
}

// InvalidRequests is the number of requests answered with 401, 403 or 429.
func (s *Server) InvalidRequests() (n int) {
	s.look(func(w *world) { n = w.invalid })
	return n
}

// Messages returns a channel's messages, oldest first, deleted ones excluded.
func (s *Server) Messages(channel string) []Message {
	return s.messages(channel, func(m *Message) bool { return !m.Deleted })
}

// Sent returns what the client posted in a channel, oldest first, each with its
// final content, deleted ones included. Ephemeral answers and those that are still
// loading are not among them: see Interaction.
func (s *Server) Sent(channel string) []Message {
	return s.messages(channel, func(m *Message) bool { return m.Author.ID == s.Bot.ID && m.Flags&FlagLoading == 0 })
}

func (s *Server) messages(channel string, want func(*Message) bool) (all []Message) {
	s.look(func(w *world) {
		for _, m := range w.messages[channel] {
			if want(m) {
				all = append(all, m.copy())
			}
		}
	})
	return all
}

func (m *Message) copy() Message {
	c := *m
	c.Edits, c.Reactions = slices.Clone(m.Edits), slices.Clone(m.Reactions)
	return c
}

// Interaction returns how it stands with an interaction.
func (s *Server) Interaction(id string) (i Interaction) {
	s.look(func(w *world) {
		i = *must(w.interactions, id, "interaction")
		if i.Answer != nil {
			m := i.Answer.copy()
			i.Answer = &m
		}
		i.Choices = slices.Clone(i.Choices)
		i.loading, i.source, i.followups = nil, nil, nil // not copies
		i.Followups = nil
		for _, m := range w.interactions[id].followups {
			i.Followups = append(i.Followups, m.copy())
		}
	})
	return i
}

// Commands returns what is registered.
func (s *Server) Commands() (all []Command) {
	s.look(func(w *world) { all = slices.Clone(w.commands) })
	return all
}
