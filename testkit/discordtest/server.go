// Package discordtest is a Discord on loopback: a gateway and a REST API that are as strict as the
// platform, and can fail in every way the platform can.
//
// People are scripted (Say, Edit, Delete, Slash, Click …), faults are requested (Handshakes, Cut, HalfOpen, Fail …), and
// everything the client did can be read (Sent, Requests, Connections, Interaction). Every rule names its source: "Discord, X: Y"
// is page X, section Y of Discord's developer documentation; "judgement" means that no document says.
//
// Misuse by the script, such as an unknown channel, panics: it is a mistake in the test, not in the code under test.
package discordtest

import (
	"cmp"
	"context"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/loopback"
)

// Options configures a Server. The zero value behaves like Discord as documented.
type Options struct {
	Token           string        // of the bot, without "Bot "; empty: "token"
	Heartbeat       time.Duration // interval in HELLO; 0: 41.25 s
	HeartbeatWithin time.Duration // after which a client without a heartbeat is disconnected; 0: twice Heartbeat (judgement: no document gives a number)
	AnswerWithin    time.Duration // limit of the first response to an interaction; 0: 3 s
	TokenLife       time.Duration // of an interaction's token; 0: 15 min
	NonceLife       time.Duration // of an enforced nonce; 0: 5 min
	IdentifyEvery   time.Duration // minimum time between two IDENTIFYs of one bucket, 5 s on Discord; 0: not enforced, so that tests need not wait
	IdentifyLimit   int           // IDENTIFYs until the token is reset; 0: 1000
	IdentifyReset   time.Duration // from the first of them, after which that limit starts anew; 0: 4 h
	MaxConcurrency  int           // buckets of shards, by id, which may send IDENTIFY side by side; 0: 1
	Shards          int           // recommended number; 0: one per 1000 servers, and one more (judgement)
	ShardMultiple   int           // of which the number of shards must be a multiple, as for large bots; 0: 1
	ServersPerShard int           // above which a session is refused; 0: 2500
	GlobalPerSecond int           // REST requests per second; 0: 50
	Ahead           time.Duration // by how much Discord's clock is ahead of this machine's, in ids, timestamps of messages and Date headers

	// StartsClock is by what IdentifyEvery and IdentifyReset pass; nil: time.Now.
	StartsClock func() time.Time

	// Forbidden are the privileged intents that are disabled in the developer portal. Requesting one
	// closes with 4014; without IntentMessageContent REST responses hide content too.
	Forbidden discordgo.Intent

	// Integrations says that the administrators of all servers let everyone see all commands (Integrations in a server's settings).
	Integrations bool

	// RefusePings rejects each message and edit that could notify someone, which is one without
	// allowed_mentions with an empty parse. This is a requirement of the tests, not of Discord.
	RefusePings bool
}

func (o *Options) fill() {
	o.Token = cmp.Or(o.Token, "token")
	o.Heartbeat = cmp.Or(o.Heartbeat, 41250*time.Millisecond)
	o.HeartbeatWithin = cmp.Or(o.HeartbeatWithin, 2*o.Heartbeat)
	o.AnswerWithin = cmp.Or(o.AnswerWithin, 3*time.Second)
	o.TokenLife = cmp.Or(o.TokenLife, 15*time.Minute)
	o.NonceLife = cmp.Or(o.NonceLife, 5*time.Minute)
	o.IdentifyLimit = cmp.Or(o.IdentifyLimit, 1000)
	o.IdentifyReset = cmp.Or(o.IdentifyReset, 4*time.Hour)
	if o.StartsClock == nil {
		o.StartsClock = time.Now
	}
	o.MaxConcurrency = cmp.Or(o.MaxConcurrency, 1)
	o.ShardMultiple = cmp.Or(o.ShardMultiple, 1)
	o.ServersPerShard = cmp.Or(o.ServersPerShard, 2500)
	o.GlobalPerSecond = cmp.Or(o.GlobalPerSecond, 50)
}

