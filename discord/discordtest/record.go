// Records of what the client did, for tests. All returned values are copies.
package discordtest

import (
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/internal/loopback"
)

// Connection is one connection of the client to the gateway.
type Connection struct {
	At          time.Time
	Open        bool
	Identify    bool
	Intents     discordgo.Intent // of the IDENTIFY
	Resume      bool
	ResumeSeq   int // of the RESUME
	Heartbeats  int
	ClientClose int // close code sent by the client; 0: none, or the server closed first
}

// Request is one request to the REST API.
type Request struct {
	At     time.Time
	Method string
	Path   string // without /api/v9
	Query  string
	Body   []byte
	Status int // of the response; 0: not sent yet, or cut
}

// Connections returns all connections so far, oldest first.
func (s *Server) Connections() (all []Connection) {
	s.view(func(w *world) {
		for _, c := range w.connections {
			all = append(all, *c)
		}
	})
	return all
}

// Requests returns all requests so far, oldest first, whose method and path match a route as in
// Fault; an empty route matches all.
func (s *Server) Requests(route string) (all []Request) {
	s.view(func(w *world) {
		for _, r := range w.requests {
			if r.on(route) {
				all = append(all, *r)
			}
		}
	})
	return all
}

// InvalidRequests returns the number of requests answered with 401, 403 or 429.
func (s *Server) InvalidRequests() (n int) {
	s.view(func(w *world) { n = w.invalid })
	return n
}

// Messages returns a channel's messages, oldest first, without deleted ones.
func (s *Server) Messages(channel string) []Message {
	return s.messages(channel, func(m *Message) bool { return !m.Deleted })
}

// Sent returns the client's messages in a channel, oldest first, each with its final content,
// including deleted ones. Ephemeral responses and those still loading are only in Interaction.
func (s *Server) Sent(channel string) []Message {
	return s.messages(channel, func(m *Message) bool { return m.Author.ID == s.Bot.ID && m.Flags&discordgo.MessageFlagsLoading == 0 })
}

func (s *Server) messages(channel string, want func(*Message) bool) (all []Message) {
	s.view(func(w *world) {
		for _, m := range w.messages[channel] {
			if want(m) {
				all = append(all, *m)
			}
		}
	})
	return all
}

// Interaction returns the current state of an interaction.
func (s *Server) Interaction(id string) (i Interaction) {
	s.view(func(w *world) {
		i = *loopback.Must(w.interactions, id, "interaction")
		if i.Answer != nil {
			m := *i.Answer
			i.Answer = &m
		}
		i.loading, i.source, i.Followups = nil, nil, slices.Clone(i.Followups)
		for n, m := range i.Followups {
			copied := *m
			i.Followups[n] = &copied
		}
	})
	return i
}

// Commands returns the registered commands.
func (s *Server) Commands() (all []*discordgo.ApplicationCommand) {
	s.view(func(w *world) { all = w.commands })
	return all
}