// Fault is a fault of matching requests, downloads of attachments included.
type Fault = loopback.Fault

// Server is a Discord with one bot. All methods are safe for concurrent use.
type Server struct {
	loopback.Faults
	URL string          // of the REST API, without path and final slash: http://127.0.0.1:…
	Bot *discordgo.User // the client's user

	options Options
	http    *httptest.Server
	life    context.Context // ended by Close
	end     context.CancelFunc
	sockets sync.WaitGroup // gateway connections

	mu    sync.Mutex // guards world
	world world
}

// New starts a Server, which must be closed.
func New(o Options) *Server {
	o.fill()
	s := &Server{options: o}
	s.life, s.end = context.WithCancel(context.Background())
	s.world = newWorld(o)
	s.Bot = s.world.bot
	s.http = httptest.NewServer(s.routes())
	s.URL = s.http.URL
	s.world.url = s.URL
	return s
}

// Close cuts every connection and waits for all goroutines.
func (s *Server) Close() {
	s.mu.Lock()
	s.end()
	for c := range s.world.open {
		_ = c.Close() // even if the client has stopped reading
	}
	s.mu.Unlock()
	s.sockets.Wait()
	s.http.CloseClientConnections()
	s.http.Close()
}

func (s *Server) do(f func(w *world)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.world)
}

// Connection is one connection of the client to the gateway.
type Connection struct {
	Path        string // of the address
	Identify    bool
	Identified  time.Time        // when IDENTIFY arrived
	Shard       *[2]int          // of the IDENTIFY, or of the resumed session: its id and the number of shards; nil: none
	Intents     discordgo.Intent // of the IDENTIFY
	Resume      bool
	Heartbeats  int
	ClientClose int // close code sent by the client; 0: none, or the server closed first
}

// Request is one request to the REST API.
type Request struct {
	Method string
	Path   string // without /api/v9
	Query  string
}

// Connections returns all connections so far, oldest first.
func (s *Server) Connections() (all []Connection) {
	s.do(func(w *world) {
		for _, c := range w.connections {
			all = append(all, *c)
		}
	})
	return all
}

// String returns the request as Fault.Of names it: "POST /channels/1/messages", "GET /attachments/1/2/a.txt".
func (r Request) String() string { return r.Method + " " + r.Path }

// Requests returns all requests so far, oldest first, that a route names, as in Fault.Of.
func (s *Server) Requests(route string) (all []Request) {
	s.do(func(w *world) { all = slices.Clone(w.requests) })
	return slices.DeleteFunc(all, func(r Request) bool { return !loopback.Matches(r.String(), route) })
}

// Messages returns a channel's messages, oldest first, without deleted ones.
func (s *Server) Messages(channel string) []Message {
	return s.messages(channel, func(m *Message) bool { return !m.Deleted && !m.is(discordgo.MessageFlagsEphemeral) })
}

// Sent returns the client's messages in a channel, also deleted ones, but not ephemeral responses and those still loading.
func (s *Server) Sent(channel string) []Message {
	return s.messages(channel, func(m *Message) bool {
		return m.Author.ID == s.Bot.ID && m.Type != discordgo.MessageTypeThreadStarterMessage && !m.is(discordgo.MessageFlagsLoading|discordgo.MessageFlagsEphemeral)
	})
}

func (s *Server) messages(channel string, want func(*Message) bool) (all []Message) {
	s.do(func(w *world) {
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
	s.do(func(w *world) {
		i = *loopback.Must(w.interactions, id, "interaction")
		copied := func(m *Message) *Message { c := *m; return &c }
		if i.Answer != nil {
			i.Answer = copied(i.Answer)
		}
		if i.loading() {
			i.Answer = nil
		}
		i.Followups = slices.Clone(i.Followups)
		for n, m := range i.Followups {
			i.Followups[n] = copied(m)
		}
	})
	return i
}

// Commands returns the registered commands.
func (s *Server) Commands() (all []*discordgo.ApplicationCommand) {
	s.do(func(w *world) { all = w.commands })
	return all
}
